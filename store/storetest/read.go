package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
)

func (u *suite) testRead(t *testing.T) {
	u.cases(t, map[string]func(*testing.T, store.Store){
		"from":    readFrom,
		"absent":  readAbsent,
		"stopped": readStopped,
		"owned":   readOwned,
		"follow":  readFollowIdle,
	})
}

func readFrom(t *testing.T, s store.Store) {
	events := log(1, 20, true)
	mustAppend(t, s, 0, events[:7])
	mustAppend(t, s, 7, events[:8])
	mustAppend(t, s, 8, events)
	wantEvents(t, s, newID(1), 0, events)
	for from := uint64(1); from <= 20; from++ {
		wantEvents(t, s, newID(1), from, events[from-1:])
	}
	wantEvents(t, s, newID(1), 21, nil)
	wantEvents(t, s, newID(1), 1<<40, nil)
}

func readAbsent(t *testing.T, s store.Store) {
	mustAppend(t, s, 0, log(1, 2, false))
	for _, follow := range []bool{false, true} {
		if _, err := collect(t.Context(), s, newID(2), 0, store.ReadOptions{Follow: follow}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("read of a session that is not there: %v", err)
		}
	}
}

func readStopped(t *testing.T, s store.Store) {
	mustAppend(t, s, 0, log(1, 5, false))
	for e, err := range s.Read(t.Context(), newID(1), 0, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Read(ctx, newID(1), 0, store.ReadOptions{}) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled in mid-read: %v", last)
	}
}

// readOwned holds that a caller may change what it was given.
func readOwned(t *testing.T, s store.Store) {
	events := log(1, 5, false)
	mustAppend(t, s, 0, events)
	for e, err := range s.Read(t.Context(), newID(1), 0, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		clear(e.Payload)
		_ = append(e.Payload, "and more than there was"...)
	}
	wantEvents(t, s, newID(1), 0, log(1, 5, false))
}

// readFollowIdle holds that following ends where nobody records.
func readFollowIdle(t *testing.T, s store.Store) {
	for i, sealed := range []bool{false, true} {
		events := log(i, 5, sealed)
		mustAppend(t, s, 0, events)
		got, err := collect(t.Context(), s, newID(i), 2, store.ReadOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		sameEvents(t, got, events[1:])
	}
}
