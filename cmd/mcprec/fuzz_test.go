package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
	"github.com/mcprec/mcprec/transport/phrase"
)

// FuzzFlags: ages, sizes, places and labels are understood or refused, and never
// below zero.
func FuzzFlags(f *testing.F) {
	for _, text := range []string{"1w3d12h", "1.5d", "2GiB", "1e30", "12.3s", "50%", "12", "NAME=VALUE", "always", "9223372036854775807ns"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if age, err := phrase.ParseAge(text); err == nil && age < 0 {
			t.Errorf("%q: %v", text, age)
		}
		if n, err := phrase.ParseSize(text); err == nil && n < 0 {
			t.Errorf("%q: %d bytes", text, n)
		}
		if p, err := parsePoint("at", text); err == nil && (p.At < 0 || p.Share > 1) {
			t.Errorf("%q: %+v", text, p)
		}
		var l labels
		if err := l.Set(text); err != nil || len(l.list()) > 1 {
			t.Errorf("%q: %q, %v", text, l.list(), err)
		}
		h := store.Header{Label: l.text, Labels: l.values}
		if !l.of(h) {
			t.Errorf("%q is not its own", text)
		}
	})
}

// FuzzFile: a file in whatever form is a log that a store takes, or it is refused; and
// what may be secret in it can be counted and taken out.
func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"mcprec":1}` + "\n" + `{"dir":"c2s","frame":{"id":1,"method":"ping","params":{"password":"open sesame 7"}}}`))
	f.Add([]byte(`{"t_ns":1,"dir":"meta","format":"mcp-frames/1","transport":"http"}` + "\n" +
		`{"t_ns":2,"dir":"client->server","x":1,"kind":"request","method":"POST","path":"/mcp","headers":{"Cookie":"a=b"},"raw":"{}"}`))
	f.Add([]byte("\ufeff \n[]"))
	d, err := (&session.Home{Place: f.TempDir()}).Masker(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var sessions [][]store.Event
		var err error
		if format, ok := foreign.Detect(data); ok {
			sessions, err = format.ReadAll(bufio.NewReader(bytes.NewReader(data)))
		} else {
			sessions = make([][]store.Event, 1)
			sessions[0], err = session.Collect(jsonl.Decode(bytes.NewReader(data)))
		}
		if err != nil {
			return
		}
		for _, events := range sessions {
			var valid store.Validator
			for _, e := range events {
				if err := valid.Check(e); err != nil {
					t.Fatal(err)
				}
			}
			if len(events) > 0 {
				_, _ = d.Find(jsonl.Each(events), func(store.Event, []mask.Finding) error { return nil })
			}
		}
	})
}

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
