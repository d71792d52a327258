package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// newID returns the nth of a row of version 7 UUIDs, which sort by n and lie a day apart, to
// cover several months.
func newID(n int) store.SessionID {
	ms := start(n).UnixMilli()
	return store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n))
}

func start(n int) time.Time {
	return time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n)
}

// Opening returns the Opened event of session number n.
func Opening(n int) store.Event {
	h := store.Header{ID: newID(n), Start: start(n), Transport: "stdio", Label: fmt.Sprintf("server %d", n), Command: []string{"server", fmt.Sprint(n)}}
	return store.Event{Seq: 1, Kind: store.Opened, Payload: h.Encode()}
}

// frame returns a frame event whose bytes depend on its Seq.
func frame(seq uint64) store.Event {
	dir := transport.ClientToServer
	if seq%2 == 1 {
		dir = transport.ServerToClient
	}
	payload := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool \u00e9 %x"}}`, seq, seq*seq*2654435761)
	return store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: payload}
}

// log returns the first n events of session number i; the last is Closed if
// sealed.
func log(i, n int, sealed bool) []store.Event {
	events := []store.Event{Opening(i)}
	for seq := uint64(2); seq <= uint64(n); seq++ {
		events = append(events, frame(seq))
	}
	if sealed {
		last := &events[n-1]
		*last = store.Event{Seq: last.Seq, At: last.At, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: uint64(n - 2)})}
	}
	return events
}

// parts returns whole events as parts.
func parts(events []store.Event) []store.Part {
	p := make([]store.Part, len(events))
	for i, e := range events {
		p[i].Event = e
	}
	return p
}

func collect(ctx context.Context, s store.Store, id store.SessionID, from uint64, o store.ReadOptions) (events []store.Event, err error) {
	for e, err := range s.Read(ctx, id, from, o) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func wantEvents(t *testing.T, s store.Store, id store.SessionID, from uint64, want []store.Event) {
	t.Helper()
	got, err := collect(t.Context(), s, id, from, store.ReadOptions{})
	if err != nil {
		t.Fatalf("read from %d: %v", from, err)
	}
	sameEvents(t, got, want)
}

func sameEvents(t *testing.T, got, want []store.Event) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !got[i].Equal(want[i]) {
			show := func(e store.Event) string {
				return fmt.Sprintf("%d %v %s %s stream %d unterminated %t %q", e.Seq, e.At, e.Kind, e.Dir, e.Stream, e.Unterminated, bytes.TrimSpace(e.Payload[:min(len(e.Payload), 120)]))
			}
			t.Fatalf("event %d:\ngot  %.200v\nwant %.200v", want[i].Seq, show(got[i]), show(want[i]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d events, want %d", len(got), len(want))
	}
}

func mustAppend(t *testing.T, s store.Store, after uint64, events []store.Event) store.Head {
	t.Helper()
	h, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		t.Fatalf("mustAppend wants a log from its start: %v", err)
	}
	head, err := s.Append(t.Context(), h.ID, after, events[after:])
	if err != nil {
		t.Fatalf("append after %d: %v", after, err)
	}
	return head
}

func headOf(events []store.Event) (head store.Head) {
	for _, e := range events {
		head, _ = head.Next(e)
	}
	return head
}

// wantErr reports err unless it wraps target, or is nil for a nil target.
func wantErr(t *testing.T, what string, target, err error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: %v", what, err)
	}
}

// errOf returns the error of a call with a result.
func errOf[T any](_ T, err error) error { return err }
