package boltstore

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Whoever asks first, all get one key, which only the user can read.
func TestRedactionKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			s, err := Open(dir, Options{})
			if err == nil {
				keys[i], err = s.RedactionKey()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if len(k) != keySize || !bytes.Equal(k, keys[0]) {
			t.Errorf("keys %x and %x", keys[0], k)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestRedactionKeyRefuses(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, []byte("abc"), 0o600) },
		"a link":  func(path string) error { return os.Symlink("/etc/hostname", path) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, "redact.key")); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if key, err := s.RedactionKey(); err == nil {
			t.Errorf("%s: %x", name, key)
		}
	}
}

// A key that is given takes the place of the store's own, also for a store that is open already.
func TestUseKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	given := bytes.Repeat([]byte{7}, keySize)
	var stores [2]*Store
	for i := range stores {
		var err error
		stores[i], err = Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is a key, and it is this one
		if own, err := stores[0].RedactionKey(); err != nil || len(own) != keySize {
			t.Fatalf("%x, %v", own, err)
		}
		if err := stores[0].UseKey(given); err != nil {
			t.Fatal(err)
		}
		if key, err := stores[1].RedactionKey(); err != nil || !bytes.Equal(key, given) {
			t.Errorf("key %x, %v, want %x", key, err, given)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := stores[0].UseKey(given[1:]); err == nil {
		t.Error("a short key is taken")
	}
}
