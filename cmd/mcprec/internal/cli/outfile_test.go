package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that another process puts in the place of a probe, while that is about to be
// replaced, is kept.
func TestReplacedMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	put := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("probe")
	asked := 0
	mayReplace := func(file string) bool {
		text, err := os.ReadFile(file)
		if asked++; asked == 1 {
			put("session")
		}
		return err == nil && string(text) == "probe"
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "mine"); return err }
	taken, replaced, err := WriteNewFile(name, write, mayReplace)
	if err != nil || replaced || filepath.Base(taken) != "out-2.jsonl" {
		t.Errorf("wrote %s, replaced %t, %v", taken, replaced, err)
	}
	for file, want := range map[string]string{name: "session", taken: "mine"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v; want %q", file, text, err, want)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
}

// ExchangeFile keeps the mode and a symbolic link, and leaves a file alone that has changed.
func TestExchange(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "settings.json")
	link := filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chmod(file, 0o640), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	if err := ExchangeFile(link, []byte("old"), []byte("new"), work); err != nil {
		t.Error(err)
	}
	if err := ExchangeFile(link, []byte("old"), []byte("newer"), work); !errors.Is(err, ErrFileChanged) {
		t.Errorf("a changed file: %v", err)
	}
	text, _ := os.ReadFile(file)
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || string(text) != "new" {
		t.Errorf("%v, the link is %v, the file has %q", err, info, text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
	if err := ExchangeFile(filepath.Join(dir, "none"), nil, nil, work); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestExchangeKilled: a process that is killed while it exchanges a file leaves nothing beside it, and
// what it leaves in the folder that is the user's alone goes with the next. If the folder cannot be used, the
// file is exchanged none the less.
func TestExchangeKilled(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	killed := errors.New("killed")
	var seen string
	err := writeFileIn(work, exchanged, file, func(w io.Writer) error { _, err := w.Write([]byte("secret")); return err }, func(tmp string) error {
		seen = tmp
		return errors.Join(os.Link(tmp, strings.Replace(tmp, "exchange-", "exchange-1", 1)), killed) // as if it were left
	})
	if !errors.Is(err, killed) || filepath.Dir(seen) != work {
		t.Fatalf("%v, written as %s", err, seen)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("beside the file: %v", left)
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Errorf("left in the folder: %v", left)
	}
	if err := os.WriteFile(filepath.Join(work, "wraps.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	SweepExchanged(work)
	if left, _ := os.ReadDir(work); len(left) != 1 || left[0].Name() != "wraps.jsonl" {
		t.Errorf("after the sweep: %v", left)
	}
	for _, folder := range []string{work, filepath.Join(work, "none")} {
		content := []byte("in " + folder)
		old, err := os.ReadFile(file)
		if err = errors.Join(err, ExchangeFile(file, old, content, folder)); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != string(content) {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// ReplaceFile keeps the mode and a symbolic link, and leaves a file alone that is read-only, also as root.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "session.jsonl")
	link := filepath.Join(dir, "link.jsonl")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chmod(file, 0o640), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	if err := ReplaceFile(link, write("new")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(file, 0o440); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(link, write("newer")); err == nil {
		t.Error("a read-only file was written")
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
}
