package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Sealed is for a store that takes sealed sessions only, each in one Append. The suite then runs the
// cases that need no other: the group "sealed", which every store passes, and a few that fit as they are.
func Sealed() Option {
	return func(suite *suite) { suite.sealed = true }
}

// fitSealed are the cases outside the group "sealed" that put no session, or a sealed one at once.
var fitSealed = []string{"append/refused", "append/large", "list/empty", "delete/absent"}

// takesSealed reports whether a case is for a store that takes sealed sessions only.
func takesSealed(group, name string) bool {
	return group == "sealed" || slices.Contains(fitSealed, group+"/"+name)
}

// sealedCases put whole sealed sessions.
var sealedCases = map[string]testCase{
	"whole": func(t *testing.T, s store.Store) {
		events := log(1, 20, true)
		for range 2 { // the same session again is accepted
			if got := mustAppend(t, s, 0, events); got != headOf(events) {
				t.Errorf("head %v, want %v", got, headOf(events))
			}
		}
		if got, err := s.Head(t.Context(), newID(1)); err != nil || got != headOf(events) {
			t.Errorf("head %v, %v, want %v", got, err, headOf(events))
		}
		for from := uint64(0); from <= 20; from++ {
			wantEvents(t, s, newID(1), from, events[max(from, 1)-1:])
		}
		wantEvents(t, s, newID(1), 21, nil)
		wantEvents(t, s, newID(1), 1<<40, nil)
		got, err := collect(t.Context(), s, newID(1), 2, store.ReadOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		sameEvents(t, got, events[1:])
	},
	"conflict": func(t *testing.T, s store.Store) {
		events := log(1, 6, true)
		mustAppend(t, s, 0, events)
		other := log(1, 6, true)
		other[3].Payload = append(bytes.Clone(other[3].Payload), ' ')
		late := log(1, 6, true)
		late[5].At++
		for name, another := range map[string][]store.Event{"other bytes": other, "other time": late, "longer": log(1, 7, true)} {
			_, err := s.Append(t.Context(), newID(1), 0, another)
			var conflict *store.ConflictError
			if !errors.As(err, &conflict) || conflict.Head != headOf(events) || conflict.ID != newID(1) {
				t.Errorf("%s: %v, want a conflict with %v", name, err, headOf(events))
			}
		}
		wantEvents(t, s, newID(1), 0, events)
	},
	// Every kind and every byte comes back.
	"kinds": func(t *testing.T, s store.Store) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		payloads := [][]byte{nil, every, every[:128], []byte("\xff"), []byte(" {} "), []byte("{}\n{}"), []byte("\r\n"), []byte(`"\ud800"`), []byte("ü\u2028")}
		events := []store.Event{Opening(1)}
		kinds := []store.Kind{
			store.Frame, store.Delivered, store.Stalled, store.Stderr, store.HTTP, store.EOF, store.Signal, store.Note, "frobnicated", "",
		}
		for _, kind := range kinds {
			for _, payload := range payloads {
				event := frame(uint64(len(events) + 1))
				event.Kind = kind
				event.Stream = event.Seq << (event.Seq % 50)
				event.Unterminated = event.Seq%3 == 0
				event.Redacted = event.Seq % 4
				event.Cut = event.Seq % 5
				event.Payload = payload
				events = append(events, event)
			}
		}
		last := log(1, 2, true)[1]
		last.Seq = uint64(len(events) + 1)
		last.At = time.Hour
		events = append(events, last)
		mustAppend(t, s, 0, events)
		wantEvents(t, s, newID(1), 0, events)
	},
	"header": func(t *testing.T, s store.Store) {
		h := store.Header{
			ID: newID(1), Start: start(1).Add(123456789), Transport: "http", Label: "a \"b\" ü", Command: []string{"a", "", "c d"},
			URL: "http://localhost:3000/mcp", Recorder: "v1.2.3", Expect: "hang swallowed",
		}
		payload := bytes.Replace(h.Encode(), []byte(`"label"`), []byte(`"colour":{"of":["the","rainbow"]},"label"`), 1)
		events := log(1, 6, true)
		events[0] = store.Event{Seq: 1, At: 5, Kind: store.Opened, Payload: payload}
		lost := store.LostInfo{Frames: 3, Bytes: 10, Reason: "disk full"}
		events[3] = store.Event{Seq: 4, At: events[3].At, Kind: store.Lost, Payload: store.EncodePayload(lost)}
		events[4] = store.Event{Seq: 5, At: events[4].At, Kind: store.Exited, Payload: store.EncodePayload(store.ExitInfo{Code: 7})}
		mustAppend(t, s, 0, events)
		wantEvents(t, s, newID(1), 0, events)
		h, err := store.ParseHeader(payload)
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(events[1].Payload) + len(events[2].Payload))
		wantSession(t, s, store.Session{Header: h, Head: headOf(events), Frames: 2, Bytes: size, Lost: 3, Exit: "7", State: store.Ended})
	},
	// A session may have any UUID, and begin on any day or none.
	"any id": func(t *testing.T, s store.Store) {
		h := store.Header{Transport: "stdio"}
		ids := []store.SessionID{
			"f47ac10b-58cc-4372-a567-0e02b2c3d479", store.DeriveSessionID([]byte("x")), newID(3), "e677d21e-ffff-7fff-bfff-ffffffffffff",
		}
		starts := []time.Time{start(1), {}, start(4), start(5)} // of the third, not the id's day
		for i, id := range ids {
			h.ID = id
			h.Start = starts[i]
			events := log(1, 3, true)
			events[0].Payload = h.Encode()
			mustAppend(t, s, 0, events)
			mustAppend(t, s, 0, events)
			wantEvents(t, s, id, 0, events)
			for _, prefix := range []string{string(id), string(id[:13]), string(id[:5])} {
				if got := list(t, s, store.Query{Prefix: prefix}); len(got) != 1 || got[0].ID != id {
					t.Errorf("prefix %s of session %s: listed %v", prefix, id, got)
				}
			}
			h.Start = start(8)
			events[0].Payload = h.Encode()
			var conflict *store.ConflictError
			if _, err := s.Append(t.Context(), id, 0, events); !errors.As(err, &conflict) {
				t.Errorf("session %s on another day: %v, want a conflict", id, err)
			}
		}
		if got := list(t, s, store.Query{}); len(got) != len(ids) {
			t.Errorf("listed %d sessions, want %d", len(got), len(ids))
		}
		wantErr(t, "delete", nil, s.Delete(t.Context(), ids[0]))
		wantErr(t, "read", store.ErrNotFound, errOf(collect(t.Context(), s, ids[0], 0, store.ReadOptions{})))
	},
	"query": func(t *testing.T, s store.Store) {
		for _, i := range []int{5, 0, 9, 3, 7, 1, 2, 8, 6, 4} {
			mustAppend(t, s, 0, log(i, 2+i, true))
		}
		checkQueries(t, s)
	},
	"owned": func(t *testing.T, s store.Store) {
		mustAppend(t, s, 0, log(1, 5, true))
		for event, err := range s.Read(t.Context(), newID(1), 0, store.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			clear(event.Payload)
			_ = append(event.Payload, "and more than there was"...)
		}
		wantEvents(t, s, newID(1), 0, log(1, 5, true))
	},
	"cancelled": func(t *testing.T, s store.Store) {
		mustAppend(t, s, 0, log(1, 5, true))
		reading, stop := context.WithCancel(t.Context())
		defer stop()
		var last error
		for _, err := range s.Read(reading, newID(1), 0, store.ReadOptions{}) {
			stop()
			last = err
		}
		wantErr(t, "cancelled in mid-read", context.Canceled, last)
		ctx := reading
		wantErr(t, "append", context.Canceled, errOf(s.Append(ctx, newID(2), 0, log(2, 3, true))))
		wantErr(t, "head", context.Canceled, errOf(s.Head(ctx, newID(1))))
		wantErr(t, "read", context.Canceled, errOf(collect(ctx, s, newID(1), 0, store.ReadOptions{})))
		wantErr(t, "delete", context.Canceled, s.Delete(ctx, newID(1)))
		for _, err := range s.Sessions(ctx, store.Query{}) {
			wantErr(t, "sessions", context.Canceled, err)
		}
	},
	// Ten writers put five sessions, each twice.
	"concurrent": func(t *testing.T, s store.Store) {
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if _, err := s.Append(t.Context(), newID(i%5), 0, log(i%5, 50, true)); err != nil {
					t.Errorf("session %d: %v", i%5, err)
				}
			})
		}
		wg.Wait()
		for i := range 5 {
			wantEvents(t, s, newID(i), 0, log(i, 50, true))
		}
	},
	"deleted": func(t *testing.T, s store.Store) {
		for i := range 3 {
			mustAppend(t, s, 0, log(i, 40, true))
		}
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
		wantErr(t, "head", store.ErrNotFound, errOf(s.Head(t.Context(), newID(1))))
		wantErr(t, "read", store.ErrNotFound, errOf(collect(t.Context(), s, newID(1), 0, store.ReadOptions{})))
		wantErr(t, "append", store.ErrExists, errOf(s.Append(t.Context(), newID(1), 0, log(1, 40, true))))
		if got := list(t, s, store.Query{}); len(got) != 2 || got[0].ID != newID(0) || got[1].ID != newID(2) {
			t.Errorf("listed after delete: %v", got)
		}
		wantErr(t, "delete again", store.ErrNotFound, s.Delete(t.Context(), newID(1)))
	},
	"summaries": summarizer(func(t *testing.T, s store.Store) {
		for n := range 9 {
			keep(t, s, n, mustAppend(t, s, 0, log(n, 3, true)), fmt.Sprint("summary ", n), fmt.Sprint("summary ", n))
		}
		for n := range 9 {
			if got := summariesOf(t, s)[newID(n)]; got != fmt.Sprint("summary ", n) {
				t.Errorf("session %d has the summary %q", n, got)
			}
		}
		head := headOf(log(1, 3, true))
		keep(t, s, 1, head, "another", "another")
		keep(t, s, 1, headOf(log(2, 3, true)), "of another session", "another")
		keep(t, s, 1, head, "", "")
		wantErr(t, "delete", nil, s.Delete(t.Context(), newID(1)))
		keep(t, s, 1, head, "too late", "")
		gone := store.Session{Header: store.Header{ID: newID(1)}, Head: head}
		if kept, err := s.(store.Summarizer).Summaries(t.Context(), []store.Session{gone}); err != nil || len(kept) > 0 {
			t.Errorf("summaries of a deleted session: %q, %v", kept, err)
		}
	}),
}
