package outbox

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
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
