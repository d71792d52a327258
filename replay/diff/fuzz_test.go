package diff_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// FuzzCompare: any two logs are compared, one and itself are the same, and what differs
// in one direction differs in the other.
func FuzzCompare(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "*.jsonl"))
	if err != nil || len(paths) < 2 {
		f.Fatal(paths, err)
	}
	var last []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, last)
		last = text
	}
	f.Add([]byte(`{"mcprec":1}`+"\n"+`{"dir":"c2s","frame":{"id":1,"method":"a","params":{"a":{"a":[],"a":1.50,"\ud800":"\u0041"}}}}`+"\n"),
		[]byte(`{"mcprec":1}`+"\n"+`{"dir":"c2s","frame":{"id":2,"method":"a","params":[[{"_meta":{"progressToken":1}}]]}}`+"\n"))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, b := logOf(x), logOf(y)
		for _, events := range [][]store.Event{a, b} {
			if r := compared(t, diff.Options{Bytes: true}, events, events); !r.Same() || len(r.Findings) > 0 {
				t.Errorf("a session and itself:\n%s", told(r))
			}
		}
		r, back := compared(t, diff.Options{}, a, b), compared(t, diff.Options{}, b, a)
		if r.Same() != back.Same() {
			t.Errorf("one way:\n%sthe other way round:\n%s", told(r), told(back))
		}
	})
}

// logOf is the part of a fixture's text that is a legal log.
func logOf(text []byte) (events []store.Event) {
	var valid store.Validator
	for e, err := range jsonl.Decode(bytes.NewReader(text)) {
		if err != nil || valid.Check(e) != nil {
			break
		}
		events = append(events, e)
	}
	return events
}
