package session

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: which texts are folders. The URL of a shared store is none, and its password is not shown.
func TestFolder(t *testing.T) {
	for text, isFolder := range map[string]bool{
		`store`: true, `/var/lib/mcprec`: true, `C:\Users\me`: true, `C://Users/me`: true, `nats:/host/store`: true, `./nats://h/S`: true,
		"nats://me:hunter2@host/S": false, "s3://bucket/a": false,
	} {
		folder, err := (&Home{Place: text}).folder()
		switch {
		case isFolder && (err != nil || folder != text):
			t.Errorf("%s: %q, %v", text, folder, err)
		case !isFolder && (err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "mcprec share pull")):
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAbsolute: what wrap writes into a configuration works from any folder.
func TestAbsolute(t *testing.T) {
	want, err := filepath.Abs("store")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (&Home{Place: "store"}).Absolute(); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
