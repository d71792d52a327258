package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sizes in bytes. Both files go into each static file too.
const (
	mostScript = 120_000
	mostStyle  = 20_000
	mostZipped = 50_000 // of both
)

// TestFresh: the committed files are those that the sources make, twice the same, and small.
func TestFresh(t *testing.T) {
	files, err := build()
	if err != nil {
		t.Fatal(err)
	}
	again, err := build()
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	for name, most := range map[string]int{"view.js": mostScript, "view.css": mostStyle} {
		built := files[name]
		committed, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(built, committed) {
			t.Errorf("dist/%s is not what page/ makes: run make page", name)
		}
		if !bytes.Equal(built, again[name]) {
			t.Errorf("%s: two builds differ", name)
		}
		if len(built) == 0 || len(built) > most {
			t.Errorf("%s has %d B, want at most %d", name, len(built), most)
		}
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(built)
		_ = w.Close()
		t.Logf("%s: %d B", name, len(built))
	}
	t.Logf("together, with gzip: %d B", zipped.Len())
	if zipped.Len() > mostZipped {
		t.Errorf("both have %d B with gzip, want at most %d", zipped.Len(), mostZipped)
	}
	if len(files) != 2 {
		t.Errorf("%d files, want 2", len(files))
	}
	if !bytes.Contains(files["view.js"], []byte("Permission is hereby granted")) {
		t.Error("view.js has no licence of preact")
	}
}

// TestVendored: the vendored files are those that were published, and there are no others.
func TestVendored(t *testing.T) {
	folder := filepath.Join(sources, "vendor")
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file.Name() == "SHA256SUMS" {
			continue
		}
		contents, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got := sha256.Sum256(contents)
		if want[file.Name()] != hex.EncodeToString(got[:]) {
			t.Errorf("%s is not what SHA256SUMS says", file.Name())
		}
		delete(want, file.Name())
	}
	for name := range want {
		t.Errorf("SHA256SUMS names %s, which is not here", name)
	}
}

// TestSources: no source writes markup, styles in markup, or runs text: the policy of the page
// forbids them, and a browser would only say so when the line is reached.
func TestSources(t *testing.T) {
	banned := []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style=\"", "href={"}
	seen := 0
	err := filepath.WalkDir(sources, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() != "vendor" {
			return err
		}
		if entry.IsDir() {
			return filepath.SkipDir
		}
		contents, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		for _, word := range banned {
			if bytes.Contains(contents, []byte(word)) {
				t.Errorf("%s has %s", path, word)
			}
		}
		for number, line := range strings.Split(string(contents), "\n") {
			if len([]rune(line)) > 120 {
				t.Errorf("%s:%d has %d columns, more than 120", path, number+1, len([]rune(line)))
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Fatalf("%d sources, %v", seen, err)
	}
}
