package session

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
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

// TestSummaries: what is missing or old is made and kept, what is newer or of a live session is
// made and not kept, and the end of a recording keeps its own.
func TestSummaries(t *testing.T) {
	ctx := context.Background()
	db, err := OpenStore(t.Context(), Home{Place: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list := func() (sessions []store.Session) {
		t.Helper()
		for s, err := range db.Sessions(ctx, store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			sessions = append(sessions, s)
		}
		return sessions
	}
	// kept returns the version of the summary that a session has in the store, or -1.
	kept := func(n int) int {
		t.Helper()
		found, err := db.Store.Summaries(ctx, list())
		if err != nil {
			t.Fatal(err)
		}
		for id, data := range found {
			if id == list()[n].ID {
				return int(data[0])
			}
		}
		return -1
	}
	const missing, old, newer, ended, live = 0, 1, 2, 3, 4
	for n, version := range map[int]byte{missing: 0, old: summary.Version - 1, newer: summary.Version + 1, ended: 0} {
		id, err := Save(ctx, db, oneCall(n, n != missing)) // its recorder died
		if err != nil {
			t.Fatal(err)
		}
		head, err := db.Head(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if n == old || n == newer {
			if err := db.Store.KeepSummaries(ctx, []store.Summary{{ID: id, Head: head, Data: []byte{version, 1, 2}}}); err != nil {
				t.Fatal(err)
			}
		}
		if n == ended {
			db.KeepSummary(ctx, id)
		}
	}
	events := oneCall(live, false)
	spool, err := db.Spool(ctx, events[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := spool.Write([]store.Part{{Event: events[1]}}); err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	if got := kept(ended); got != summary.Version {
		t.Errorf("the end of a recording kept version %d", got)
	}
	for range 2 {
		found, err := db.Summaries(ctx, list())
		if err != nil || len(found) != 5 {
			t.Fatalf("%d summaries, %v; want 5", len(found), err)
		}
		for id, x := range found {
			if len(x.Tools) != 1 || x.Tools[0].Name != "search" || x.Tools[0].Calls != 1 {
				t.Errorf("session %s: %+v", id, x)
			}
		}
	}
	for n, want := range map[int]int{missing: summary.Version, old: summary.Version, newer: summary.Version + 1, ended: summary.Version, live: -1} {
		if got := kept(n); got != want {
			t.Errorf("session %d has a summary of version %d, want %d", n, got, want)
		}
	}
}
