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

// testReopen checks that a store is unchanged after it was closed and opened again.
func (u *suite) testReopen(t *testing.T) {
	if u.reopen == nil {
		t.Skip("the store keeps nothing")
	}
	s := u.open(t)
	events := log(1, 20, true)
	mustAppend(t, s, 0, events[:10])
	mustAppend(t, s, 0, log(2, 5, false))
	mustAppend(t, s, 0, log(3, 5, false))
	wantErr(t, "delete", nil, s.Delete(t.Context(), newID(3)))
	spooled := log(4, 9, true)
	if _, ok := s.(store.Spooler); ok {
		sp := openSpool(t, s, 4)
		mustWrite(t, sp, parts(log(4, 9, true)[1:])...)
		mustClose(t, sp)
	} else {
		mustAppend(t, s, 0, spooled)
	}
	before := list(t, s, store.Query{})
	s = u.reopen(t, s)
	after := list(t, s, store.Query{})
	if got, want := string(store.EncodePayload(after)), string(store.EncodePayload(before)); got != want {
		t.Errorf("listed\n got %s\nwant %s", got, want)
	}
	mustAppend(t, s, 10, events)
	wantEvents(t, s, newID(1), 0, events)
	wantEvents(t, s, newID(2), 0, log(2, 5, false))
	wantEvents(t, s, newID(4), 0, spooled)
	wantErr(t, "append to a deleted session", store.ErrExists, errOf(s.Append(t.Context(), newID(3), 0, log(3, 5, false))))
	Validate(t, s)
	wantErr(t, "close", nil, s.Close())
}

var appendCases = map[string]testCase{
	"head": func(t *testing.T, s store.Store) {
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
		wantErr(t, "head of a session that is not there", store.ErrNotFound, errOf(s.Head(t.Context(), newID(2))))
		wantEvents(t, s, newID(1), 0, events)
	},
	"idempotent": func(t *testing.T, s store.Store) {
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
	},
	"conflict": func(t *testing.T, s store.Store) {
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
	},
	"refused": func(t *testing.T, s store.Store) {
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
	},
	"cancelled": func(t *testing.T, s store.Store) {
		mustAppend(t, s, 0, log(1, 3, false))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, "append", context.Canceled, errOf(s.Append(ctx, newID(2), 0, log(2, 3, false))))
		wantErr(t, "head", context.Canceled, errOf(s.Head(ctx, newID(1))))
		wantErr(t, "read", context.Canceled, errOf(collect(ctx, s, newID(1), 0, store.ReadOptions{})))
		wantErr(t, "delete", context.Canceled, s.Delete(ctx, newID(1)))
		for _, err := range s.Sessions(ctx, store.Query{}) {
			wantErr(t, "sessions", context.Canceled, err)
		}
	},
	"large": func(t *testing.T, s store.Store) {
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
	},
	"concurrent": func(t *testing.T, s store.Store) {
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
	},
	// Every kind comes back unchanged, known or not.
	"kinds": func(t *testing.T, s store.Store) {
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
	},
}

var deleteCases = map[string]testCase{
	"gone": func(t *testing.T, s store.Store) {
		for i := range 3 {
			mustAppend(t, s, 0, log(i, 40, i == 1))
		}
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
		wantErr(t, "head", store.ErrNotFound, errOf(s.Head(t.Context(), newID(1))))
		wantErr(t, "read", store.ErrNotFound, errOf(collect(t.Context(), s, newID(1), 0, store.ReadOptions{})))
		if got := list(t, s, store.Query{}); len(got) != 2 || got[0].ID != newID(0) || got[1].ID != newID(2) {
			t.Errorf("listed after delete: %v", got)
		}
		wantErr(t, "delete again", store.ErrNotFound, s.Delete(t.Context(), newID(1)))
	},
	"absent": func(t *testing.T, s store.Store) {
		wantErr(t, "delete", store.ErrNotFound, s.Delete(t.Context(), newID(1)))
	},
	"tombstone": func(t *testing.T, s store.Store) {
		mustAppend(t, s, 0, log(1, 4, false))
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
		for _, after := range []uint64{0, 4} {
			wantErr(t, fmt.Sprintf("append after %d", after), store.ErrExists, errOf(s.Append(t.Context(), newID(1), after, log(1, 5, false)[after:])))
		}
		if sp, ok := s.(store.Spooler); ok {
			wantErr(t, "spool", store.ErrExists, errOf(sp.Spool(t.Context(), Opening(1))))
		}
		if got := list(t, s, store.Query{}); len(got) != 0 {
			t.Errorf("listed after delete: %v", got)
		}
	},
	"live": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		wantErr(t, "delete of a live session", store.ErrLive, s.Delete(t.Context(), newID(1)))
		mustClose(t, sp)
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
	},
}
