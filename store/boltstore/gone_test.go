package boltstore

import (
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestVerifyGone holds that a session which is removed, by a tombstone or as if it had never been there, after its
// projection was read and before its chunks are, is no fault of the store.
func TestVerifyGone(t *testing.T) {
	s := testStore(t, t.TempDir())
	for n, remove := range []func(store.SessionID) error{
		func(id store.SessionID) error { return s.Delete(t.Context(), id) },
		func(id store.SessionID) error {
			return s.DeleteAll(t.Context(), []store.SessionID{id}, func(store.SessionID) {})
		},
		func(id store.SessionID) error { return s.Release(t.Context(), id) },
	} {
		events := testLog(n+1, 20, 100, true)
		id := testID(n + 1)
		if _, err := s.Append(t.Context(), id, 0, events); err != nil {
			t.Fatal(err)
		}
		key, err := id.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		path := s.databasePath(key)
		p, known, err := s.projection(t.Context(), path, key)
		if err != nil || !known {
			t.Fatalf("projection: %v, %v", known, err)
		}
		if err := remove(id); err != nil {
			t.Fatal(err)
		}
		v := verification{s, func(err error) { t.Error(err) }}
		if err := v.session(t.Context(), path, p); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}
