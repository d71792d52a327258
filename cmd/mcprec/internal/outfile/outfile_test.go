package outfile

import (
	"io"
	"os"
	"path/filepath"
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
	yields := func(file string) bool {
		text, err := os.ReadFile(file)
		if asked++; asked == 1 {
			put("session")
		}
		return err == nil && string(text) == "probe"
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "mine"); return err }
	taken, replaced, err := WriteNew(name, write, yields)
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
