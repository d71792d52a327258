package boltstore

import (
	"crypto/rand"
	"runtime"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// A fold of large events that passed side by side takes the memory of one of them at a
// time. What is counted is all that it asks for, not what is held: for each event its
// bytes as they are read, checked and read again, put together, made a chunk, and
// written by the database.
func TestFoldLarge(t *testing.T) {
	const size, stretch, events = 24 << 20, 256 << 10, 2
	s := testStore(t, t.TempDir())
	w := startSpool(t, s, []store.Event{opening(1)})
	data := make([]byte, size)
	_, _ = rand.Read(data)
	for at := 0; at < size; at += stretch {
		for seq := range uint64(events) {
			e := store.Event{Seq: 2 + seq, Kind: store.Frame, Dir: 1, Payload: data[at : at+stretch]}
			if err := w.Write([]store.Part{{Event: e, Cont: at > 0, More: at+stretch < size}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil { // which leaves so much to the next
		t.Fatal(err)
	}
	key, err := testID(1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.foldAll(t.Context(), testID(1), key, time.Time{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if asked := float64(after.TotalAlloc-before.TotalAlloc) / (events * size); asked > 8 {
		t.Errorf("a fold asked for %.1f times the size of its events", asked)
	}
	want := []store.Event{opening(1)}
	for seq := range uint64(events) {
		want = append(want, store.Event{Seq: 2 + seq, Kind: store.Frame, Dir: 1, Payload: data})
	}
	mustRead(t, s, testID(1), want)
	mustVerify(t, s)
}
