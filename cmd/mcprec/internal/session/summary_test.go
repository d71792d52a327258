package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// callID returns the id of a session of oneCall.
func callID(n int) store.SessionID {
	return store.SessionID(fmt.Sprintf("0000000%d-0000-4000-8000-000000000000", n))
}

// oneCall returns the log of a session with a call of a tool, sealed or not.
func oneCall(n int, sealed bool) []store.Event {
	id := callID(n)
	events := []store.Event{
		{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: id, Start: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC), Transport: "stdio"}.Encode()},
		{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`)},
		{Seq: 3, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
	}
	if sealed {
		events = append(events, store.Event{Seq: 4, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: 2})})
	}
	return events
}

// TestSummaries: an ended, a dead and a live session are summed up, and one that has gone on is
// summed up again.
func TestSummaries(t *testing.T) {
	ctx := context.Background()
	db, err := OpenStore(t.Context(), Home{Place: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const ended, dead, live = 0, 1, 2
	for n, sealed := range []bool{ended: true, dead: false} {
		if _, err := Save(ctx, db, jsonl.Each(oneCall(n, sealed))); err != nil {
			t.Fatal(err)
		}
	}
	events := oneCall(live, true)
	spool, err := db.Spool(ctx, events[0])
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	calls := func(want ...uint64) {
		t.Helper()
		var sessions []store.Session
		for s, err := range db.Sessions(ctx, store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, s)
		}
		found, err := db.Summaries(ctx, sessions)
		if err != nil || len(found) != len(want) {
			t.Fatalf("%d summaries, %v; want %d", len(found), err, len(want))
		}
		for n, want := range want {
			got := uint64(0)
			for _, tool := range found[callID(n)].Tools {
				got += tool.Calls
			}
			if got != want {
				t.Errorf("session %d has %d calls, want %d", n, got, want)
			}
		}
	}
	calls(1, 1, 0)
	if err := spool.Write([]store.Part{{Event: events[1]}, {Event: events[2]}, {Event: events[3]}}); err != nil {
		t.Fatal(err)
	}
	calls(1, 1, 1)
	again := oneCall(dead, false)
	next := again[1]
	next.Seq = 4
	next.Payload = bytes.Replace(next.Payload, []byte(`"id":1`), []byte(`"id":2`), 1)
	if _, err := db.Append(ctx, callID(dead), 3, []store.Event{next}); err != nil {
		t.Fatal(err)
	}
	calls(1, 2, 1)
}
