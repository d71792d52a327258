package view

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBrowseWithoutBrowser: an opener that ends with an error, as xdg-open does where there is no browser, is reported.
func TestBrowseWithoutBrowser(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	failed := make(chan error, 1)
	end, err := Browse(t.Context(), "http://127.0.0.1:1/", func(err error) { failed <- err })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err.Error() != "xdg-open: exit status 3" {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
