package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

func list(t *testing.T, s store.Store, query store.Query) []store.Session {
	t.Helper()
	var found []store.Session
	for x, err := range s.Sessions(t.Context(), query) {
		if err != nil {
			t.Fatalf("sessions: %v", err)
		}
		found = append(found, x)
	}
	return found
}

func wantSession(t *testing.T, s store.Store, want store.Session) {
	t.Helper()
	got := list(t, s, store.Query{Prefix: string(want.ID)})
	if len(got) != 1 {
		t.Fatalf("%d sessions, want 1", len(got))
	}
	g, w := got[0], want
	if !g.Start.Equal(w.Start) || !slices.Equal(g.Command, w.Command) {
		t.Errorf("started %v by %q, want %v by %q", g.Start, g.Command, w.Start, w.Command)
	}
	g.Start = time.Time{}
	w.Start = time.Time{}
	g.Command = nil
	w.Command = nil
	if string(store.EncodePayload(g)) != string(store.EncodePayload(w)) {
		t.Errorf("session\n got %+v\nwant %+v", g, w)
	}
}

var readCases = map[string]testCase{
	"from": func(t *testing.T, s store.Store) {
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
	},
	"absent": func(t *testing.T, s store.Store) {
		mustAppend(t, s, 0, log(1, 2, false))
		for _, follow := range []bool{false, true} {
			wantErr(t, "read of a session that is not there", store.ErrNotFound, errOf(collect(t.Context(), s, newID(2), 0, store.ReadOptions{Follow: follow})))
		}
	},
	"stopped": func(t *testing.T, s store.Store) {
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
		wantErr(t, "cancelled in mid-read", context.Canceled, last)
	},
	// A caller may change the payloads it gets.
	"owned": func(t *testing.T, s store.Store) {
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
	},
	// Following ends without a recorder.
	"follow": func(t *testing.T, s store.Store) {
		for i, sealed := range []bool{false, true} {
			events := log(i, 5, sealed)
			mustAppend(t, s, 0, events)
			got, err := collect(t.Context(), s, newID(i), 2, store.ReadOptions{Follow: true})
			if err != nil {
				t.Fatal(err)
			}
			sameEvents(t, got, events[1:])
		}
	},
}

// checkQueries holds that a store with the sessions 0 to 9 lists what queries ask for. Session i has i+2
// events.
func checkQueries(t *testing.T, s store.Store) {
	t.Helper()
	for _, c := range []struct {
		q    store.Query
		want []int
	}{
		{store.Query{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{store.Query{Newest: true}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{store.Query{Limit: 3}, []int{0, 1, 2}},
		{store.Query{Limit: 4, Newest: true}, []int{9, 8, 7, 6}},
		{store.Query{Limit: 99}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{store.Query{Prefix: string(newID(4))}, []int{4}},
		{store.Query{Prefix: string(newID(4)[:13])}, []int{4}},
		{store.Query{Prefix: string(newID(4)[:4]), Limit: 2}, []int{0, 1}},
		{store.Query{Prefix: "ffff"}, nil},
	} {
		var got []int
		for _, x := range list(t, s, c.q) {
			got = append(got, int(x.Head.Seq)-2)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: sessions %v, want %v", c.q, got, c.want)
		}
	}
	for range s.Sessions(t.Context(), store.Query{}) {
		break
	}
}

var listCases = map[string]testCase{
	"empty": func(t *testing.T, s store.Store) {
		if got := list(t, s, store.Query{}); len(got) != 0 {
			t.Errorf("an empty store lists %v", got)
		}
	},
	"query": func(t *testing.T, s store.Store) {
		for _, i := range []int{5, 0, 9, 3, 7, 1, 2, 8, 6, 4} { // days apart, over two months
			mustAppend(t, s, 0, log(i, 2+i, i%2 == 0))
		}
		checkQueries(t, s)
	},
	"fields": func(t *testing.T, s store.Store) {
		events := log(1, 6, false)
		events[3] = store.Event{Seq: 4, At: events[3].At, Kind: store.Lost, Payload: store.EncodePayload(store.LostInfo{Frames: 3, Bytes: 10, Reason: "disk full"})}
		events[4] = store.Event{Seq: 5, At: events[4].At, Kind: store.Exited, Payload: store.EncodePayload(store.ExitInfo{Code: 7})}
		mustAppend(t, s, 0, events)
		h, _ := store.ParseHeader(events[0].Payload)
		want := store.Session{
			Header: h, Head: headOf(events), Frames: 3, Lost: 3, Exit: "7", State: store.Crashed,
			Bytes: uint64(len(events[1].Payload) + len(events[2].Payload) + len(events[5].Payload)),
		}
		wantSession(t, s, want)
		last := store.Event{Seq: 7, At: time.Second, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: 3, Lost: 3})}
		if _, err := s.Append(t.Context(), newID(1), 6, []store.Event{last}); err != nil {
			t.Fatal(err)
		}
		want.Head, _ = want.Head.Next(last)
		want.State = store.Ended
		wantSession(t, s, want)
	},
	// An id tells a time that no calendar has, or none at all.
	"ids": func(t *testing.T, s store.Store) {
		for _, id := range []store.SessionID{"ffffffff-ffff-7000-8000-000000000001", "0b6e1a05-60a1-4a2c-9a10-2f6f3b1c9d11"} {
			h := store.Header{ID: id, Start: start(1), Transport: "stdio"}
			events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: h.Encode()}, frame(2)}
			h, _ = store.ParseHeader(events[0].Payload)
			mustAppend(t, s, 0, events)
			wantEvents(t, s, id, 0, events)
			wantSession(t, s, store.Session{Header: h, Head: headOf(events), Frames: 1, Bytes: uint64(len(events[1].Payload)), State: store.Crashed})
		}
	},
	// Every known field of a header is listed and unknown fields stay in
	// the event.
	"header": func(t *testing.T, s store.Store) {
		h := store.Header{
			ID: newID(1), Start: start(1).Add(123456789), Transport: "http", Label: "a \"b\" ü", Command: []string{"a", "", "c d"},
			URL: "http://localhost:3000/mcp", Recorder: "v1.2.3", Expect: "hang blocked behind a notification",
		}
		payload := string(h.Encode())
		payload = strings.Replace(payload, `"label"`, `"colour":{"of":["the","rainbow"]},"label"`, 1)
		events := []store.Event{{Seq: 1, At: 5, Kind: store.Opened, Payload: []byte(payload)}, frame(2)}
		mustAppend(t, s, 0, events)
		wantEvents(t, s, newID(1), 0, events)
		h, err := store.ParseHeader([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		wantSession(t, s, store.Session{Header: h, Head: headOf(events), Frames: 1, Bytes: uint64(len(events[1].Payload)), State: store.Crashed})
		h.ID = newID(2)
		h.Command = nil
		events[0].Payload = h.Encode()
		mustAppend(t, s, 0, events)
		wantSession(t, s, store.Session{Header: h, Head: headOf(events), Frames: 1, Bytes: uint64(len(events[1].Payload)), State: store.Crashed})
	},
}
