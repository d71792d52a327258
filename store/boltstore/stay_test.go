package boltstore

import (
	"bytes"
	"os"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// mib is the size of the pieces in which a large line passes.
const mib = 1 << 20

// largeLine writes a session to a spool whose third event is a line of so many MiB, and closes it. It returns
// the events.
func largeLine(t *testing.T, s *Store, size int, header store.Event) (events []store.Event) {
	t.Helper()
	w := startSpool(t, s, []store.Event{header})
	chunk := func(dir transport.Direction, payload []byte) store.Part {
		return store.Part{Event: store.Event{Kind: store.Frame, Dir: dir, Payload: payload}, Chunk: true}
	}
	small := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	parts := []store.Part{chunk(transport.ClientToServer, small), chunk(transport.ServerToClient, []byte(`{"data":"`))}
	for i := range size {
		parts = append(parts, chunk(transport.ServerToClient, bytes.Repeat([]byte{'a' + byte(i%7)}, mib)))
	}
	exit := store.Event{Seq: 2, Kind: store.Exited, Payload: []byte(`{"code":3}`)}
	closed := store.Event{Seq: 3, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: 3})}
	parts = append(parts, chunk(transport.ServerToClient, []byte("\"}\n")), chunk(transport.ClientToServer, small), store.Part{Event: exit}, store.Part{Event: closed})
	for i := range parts {
		if err := w.Write(parts[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := readAll(s, testID(1))
	if err != nil || len(events) != 6 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	return events
}

// TestLargeStaysInItsSpool holds that an event which is larger than a fold may take leaves its session in the spool,
// whole and readable, that a listing of it is the same as before and reads nothing of the spool, and that it can be
// deleted.
func TestLargeStaysInItsSpool(t *testing.T) {
	s := testStore(t, t.TempDir())
	s.opts.LargestFolded = 2 * mib
	want := largeLine(t, s, 8, opening(1))
	before := one(t, s, testID(1))
	for range 2 {
		mustFoldDead(t, s)
		path := s.spoolPath(testID(1))
		if after := one(t, s, testID(1)); !exists(t, path) || string(store.EncodePayload(after)) != string(store.EncodePayload(before)) {
			t.Errorf("listed %+v, before %+v; the spool is there: %t", after, before, exists(t, path))
		}
		mustRead(t, s, testID(1), want)
		mustVerify(t, s)
	}
	if before.Frames != 3 || before.Bytes < 8*mib || before.Exit == "" || before.State != store.Ended {
		t.Errorf("listed %+v", before)
	}
	next := store.Event{Seq: 7, Kind: store.Note, Payload: []byte(`{}`)}
	if _, err := s.Append(t.Context(), testID(1), 6, []store.Event{next}); err == nil {
		t.Error("events are appended to what the spool does not have")
	}
	wipe(t, s.spoolPath(testID(1)))
	if after := one(t, s, testID(1)); string(store.EncodePayload(after)) != string(store.EncodePayload(before)) {
		t.Errorf("the listing has read the spool: %+v", after)
	}
	if err := s.Delete(t.Context(), testID(1)); err != nil || exists(t, s.spoolPath(testID(1))) {
		t.Errorf("deleted: %v", err)
	}
}

// wipe writes zeros over all of a spool behind its head.
func wipe(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		clear(data[spoolHead:])
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLargeIsFoldedLater holds that such a session is folded by a store that takes larger events.
func TestLargeIsFoldedLater(t *testing.T) {
	s := testStore(t, t.TempDir())
	s.opts.LargestFolded = 2 * mib
	want := largeLine(t, s, 4, opening(1))
	mustFoldDead(t, s)
	s = testStore(t, s.dir)
	mustFoldDead(t, s)
	if exists(t, s.spoolPath(testID(1))) {
		t.Error("the spool is still there")
	}
	mustRead(t, s, testID(1), want)
	mustVerify(t, s)
}

// TestMaskedIsFoldedWhole holds that a session to be masked leaves its spool, which is not masked, whatever its size.
func TestMaskedIsFoldedWhole(t *testing.T) {
	s := testStore(t, t.TempDir())
	s.opts.Mask = func([]byte, store.Header) (func(store.Event) store.Event, error) {
		return func(e store.Event) store.Event { return e }, nil
	}
	if masked, plain := s.largest(true), s.largest(false); masked < 8*plain || plain != defaultLargest {
		t.Errorf("of a session to be masked up to %d bytes, of others %d", masked, plain)
	}
}

// TestListHoldsNoFrame holds that a listing of what is in a spool alone keeps no bytes of its frames.
func TestListHoldsNoFrame(t *testing.T) {
	s := testStore(t, t.TempDir())
	largeLine(t, s, largeSize/mib, opening(1))
	var listed store.Session
	list := func() error { listed = one(t, s, testID(1)); return nil }
	if n := asked(t, list); n > 1 {
		t.Errorf("a listing asked for %.1f times the size of a large event", n)
	}
	if listed.Frames != 3 || listed.Bytes < largeSize {
		t.Errorf("listed %+v", listed)
	}
}
