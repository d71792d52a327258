package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

func (u *suite) testAppend(t *testing.T) {
	u.cases(t, map[string]func(*testing.T, store.Store){
		"head":       appendHead,
		"idempotent": appendIdempotent,
		"conflict":   appendConflict,
		"refused":    appendRefused,
		"cancelled":  appendCancelled,
		"large":      appendLarge,
		"concurrent": appendConcurrent,
		"kinds":      appendKinds,
	})
}

func appendHead(t *testing.T, s store.Store) {
	events := log(1, 10, true)
	if got, want := mustAppend(t, s, 0, events[:4]), headOf(events[:4]); got != want {
		t.Errorf("head %v, want %v", got, want)
	}
	if got, want := mustAppend(t, s, 4, events), headOf(events); got != want {
		t.Errorf("head %v, want %v", got, want)
	}
	if got, err := s.Head(t.Context(), newID(1)); err != nil || got != headOf(events) {
		t.Errorf("head %v, %v, want %v", got, err, headOf(events))
	}
	if _, err := s.Head(t.Context(), newID(2)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head of a session that is not there: %v", err)
	}
	wantEvents(t, s, newID(1), 0, events)
}

func appendIdempotent(t *testing.T, s store.Store) {
	events := log(1, 10, true)
	mustAppend(t, s, 0, events[:6])
	for _, c := range []struct{ after, to uint64 }{{0, 6}, {3, 6}, {0, 3}, {6, 6}, {2, 10}, {0, 10}, {9, 10}} {
		head, err := s.Append(t.Context(), newID(1), c.after, events[c.after:c.to])
		if err != nil {
			t.Fatalf("append %v: %v", c, err)
		}
		if want := headOf(events[:max(6, head.Seq)]); head != want {
			t.Fatalf("append %v: head %v, want %v", c, head, want)
		}
	}
	wantEvents(t, s, newID(1), 0, events)
}

func appendConflict(t *testing.T, s store.Store) {
	events := log(1, 6, false)
	mustAppend(t, s, 0, events)
	other := frame(4)
	other.Payload = append(bytes.Clone(other.Payload), ' ')
	late := frame(6)
	late.At++
	for name, c := range map[string]struct {
		after uint64
		event store.Event
	}{
		"other bytes": {3, other},
		"other time":  {5, late},
		"gap":         {7, frame(8)},
	} {
		_, err := s.Append(t.Context(), newID(1), c.after, []store.Event{c.event})
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("%s: %v, want a conflict", name, err)
		}
		if conflict.Head != headOf(events) || conflict.ID != newID(1) {
			t.Errorf("%s: conflict with %v, want %v", name, conflict.Head, headOf(events))
		}
	}
	wantEvents(t, s, newID(1), 0, events)
}

func appendRefused(t *testing.T, s store.Store) {
	sealed := log(1, 4, true)
	mustAppend(t, s, 0, sealed)
	early := frame(3)
	early.At = time.Microsecond
	for name, c := range map[string]struct {
		n      int
		after  uint64
		events []store.Event
	}{
		"after closed":      {1, 4, []store.Event{frame(5)}},
		"closed inside":     {2, 0, append(log(2, 4, true), frame(5))},
		"no opened":         {3, 0, []store.Event{{Seq: 1, Kind: store.Frame}}},
		"opened twice":      {4, 0, []store.Event{Opening(4), {Seq: 2, Kind: store.Opened, Payload: Opening(4).Payload}}},
		"starts later":      {5, 0, []store.Event{frame(2)}},
		"gap inside":        {6, 0, []store.Event{Opening(6), frame(3)}},
		"time falls":        {7, 0, []store.Event{Opening(7), frame(2), early}},
		"header of another": {8, 0, []store.Event{Opening(9)}},
		"no header":         {10, 0, []store.Event{{Seq: 1, Kind: store.Opened, Payload: []byte("x")}}},
		"gap at the start":  {11, 3, []store.Event{frame(4)}},
	} {
		if _, err := s.Append(t.Context(), newID(c.n), c.after, c.events); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := s.Head(t.Context(), newID(c.n)); c.n != 1 && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: left a trace: %v", name, err)
		}
	}
	if _, err := s.Append(t.Context(), "not-a-uuid", 0, log(1, 1, false)); err == nil {
		t.Error("a session id that is no UUID: accepted")
	}
	wantEvents(t, s, newID(1), 0, sealed)
}

func appendCancelled(t *testing.T, s store.Store) {
	mustAppend(t, s, 0, log(1, 3, false))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, newID(2), 0, log(2, 3, false)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if _, err := s.Head(ctx, newID(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("head: %v", err)
	}
	if _, err := collect(ctx, s, newID(1), 0, store.ReadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if err := s.Delete(ctx, newID(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v", err)
	}
	for _, err := range s.Sessions(ctx, store.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("sessions: %v", err)
		}
	}
}

func appendLarge(t *testing.T, s store.Store) {
	size := 64 << 20
	if testing.Short() {
		size = 5 << 20
	}
	big := make([]byte, size)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(big[:1<<20])
	for i := 1 << 20; i < size; i += 1 << 20 {
		copy(big[i:], big[:1<<20])
	}
	events := log(1, 4, true)
	events[2].Payload = big
	mustAppend(t, s, 0, events)
	wantEvents(t, s, newID(1), 0, events)
	wantEvents(t, s, newID(1), 3, events[2:])
}

func appendConcurrent(t *testing.T, s store.Store) {
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			events := log(i, 50, true)
			for after := uint64(0); after < 50; after += 5 {
				if _, err := s.Append(t.Context(), newID(i), after, events[after:after+5]); err != nil {
					t.Errorf("session %d after %d: %v", i, after, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		wantEvents(t, s, newID(i), 0, log(i, 50, true))
	}
}

// appendKinds holds that every kind comes back as it was, known or not.
func appendKinds(t *testing.T, s store.Store) {
	events := []store.Event{Opening(1)}
	for i, k := range []store.Kind{store.Frame, store.Stderr, store.EOF, store.HTTP, "frobnicated", "", store.Note} {
		e := frame(uint64(i + 2))
		e.Kind = k
		e.Stream = uint64(i) << (8 * i)
		e.Unterminated = i%2 == 1
		e.Payload = fmt.Appendf(nil, "\x00\xff\r\n%d ", i)
		events = append(events, e)
	}
	events[4].Payload = nil
	mustAppend(t, s, 0, events)
	wantEvents(t, s, newID(1), 0, events)
}
