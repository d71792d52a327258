package outbox

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
)

// openFolder opens an outbox in a folder on the way to a server.
func openFolder(t testing.TB, server *sharedServer, options Options) *Outbox {
	t.Helper()
	local, err := boltstore.Open(t.TempDir(), boltstore.Options{Outbox: true, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return New(local, server.open, options)
}

// shipped waits until the shared store has acknowledged all, by following it.
func shipped(t testing.TB, server *sharedServer, id store.SessionID) {
	t.Helper()
	for {
		head, err := server.now().Head(context.Background(), id)
		if err == nil && head.Sealed {
			return
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestFolder ships chunks of pipes and one event of 64 MiB from spools on the disk.
func TestFolder(t *testing.T) {
	size := 64 << 20
	if testing.Short() {
		size = 5 << 20
	}
	server := newServer()
	o := openFolder(t, server, Options{})
	events := testLog(1, 4, true)
	p := mustSpool(t, o, events[0])
	want := []store.Event{events[0]}
	for i, line := range []string{`{"a":1}`, `{"b":2}`} {
		at := time.Duration(i)
		chunk := store.Event{At: at, Kind: store.Frame, Dir: 1, Payload: []byte(line + "\n")}
		if err := p.Write([]store.Part{{Event: chunk, Chunk: true, Lines: 1}}); err != nil {
			t.Fatal(err)
		}
		want = append(want, store.Event{Seq: uint64(i + 2), At: at, Kind: store.Frame, Dir: 1, Payload: []byte(line)})
	}
	big := store.Event{Seq: 2, At: time.Second, Kind: store.Frame, Dir: 2, Stream: 3, Payload: bytes.Repeat([]byte("large "), size/6)}
	end := store.Event{Seq: 3, At: time.Second, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: 3})}
	mustWrite(t, p, big, end)
	big.Seq = 4
	end.Seq = 5
	want = append(want, big, end)
	mustClose(t, p)
	shipped(t, server, testID(1))
	mustClose(t, o)
	wantShared(t, server.now(), testID(1), want)
	if got := o.Stats(); got.EventsAcknowledged != 5 || got.BytesWaiting != 0 || got.Retries != 0 {
		t.Errorf("stats %+v", got)
	}
}

// nowhere is a connection that takes every frame.
type nowhere struct{ transport.Conn }

func (nowhere) Write(context.Context, transport.Frame) error { return nil }

// TestRecorderFull records past a full outbox: the session goes on, the log tells what is lost, and when
// there is room again recording goes on, too.
func TestRecorderFull(t *testing.T) {
	server := newServer()
	server.setFault(func(call string) fault { return map[string]fault{"append": refuses}[call] })
	o := openFolder(t, server, Options{SessionLimit: 8 << 20, Target: "nats://example"})
	told := make(chan error, 1)
	r, err := recorder.New(t.Context(), o, store.Header{ID: testID(1), Transport: "memory"}, recorder.Trouble(func(err error) { told <- err }))
	if err != nil {
		t.Fatal(err)
	}
	conn := r.Conn(nowhere{}, transport.ClientToServer)
	frame := func(size int) {
		t.Helper()
		if err := conn.Write(t.Context(), transport.Frame{Bytes: bytes.Repeat([]byte("7"), size)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 { // fewer than 8 have room in the outbox, and fewer than 24 in memory
		frame(1 << 20)
	}
	// The first trouble is told alone: on a busy machine it may be a slow disk.
	if err := <-told; !errors.Is(err, outage.ErrNoAnswer) && (!strings.HasPrefix(err.Error(), "the outbox is full: ") || !strings.HasSuffix(err.Error(), " MiB wait for nats://example")) {
		t.Errorf("told %v", err)
	}
	server.setFault(nil)
	written := uint64(40)
	for last := 0; last != 100; written++ { // until what waits in memory has found room
		frame(100)
		time.Sleep(time.Millisecond)
		for e := range o.Read(t.Context(), testID(1), 1, store.ReadOptions{}) {
			if e.Kind == store.Frame {
				last = len(e.Payload)
			}
		}
	}
	sum := r.Close()
	shipped(t, server, testID(1))
	if sum.Lost < 40-8-24 || sum.Frames+sum.Lost != written {
		t.Errorf("summary %+v", sum)
	}
	var events []store.Event
	var lost store.LostInfo
	for e, err := range o.Read(t.Context(), testID(1), 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		if info, err := store.DecodePayload[store.LostInfo](e); e.Kind == store.Lost && err == nil {
			lost.Frames += info.Frames // there may be several gaps
			lost.Reason = info.Reason
		}
	}
	if lost.Frames != sum.Lost || !strings.HasPrefix(lost.Reason, "the outbox is full: ") {
		t.Errorf("the log tells %+v as lost", lost)
	}
	wantShared(t, server.now(), testID(1), events)
	if got := o.Stats(); got.Refused == 0 || got.Lost != sum.Lost {
		t.Errorf("stats %+v", got)
	}
	mustClose(t, o)
}

// noSpool is a spool that does nothing.
type noSpool struct{}

func (noSpool) Write([]store.Part) error { return nil }

func (noSpool) Close() error { return nil }

// BenchmarkWrite compares a write to an outbox with one to its local store: what is between them is
// counting, which the third one measures alone.
func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"local", "outbox", "counting"} {
		b.Run(name, func(b *testing.B) {
			server := newServer()
			server.setFault(func(string) fault { return refuses }) // only the writes are measured
			o := openFolder(b, server, Options{SessionLimit: 1 << 40, TotalLimit: 1 << 40})
			opened := testLog(1, 1, false)[0]
			var p store.Spool
			var err error
			switch name {
			case "local":
				p, err = o.local.Spool(b.Context(), opened)
			case "outbox":
				p, err = o.Spool(b.Context(), opened)
			case "counting":
				p = &spool{outbox: o, session: &session{}, inner: noSpool{}}
			}
			if err != nil {
				b.Fatal(err)
			}
			buffer := make([]byte, store.ChunkRoom+2000)
			payload := buffer[store.ChunkRoom:]
			copy(payload, bytes.Repeat([]byte("x"), 1999))
			payload[1999] = '\n'
			part := []store.Part{{Event: store.Event{Kind: store.Frame, Dir: 1, Payload: payload}, Chunk: true, Lines: 1, Buffer: buffer}}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Write(part); err != nil {
					b.Fatal(err)
				}
			}
			mustClose(b, p)
			mustClose(b, o)
		})
	}
}
