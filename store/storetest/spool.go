package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

func openSpool(t *testing.T, s store.Store, i int) store.Spool {
	t.Helper()
	spooler, ok := s.(store.Spooler)
	if !ok {
		t.Skip("the store takes no live sessions")
	}
	sp, err := spooler.Spool(t.Context(), Opening(i))
	if err != nil {
		t.Fatalf("spool: %v", err)
	}
	return sp
}

func mustWrite(t *testing.T, sp store.Spool, parts ...store.Part) {
	t.Helper()
	if err := sp.Write(parts); err != nil {
		t.Fatalf("write: %v", err)
	}
	for i := range parts { // the caller may use the buffers again
		clear(parts[i].Payload)
	}
}

func mustClose(t *testing.T, sp store.Spool) {
	t.Helper()
	if err := sp.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func stretch(seq uint64, dir transport.Direction, text string, cont, more bool) store.Part {
	e := frame(seq)
	e.Dir = dir
	e.Payload = []byte(text)
	return store.Part{Event: e, Cont: cont, More: more}
}

var spoolCases = map[string]testCase{
	// Written parts can be read and listed before Close.
	"visible": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		events := log(1, 30, true)
		wantEvents(t, s, newID(1), 0, events[:1])
		for n := 1; n < 30; n += 3 {
			mustWrite(t, sp, parts(log(1, 30, true)[n:min(n+3, 30)])...)
			have := events[:min(n+3, 30)]
			wantEvents(t, s, newID(1), 0, have)
			wantEvents(t, s, newID(1), uint64(n), have[n-1:])
			if got, err := s.Head(t.Context(), newID(1)); err != nil || got != headOf(have) {
				t.Fatalf("head %v, %v, want %v", got, err, headOf(have))
			}
			got := list(t, s, store.Query{})
			if len(got) != 1 || got[0].Head.Seq != uint64(len(have)) || got[0].Label != "server 1" {
				t.Fatalf("listed %+v", got)
			}
			if want := store.Live; n < 25 && got[0].State != want {
				t.Fatalf("state %s, want %s", got[0].State, want)
			}
		}
		mustClose(t, sp)
		wantEvents(t, s, newID(1), 0, events)
		if got := list(t, s, store.Query{}); got[0].State != store.Ended || got[0].Frames != 28 {
			t.Errorf("listed %+v", got[0])
		}
	},
	// This case writes two long frames, one in each direction, and a short frame between
	// their parts.
	"interleaved": func(t *testing.T, s store.Store) {
		const c2s, s2c = transport.ClientToServer, transport.ServerToClient
		sp := openSpool(t, s, 1)
		mustWrite(t, sp, stretch(2, c2s, "one", false, true))
		wantEvents(t, s, newID(1), 2, nil)
		mustWrite(t, sp, stretch(3, s2c, "ONE", false, true), stretch(2, c2s, " two", true, true))
		mustWrite(t, sp, stretch(4, c2s, "short", false, false))
		mustWrite(t, sp, stretch(3, s2c, " TWO", true, true))
		wantEvents(t, s, newID(1), 2, nil)
		mustWrite(t, sp, stretch(2, c2s, " three", true, false))
		want := []store.Event{stretch(2, c2s, "one two three", false, false).Event}
		wantEvents(t, s, newID(1), 2, want)
		last := stretch(3, s2c, "", true, false)
		last.Unterminated = true
		mustWrite(t, sp, stretch(5, s2c, "end", false, false), last)
		third := stretch(3, s2c, "ONE TWO", false, false).Event
		third.Unterminated = true
		want = append(want, third, stretch(4, c2s, "short", false, false).Event, stretch(5, s2c, "end", false, false).Event)
		wantEvents(t, s, newID(1), 2, want)
		mustClose(t, sp)
		wantEvents(t, s, newID(1), 2, want)
	},
	// This case closes a spool in the middle of a frame.
	"cut": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		mustWrite(t, sp, stretch(2, transport.ClientToServer, "half a fra", false, true), stretch(3, transport.ServerToClient, "whole", false, false))
		mustClose(t, sp)
		half := stretch(2, transport.ClientToServer, "half a fra", false, false).Event
		half.Unterminated = true
		wantEvents(t, s, newID(1), 2, []store.Event{half, stretch(3, transport.ServerToClient, "whole", false, false).Event})
		if got := list(t, s, store.Query{}); len(got) != 1 || got[0].State != store.Crashed {
			t.Errorf("listed %+v, want a crashed session", got)
		}
	},
	// This case writes chunks: complete lines appear at once, and open lines are cut when the
	// recorder leaves.
	"pipes": func(t *testing.T, s store.Store) {
		const c2s, s2c = transport.ClientToServer, transport.ServerToClient
		sp := openSpool(t, s, 1)
		at := func(seq uint64) time.Duration { return frame(seq).At }
		chunk := func(seq uint64, dir transport.Direction, text string) store.Part {
			buffer := append(make([]byte, store.ChunkRoom), text...)
			e := store.Event{At: at(seq), Kind: store.Frame, Dir: dir, Payload: buffer[store.ChunkRoom:]}
			return store.Part{Event: e, Chunk: true, Buffer: buffer}
		}
		line := func(seq, when uint64, dir transport.Direction, text string) store.Event {
			return store.Event{Seq: seq, At: at(when), Kind: store.Frame, Dir: dir, Payload: []byte(text)}
		}
		mustWrite(t, sp, chunk(2, c2s, "half"))
		mustWrite(t, sp, chunk(3, s2c, "one\ntwo\nthree"))
		want := []store.Event{line(2, 3, s2c, "one"), line(3, 3, s2c, "two")}
		wantEvents(t, s, newID(1), 2, want)
		mustWrite(t, sp, chunk(4, c2s, " a frame\n"))
		want = append(want, line(4, 4, c2s, "half a frame"))
		wantEvents(t, s, newID(1), 2, want)
		note := store.Event{Seq: 2, At: at(5), Kind: store.Note, Payload: []byte("{}")}
		mustWrite(t, sp, chunk(5, c2s, "{}\n"), store.Part{Event: note})
		note.Seq = 6
		note.Payload = []byte("{}")
		want = append(want, line(5, 5, c2s, "{}"), note)
		wantEvents(t, s, newID(1), 2, want)
		if err := sp.Write([]store.Part{chunk(4, c2s, "earlier")}); err == nil {
			t.Error("a chunk whose time falls: accepted")
		}
		if err := sp.Write([]store.Part{{Event: store.Event{At: time.Hour, Kind: store.Note}, Chunk: true}}); err == nil {
			t.Error("a chunk of no pipe: accepted")
		}
		mustClose(t, sp)
		last := line(7, 5, s2c, "three")
		last.Unterminated = true
		wantEvents(t, s, newID(1), 2, append(want, last))
	},
	"exists": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		wantErr(t, "spool again", store.ErrExists, errOf(s.(store.Spooler).Spool(t.Context(), Opening(1))))
		mustClose(t, sp)
		wantErr(t, "spool again", store.ErrExists, errOf(s.(store.Spooler).Spool(t.Context(), Opening(1))))
		if _, err := s.(store.Spooler).Spool(t.Context(), frame(2)); err == nil {
			t.Error("spool that starts with a frame: accepted")
		}
	},
	"live": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		mustWrite(t, sp, parts(log(1, 2, false)[1:])...)
		wantErr(t, "append to a live session", store.ErrLive, errOf(s.Append(t.Context(), newID(1), 2, []store.Event{frame(3)})))
		mustClose(t, sp)
		wantErr(t, "append after the recorder left", nil, errOf(s.Append(t.Context(), newID(1), 2, []store.Event{frame(3)})))
		wantEvents(t, s, newID(1), 0, log(1, 3, false))
	},
	"closed": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		mustClose(t, sp)
		if err := sp.Write(parts([]store.Event{frame(2)})); err == nil {
			t.Error("write after close: accepted")
		}
		if err := sp.Close(); err == nil {
			t.Error("close again: no error")
		}
		wantEvents(t, s, newID(1), 0, log(1, 1, false))
	},
	"sequence": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		early := frame(2)
		c2s := transport.ClientToServer
		early.At = -1
		for name, p := range map[string][]store.Part{
			"gap":                parts([]store.Event{frame(3)}),
			"gap in the call":    parts([]store.Event{frame(2), frame(4)}),
			"again":              parts([]store.Event{frame(1)}),
			"time falls":         parts([]store.Event{early}),
			"continues nothing":  {stretch(2, c2s, "x", true, false)},
			"continues whole":    {stretch(2, c2s, "x", false, false), stretch(2, c2s, "y", true, false)},
			"opened again":       parts([]store.Event{{Seq: 2, Kind: store.Opened, Payload: Opening(1).Payload}}),
			"after closed":       parts([]store.Event{{Seq: 2, Kind: store.Closed, Payload: []byte("{}")}, frame(3)}),
			"continued too long": {stretch(2, c2s, "x", false, true), stretch(2, c2s, "y", true, false), stretch(2, c2s, "z", true, false)},
		} {
			if err := sp.Write(p); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		events := log(1, 3, true)
		mustWrite(t, sp, parts(log(1, 3, true)[1:])...)
		if err := sp.Write(parts([]store.Event{frame(4)})); err == nil {
			t.Error("after closed: accepted")
		}
		mustClose(t, sp)
		wantEvents(t, s, newID(1), 0, events)
	},
	// This case follows a session while it is written: each event is written after the
	// previous event has arrived.
	"follow": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		events := log(1, 12, true)
		var got []store.Event
		for e, err := range s.Read(t.Context(), newID(1), 0, store.ReadOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
			if n := len(got); n < len(events) {
				mustWrite(t, sp, parts(log(1, 12, true)[n:n+1])...)
			}
		}
		sameEvents(t, got, events)
		mustClose(t, sp)

		// A session that is never sealed ends with its recorder.
		sp = openSpool(t, s, 2)
		got = nil
		for e, err := range s.Read(t.Context(), newID(2), 0, store.ReadOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
			if len(got) == 1 {
				mustWrite(t, sp, parts(log(2, 4, false)[1:])...)
				mustClose(t, sp)
			}
		}
		sameEvents(t, got, log(2, 4, false))
	},
	"cancelled": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for e, err := range s.Read(ctx, newID(1), 0, store.ReadOptions{Follow: true}) {
			last = err
			if err == nil && e.Seq == 1 {
				cancel()
			}
		}
		wantErr(t, "follow", context.Canceled, last)
		mustClose(t, sp)
	},
	"five": func(t *testing.T, s store.Store) {
		const n = 200
		var wg sync.WaitGroup
		for i := range 5 {
			sp := openSpool(t, s, i)
			wg.Go(func() {
				for seq := 1; seq < n; seq++ {
					if err := sp.Write(parts(log(i, n, true)[seq : seq+1])); err != nil {
						t.Errorf("session %d: %v", i, err)
					}
				}
				wantErr(t, "close", nil, sp.Close())
			})
			wg.Go(func() {
				got, err := collect(t.Context(), s, newID(i), 0, store.ReadOptions{Follow: true})
				if err != nil || len(got) != n {
					t.Errorf("session %d: followed %d events, %v", i, len(got), err)
				}
			})
		}
		wg.Go(func() {
			for range 5 {
				for _, err := range s.Sessions(t.Context(), store.Query{Newest: true}) {
					if err != nil {
						t.Errorf("sessions: %v", err)
					}
				}
			}
		})
		wg.Wait()
		for i := range 5 {
			wantEvents(t, s, newID(i), 0, log(i, n, true))
		}
	},
	// This case writes enough to be folded in several steps.
	"large": func(t *testing.T, s store.Store) {
		sp := openSpool(t, s, 1)
		payload := make([]byte, 1<<20)
		for i := range payload {
			payload[i] = byte(i >> 3)
		}
		events := log(1, 21, true)
		for i := 1; i < 20; i++ {
			events[i].Payload = payload
			if err := sp.Write(parts(events[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := sp.Write(parts(events[20:])); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, s, newID(1), 0, events)
		mustClose(t, sp)
		wantEvents(t, s, newID(1), 0, events)
		wantEvents(t, s, newID(1), 15, events[14:])
	},
}
