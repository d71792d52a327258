package boltstore

import (
	"crypto/rand"
	"runtime"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

const largeSize = 24 << 20

// largeSpool spools two large events that pass side by side, and returns all of its
// events.
func largeSpool(t *testing.T, s *Store) (w store.Spool, events []store.Event) {
	t.Helper()
	const stretch = 256 << 10
	events = []store.Event{opening(1)}
	w = startSpool(t, s, events)
	data := make([]byte, largeSize)
	_, _ = rand.Read(data)
	for seq := range uint64(2) {
		events = append(events, store.Event{Seq: 2 + seq, Kind: store.Frame, Dir: 1, Payload: data})
	}
	for at := 0; at < largeSize; at += stretch {
		for _, e := range events[1:] {
			e.Payload = data[at : at+stretch]
			if err := w.Write([]store.Part{{Event: e, Cont: at > 0, More: at+stretch < largeSize}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w, events
}

// asked returns how many times the size of a large event f asks for. What is counted is
// all of it, not what is held at once.
func asked(t *testing.T, f func() error) float64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := f(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / largeSize
}

// A fold of large events that pass side by side takes a limited number of times the memory
// of one of them: for each its bytes as they are read, twice because the fold of the other
// has read over them, put together, made a chunk, and written by the database.
func TestFoldLarge(t *testing.T) {
	s := testStore(t, t.TempDir())
	w, want := largeSpool(t, s)
	if err := w.Close(); err != nil { // which leaves so much to the next
		t.Fatal(err)
	}
	key, err := testID(1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if n := asked(t, func() error { return s.foldAll(t.Context(), testID(1), key, time.Time{}) }); n > 30 {
		t.Errorf("a fold of two large events asked for %.1f times the size of one", n)
	}
	mustRead(t, s, testID(1), want)
	mustVerify(t, s)
}

// Beside a recorder no large event is folded: a session must not take more of its
// memory than any other.
func TestFoldLargeBeside(t *testing.T) {
	s := testStore(t, t.TempDir())
	w, _ := largeSpool(t, s)
	if err := w.Close(); err != nil { // which leaves so much: its keeper would fold beside this, and be counted
		t.Fatal(err)
	}
	key, err := testID(1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var step foldResult
	fold := func() (err error) {
		step, err = s.fold(t.Context(), testID(1), key, foldLimit{})
		return err
	}
	if n := asked(t, fold); n > 3 {
		t.Errorf("a fold beside the recorder asked for %.1f times the size of a large event", n)
	}
	if step.whole || step.to.Seq != 2 {
		t.Errorf("folded up to event %d, whole: %v", step.to.Seq, step.whole)
	}
}

// Who reads large events from the spool that passed side by side needs room for each of
// them once, besides what is read of them before it is known how large they are.
func TestReadLarge(t *testing.T) {
	s := testStore(t, t.TempDir())
	w, want := largeSpool(t, s)
	if err := w.Close(); err != nil { // its keeper would fold beside this, and be counted
		t.Fatal(err)
	}
	read := func() error {
		i := 0
		for e, err := range s.Read(t.Context(), testID(1), 1, store.ReadOptions{}) {
			if err != nil {
				return err
			}
			if !e.Equal(want[i]) {
				t.Errorf("event %d differs", e.Seq)
			}
			i++
		}
		if i != len(want) {
			t.Errorf("%d events, want %d", i, len(want))
		}
		return nil
	}
	if n := asked(t, read); n > 14 {
		t.Errorf("reading two large events asked for %.1f times the size of one", n)
	}
}
