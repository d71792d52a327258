package replaytest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Update says that golden files are to be written and not compared.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with a file of testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}
