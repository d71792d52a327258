package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// mustClaim claims session number i. A store without claims skips the case.
func mustClaim(t *testing.T, s store.Store, i int) store.Claim {
	t.Helper()
	claimer, ok := s.(store.Claimer)
	if !ok {
		t.Skip("the store has no claims")
	}
	c, err := claimer.Claim(t.Context(), newID(i))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

// mustShip appends events through a claim, and checks the head.
func mustShip(t *testing.T, c store.Claim, after uint64, events []store.Event) {
	t.Helper()
	head, err := c.Append(t.Context(), after, events[after:])
	if err != nil {
		t.Fatalf("append by the claim after %d: %v", after, err)
	}
	if want := headOf(events); head != want {
		t.Fatalf("append by the claim after %d: head %v, want %v", after, head, want)
	}
}

func mustRelease(t *testing.T, c store.Claim) {
	t.Helper()
	if err := c.Release(t.Context()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// wantState checks the state of the only session of a store.
func wantState(t *testing.T, s store.Store, want store.State) {
	t.Helper()
	found := list(t, s, store.Query{})
	if len(found) != 1 || found[0].State != want {
		t.Errorf("listed %+v, want one session that is %s", found, want)
	}
}

var claimCases = map[string]testCase{
	// A claimed session is live for everybody else, and its holder goes on.
	"live": func(t *testing.T, s store.Store) {
		c := mustClaim(t, s, 1)
		events := log(1, 9, true)
		mustShip(t, c, 0, events[:3])
		wantState(t, s, store.Live)
		wantErr(t, "append by another", store.ErrLive, errOf(s.Append(t.Context(), newID(1), 3, events[3:6])))
		wantErr(t, "append of the same by another", store.ErrLive, errOf(s.Append(t.Context(), newID(1), 0, events[:3])))
		wantErr(t, "a second claim", store.ErrLive, errOf(s.(store.Claimer).Claim(t.Context(), newID(1))))
		wantErr(t, "delete", store.ErrLive, s.Delete(t.Context(), newID(1)))
		if spooler, ok := s.(store.Spooler); ok {
			wantErr(t, "spool", store.ErrExists, errOf(spooler.Spool(t.Context(), Opening(1))))
		}
		mustShip(t, c, 3, events[:6])
		mustShip(t, c, 6, events)
		wantState(t, s, store.Ended)
		wantEvents(t, s, newID(1), 0, events)
		mustRelease(t, c)
		wantState(t, s, store.Ended)
	},
	// A claim makes no session: its first Append does.
	"not begun": func(t *testing.T, s store.Store) {
		c := mustClaim(t, s, 1)
		wantErr(t, "head", store.ErrNotFound, errOf(s.Head(t.Context(), newID(1))))
		wantErr(t, "read", store.ErrNotFound, errOf(collect(t.Context(), s, newID(1), 0, store.ReadOptions{Follow: true})))
		if found := list(t, s, store.Query{}); len(found) != 0 {
			t.Errorf("listed %+v", found)
		}
		wantErr(t, "a second claim", store.ErrLive, errOf(s.(store.Claimer).Claim(t.Context(), newID(1))))
		mustRelease(t, c)
		wantErr(t, "head after the release", store.ErrNotFound, errOf(s.Head(t.Context(), newID(1))))
		mustAppend(t, s, 0, log(1, 3, false))
		wantEvents(t, s, newID(1), 0, log(1, 3, false))
	},
	// Another holder goes on behind the head of the first.
	"handed on": func(t *testing.T, s store.Store) {
		events := log(1, 12, true)
		first := mustClaim(t, s, 1)
		mustShip(t, first, 0, events[:5])
		mustRelease(t, first)
		wantState(t, s, store.Crashed)
		if _, err := first.Append(t.Context(), 5, events[5:7]); err == nil {
			t.Error("append after the release: accepted")
		}
		second := mustClaim(t, s, 1)
		wantState(t, s, store.Live)
		if _, err := first.Append(t.Context(), 5, events[5:7]); err == nil {
			t.Error("append by the first holder: accepted")
		}
		if err := first.Release(t.Context()); err != nil && !errors.Is(err, store.ErrLive) {
			t.Errorf("release again: %v", err)
		}
		wantState(t, s, store.Live)
		mustShip(t, second, 3, events[:9])
		mustRelease(t, second)
		mustAppend(t, s, 9, events)
		wantState(t, s, store.Ended)
		wantEvents(t, s, newID(1), 0, events)
	},
	"idempotent": func(t *testing.T, s store.Store) {
		events := log(1, 10, true)
		mustAppend(t, s, 0, events[:2])
		c := mustClaim(t, s, 1)
		mustShip(t, c, 2, events[:6])
		for _, r := range []struct{ after, to uint64 }{{0, 6}, {3, 6}, {0, 3}, {6, 6}, {2, 10}, {0, 10}, {9, 10}} {
			head, err := c.Append(t.Context(), r.after, events[r.after:r.to])
			if err != nil {
				t.Fatalf("append %v: %v", r, err)
			}
			if want := headOf(events[:max(6, head.Seq)]); head != want || head.Seq < r.to {
				t.Fatalf("append %v: head %v, want %v", r, head, want)
			}
		}
		mustRelease(t, c)
		wantEvents(t, s, newID(1), 0, events)
	},
	"conflict": func(t *testing.T, s store.Store) {
		events := log(1, 6, false)
		c := mustClaim(t, s, 1)
		mustShip(t, c, 0, events)
		other := frame(4)
		other.Payload = append(bytes.Clone(other.Payload), ' ')
		for name, x := range map[string]struct {
			after  uint64
			events []store.Event
		}{
			"other bytes":               {3, []store.Event{other}},
			"other bytes and new ones":  {3, []store.Event{other, frame(5), frame(6), frame(7)}},
			"gap":                       {7, []store.Event{frame(8)}},
			"gap behind the last event": {8, []store.Event{frame(9), frame(10)}},
		} {
			_, err := c.Append(t.Context(), x.after, x.events)
			var conflict *store.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("%s: %v, want a conflict", name, err)
			}
			if conflict.Head != headOf(events) || conflict.ID != newID(1) {
				t.Errorf("%s: conflict with %v, want %v", name, conflict.Head, headOf(events))
			}
		}
		mustShip(t, c, 6, log(1, 8, false)) // a refused call does no harm
		mustRelease(t, c)
		wantEvents(t, s, newID(1), 0, log(1, 8, false))
	},
	// After its end a log takes the same events again, and no others.
	"sealed": func(t *testing.T, s store.Store) {
		events := log(1, 5, true)
		c := mustClaim(t, s, 1)
		mustShip(t, c, 0, events)
		mustShip(t, c, 2, events)
		if _, err := c.Append(t.Context(), 5, []store.Event{frame(6)}); err == nil {
			t.Error("an event after the closed event: accepted")
		}
		mustRelease(t, c)
		again := mustClaim(t, s, 1)
		mustShip(t, again, 0, events)
		mustRelease(t, again)
		wantEvents(t, s, newID(1), 0, events)
	},
	"deleted": func(t *testing.T, s store.Store) {
		c := mustClaim(t, s, 1)
		mustShip(t, c, 0, log(1, 4, false))
		mustRelease(t, c)
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
		wantErr(t, "claim", store.ErrExists, errOf(s.(store.Claimer).Claim(t.Context(), newID(1))))
		if _, err := c.Append(t.Context(), 4, []store.Event{frame(5)}); err == nil {
			t.Error("append by the old holder: accepted")
		}
	},
	"cancelled": func(t *testing.T, s store.Store) {
		c := mustClaim(t, s, 1)
		mustShip(t, c, 0, log(1, 2, false))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, "claim", context.Canceled, errOf(s.(store.Claimer).Claim(ctx, newID(2))))
		wantErr(t, "append", context.Canceled, errOf(c.Append(ctx, 2, []store.Event{frame(3)})))
		mustRelease(t, c)
		wantEvents(t, s, newID(1), 0, log(1, 2, false))
	},
	// Following a claimed session yields the events as they come, and ends when the log is
	// sealed, or when the claim is released.
	"follow": func(t *testing.T, s store.Store) {
		events := log(1, 8, true)
		c := mustClaim(t, s, 1)
		mustShip(t, c, 0, events[:1])
		var got []store.Event
		for e, err := range s.Read(t.Context(), newID(1), 0, store.ReadOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
			if n := len(got); n < len(events) {
				mustShip(t, c, uint64(n), events[:n+1])
			}
		}
		sameEvents(t, got, events)
		mustRelease(t, c)

		c = mustClaim(t, s, 2)
		mustShip(t, c, 0, log(2, 1, false))
		got = nil
		for e, err := range s.Read(t.Context(), newID(2), 0, store.ReadOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
			if len(got) == 1 {
				mustShip(t, c, 1, log(2, 4, false))
				mustRelease(t, c)
			}
		}
		sameEvents(t, got, log(2, 4, false))
	},
}
