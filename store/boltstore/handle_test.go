package boltstore

import (
	"os"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestHandle holds that a database that stays open is in nobody's way, and that
// what others write to it, or put in its place, is seen.
func TestHandle(t *testing.T) {
	s, other := testStore(t, t.TempDir()), testStore(t, t.TempDir())
	writer := testStore(t, s.dir)
	for i := range 30 {
		log := testLog(i, 6, 20<<10, true)
		if _, err := writer.Append(once(t.Context()), testID(i), 0, log); err != nil {
			t.Fatal(err)
		}
		mustRead(t, s, testID(i), log)
		mustRead(t, s, testID(i/2), testLog(i/2, 6, 20<<10, true))
	}
	key, _ := testID(0).Bytes()
	if canRelock && s.handle.db == nil {
		t.Error("no database is kept open")
	}
	replaced := []store.Event{opening(1), frameEvent(2, 50)}
	if _, err := other.Append(t.Context(), testID(1), 0, replaced); err != nil {
		t.Fatal(err)
	}
	if !canRelock { // there a file in use cannot be replaced
		return
	}
	if err := os.Rename(other.monthPath(key), s.monthPath(key)); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s, testID(1), replaced)
	if err := s.Close(); err != nil || s.handle.db != nil {
		t.Errorf("close: %v, or a database is left open", err)
	}
}
