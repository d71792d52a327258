package cluster

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// night asks for the long forms of the tests.
var night = storetest.Night()

// tell adds a line to the table of make night.
var tell = storetest.Tell

// recording is a session that a test records, with all that it has written.
type recording struct {
	id     store.SessionID
	spool  store.Spool
	events []store.Event // whose Write has returned without an error
	began  time.Time
	random *rand.Rand
}

// newID returns a new session id.
func newID() store.SessionID { return store.SessionID(uuid.Must(uuid.NewV7()).String()) }

// newRecording makes a session with its first event.
func newRecording() *recording {
	r := &recording{id: newID(), began: time.Now(), random: rand.New(rand.NewPCG(1, 2))}
	header := store.Header{ID: r.id, Start: r.began.UTC(), Transport: "stdio", Command: []string{"server"}}
	r.events = []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	return r
}

// record starts a session in the store of a recorder.
func record(t testing.TB, spooler store.Spooler) *recording {
	t.Helper()
	r := newRecording()
	var err error
	r.spool, err = spooler.Spool(t.Context(), r.events[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frame makes the next event: a call or an answer with a text of some size.
func (r *recording) frame(size int) store.Event {
	seq := r.seq() + 1
	dir := transport.ClientToServer
	if seq%2 == 1 {
		dir = transport.ServerToClient
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, seq)
	for text.Len() < size {
		fmt.Fprintf(&text, "line %d of file %x, ", text.Len(), r.random.Uint32())
	}
	text.WriteString(`"}]}}`)
	return store.Event{Seq: seq, At: time.Since(r.began), Kind: store.Frame, Dir: dir, Payload: text.Bytes()}
}

// write records an event.
func (r *recording) write(event store.Event) error {
	// The spool may change nothing, and keep nothing of the caller's.
	event.Payload = bytes.Clone(event.Payload)
	err := r.spool.Write([]store.Part{{Event: event}})
	if err == nil {
		r.events = append(r.events, event)
	}
	return err
}

// writeFrames records some frames without a pause.
func (r *recording) writeFrames(t testing.TB, count, size int) {
	t.Helper()
	for range count {
		if err := r.write(r.frame(size)); err != nil {
			t.Fatalf("session %s: event %d: %v", r.id, len(r.events)+1, err)
		}
	}
}

// seal writes the last event.
func (r *recording) seal() error {
	return r.write(store.Event{Seq: r.seq() + 1, At: time.Since(r.began), Kind: store.Closed,
		Payload: store.EncodePayload(store.ClosedInfo{Frames: r.seq() - 1})})
}

// end seals the session and closes its spool.
func (r *recording) end(t testing.TB) {
	t.Helper()
	if err := r.seal(); err != nil {
		t.Errorf("session %s: %v", r.id, err)
	}
	if err := r.spool.Close(); err != nil {
		t.Errorf("session %s: close: %v", r.id, err)
	}
}

// seq returns the Seq of the last event.
func (r *recording) seq() uint64 { return uint64(len(r.events)) }

// readable is where sessions can be read.
type readable interface {
	Read(ctx context.Context, id store.SessionID, from uint64, options store.ReadOptions) iter.Seq2[store.Event, error]
	Head(ctx context.Context, id store.SessionID) (store.Head, error)
}

// compare holds that a store has exactly the events that were recorded, once and in their order.
func compare(t testing.TB, s readable, recorded ...*recording) {
	t.Helper()
	for _, r := range recorded {
		count := 0
		for event, err := range s.Read(t.Context(), r.id, 0, store.ReadOptions{}) {
			if err != nil {
				t.Errorf("session %s: after %d events: %v", r.id, count, err)
				break
			}
			if count >= len(r.events) || !event.Equal(r.events[count]) {
				t.Errorf("session %s: event %d (Seq %d) is not the one that was recorded", r.id, count+1, event.Seq)
				break
			}
			count++
		}
		if count != len(r.events) {
			t.Errorf("session %s: %d of %d events", r.id, count, len(r.events))
		}
	}
}

// arrived waits until a store has all events of the sessions.
func arrived(t testing.TB, s readable, recorded ...*recording) {
	t.Helper()
	for _, r := range recorded {
		wait(t, fmt.Sprintf("session %s has arrived in %T", r.id, s), func() error {
			head, err := s.Head(t.Context(), r.id)
			if err == nil && head.Seq < r.seq() {
				err = fmt.Errorf("it ends at event %d of %d", head.Seq, r.seq())
			}
			return err
		})
	}
}
