package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// target is the beginning of a fuzz target; what others fuzz with takes more.
var target = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

// TestFuzzed: each fuzz target has a corpus beside it, small, and of nobody's machine;
// and make fuzz finds the targets by itself.
func TestFuzzed(t *testing.T) {
	count := 0
	root := filepath.Join("..", "..")
	for _, dir := range []string{"cmd", "fixtures", "recorder", "replay", "store", "transport"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range target.FindAllSubmatch(text, -1) {
				count++
				checkCorpus(t, filepath.Join(filepath.Dir(path), "testdata", "fuzz", string(found[1])))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 50 {
		t.Errorf("only %d fuzz targets", count)
	}
	rules, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil || !bytes.Contains(rules, []byte("test -list '^Fuzz'")) || !bytes.Contains(rules, []byte("-fuzztime $(FUZZTIME)")) {
		t.Errorf("make fuzz does not look for the targets: %v", err)
	}
}

func checkCorpus(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 || len(files) > 20 {
		t.Errorf("%s: %d files, %v; want a few", dir, len(files), err)
	}
	size := 0
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || !bytes.HasPrefix(b, []byte("go test fuzz v1\n")) {
			t.Errorf("%s: no input: %v", f.Name(), err)
		}
		if size += len(b); bytes.Contains(b, []byte("/home/")) || bytes.Contains(b, []byte("/tmp/")) {
			t.Errorf("%s: of a machine: %q", f.Name(), b)
		}
	}
	if size > 50<<10 {
		t.Errorf("%s: %d bytes", dir, size)
	}
}
