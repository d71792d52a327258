package storetest

import (
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
)

func (u *suite) testDelete(t *testing.T) {
	u.cases(t, map[string]func(*testing.T, store.Store){
		"gone":      deleteGone,
		"absent":    deleteAbsent,
		"tombstone": deleteTombstone,
		"live":      deleteLive,
	})
}

func deleteGone(t *testing.T, s store.Store) {
	for i := range 3 {
		mustAppend(t, s, 0, log(i, 40, i == 1))
	}
	if err := s.Delete(t.Context(), newID(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(t.Context(), newID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if _, err := collect(t.Context(), s, newID(1), 0, store.ReadOptions{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if got := list(t, s, store.Query{}); len(got) != 2 || got[0].ID != newID(0) || got[1].ID != newID(2) {
		t.Errorf("listed after delete: %v", got)
	}
	if err := s.Delete(t.Context(), newID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("delete again: %v", err)
	}
}

func deleteAbsent(t *testing.T, s store.Store) {
	if err := s.Delete(t.Context(), newID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
}

func deleteTombstone(t *testing.T, s store.Store) {
	mustAppend(t, s, 0, log(1, 4, false))
	if err := s.Delete(t.Context(), newID(1)); err != nil {
		t.Fatal(err)
	}
	for _, after := range []uint64{0, 4} {
		if _, err := s.Append(t.Context(), newID(1), after, log(1, 5, false)[after:]); !errors.Is(err, store.ErrExists) {
			t.Errorf("append after %d: %v", after, err)
		}
	}
	if sp, ok := s.(store.Spooler); ok {
		if _, err := sp.Spool(t.Context(), Opening(1)); !errors.Is(err, store.ErrExists) {
			t.Errorf("spool: %v", err)
		}
	}
	if got := list(t, s, store.Query{}); len(got) != 0 {
		t.Errorf("listed after delete: %v", got)
	}
}

func deleteLive(t *testing.T, s store.Store) {
	sp := openSpool(t, s, 1)
	if err := s.Delete(t.Context(), newID(1)); !errors.Is(err, store.ErrLive) {
		t.Errorf("delete of a live session: %v", err)
	}
	if err := sp.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), newID(1)); err != nil {
		t.Errorf("delete: %v", err)
	}
}
