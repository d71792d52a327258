package storetest

import (
	"testing"

	"github.com/mcprec/mcprec/store"
)

// summariesOf returns the summaries of the listed sessions.
func summariesOf(t *testing.T, s store.Store) map[store.SessionID]string {
	t.Helper()
	kept, err := s.(store.Summarizer).Summaries(t.Context(), list(t, s, store.Query{}))
	if err != nil {
		t.Fatalf("summaries: %v", err)
	}
	texts := map[store.SessionID]string{}
	for id, data := range kept {
		texts[id] = string(data)
	}
	return texts
}

// keep keeps a summary of the session with the nth id, and wants it to have been taken or left out.
func keep(t *testing.T, s store.Store, n int, head store.Head, text, want string) {
	t.Helper()
	x := store.Summary{ID: newID(n), Head: head, Data: []byte(text)}
	if err := s.(store.Summarizer).KeepSummaries(t.Context(), []store.Summary{x}); err != nil {
		t.Fatalf("keep summary: %v", err)
	}
	if got := summariesOf(t, s)[newID(n)]; got != want {
		t.Errorf("summary of session %d: %q, want %q", n, got, want)
	}
}

var summaryCases = map[string]testCase{
	"kept": summarizer(func(t *testing.T, s store.Store) {
		for n := range 9 { // days apart, over two months
			keep(t, s, n, mustAppend(t, s, 0, log(n, 3, n%2 == 0)), string(newID(n)), string(newID(n)))
		}
		for id, text := range summariesOf(t, s) {
			if text != string(id) {
				t.Errorf("session %s has the summary %q", id, text)
			}
		}
		keep(t, s, 1, headOf(log(1, 3, false)), "another", "another")
		keep(t, s, 1, headOf(log(1, 3, false)), "", "")
	}),
	"of other events": summarizer(func(t *testing.T, s store.Store) {
		first := mustAppend(t, s, 0, log(0, 3, false))
		keep(t, s, 0, headOf(log(1, 3, false)), "of another session", "")
		keep(t, s, 0, headOf(log(0, 4, false)), "of the future", "")
		keep(t, s, 0, first, "three", "three")
		whole := mustAppend(t, s, 3, log(0, 5, true))
		if got := summariesOf(t, s)[newID(0)]; got != "" {
			t.Errorf("the session went on, and still has the summary %q", got)
		}
		keep(t, s, 0, first, "of the past", "")
		keep(t, s, 0, whole, "five", "five")
	}),
	"of no session": summarizer(func(t *testing.T, s store.Store) {
		keep(t, s, 0, headOf(log(0, 3, true)), "of nothing", "")
		head := mustAppend(t, s, 0, log(0, 3, true))
		keep(t, s, 0, head, "three", "three")
		other := mustAppend(t, s, 0, log(1, 3, true))
		keep(t, s, 1, other, "kept", "kept")
		if err := s.Delete(t.Context(), newID(0)); err != nil {
			t.Fatal(err)
		}
		keep(t, s, 0, head, "too late", "")
		gone := store.Session{Header: store.Header{ID: newID(0)}, Head: head}
		if kept, err := s.(store.Summarizer).Summaries(t.Context(), []store.Session{gone}); err != nil || len(kept) > 0 {
			t.Errorf("summaries of a deleted session: %q, %v", kept, err)
		}
		keep(t, s, 1, other, "kept", "kept")
	}),
}

// summarizer skips a case of summaries for a store without them.
func summarizer(run testCase) testCase {
	return func(t *testing.T, s store.Store) {
		if _, ok := s.(store.Summarizer); !ok {
			t.Skip("the store keeps no summaries")
		}
		run(t, s)
	}
}
