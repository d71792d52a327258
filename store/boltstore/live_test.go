package boltstore

import (
	"errors"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// TestListLive lists a session after every record of long frames of two
// directions: all that is whole counts.
func TestListLive(t *testing.T) {
	records, _ := interleaved(t)
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, []store.Event{opening(1)})
	var a store.Assembler
	frames, size, head := uint64(0), uint64(0), uint64(1)
	for i, r := range records {
		if i%3 == 0 {
			r.Payload = slices.Repeat(r.Payload, 1000)
		}
		if err := p.Write([]store.Part{r}); err != nil {
			t.Fatal(err)
		}
		if err := a.Add(r, 0); err != nil {
			t.Fatal(err)
		}
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			head, frames, size = e.Seq, frames+1, size+uint64(len(e.Payload))
		}
		if got := one(t, s, testID(1)); got.Frames != frames || got.Bytes != size || got.Head.Seq != head || got.State != store.Live {
			t.Fatalf("record %d: listed %d frames, %d bytes, head %d, %s; want %d, %d, %d", i, got.Frames, got.Bytes, got.Head.Seq, got.State, frames, size, head)
		}
		if i%4 == 0 {
			foldInPlace(t, s, p.(*spool).key)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := one(t, s, testID(1)); got.Frames != frames || got.Bytes != size {
		t.Errorf("listed %+v", got)
	}
}

// TestDamagedLive holds that damage in the middle of a live spool ends a read
// with an error, whether or not it follows, and a torn tail does not.
func TestDamagedLive(t *testing.T) {
	s := testStore(t, t.TempDir())
	events := testLog(1, 20, 80, false)
	p := startSpool(t, s, events[:10])
	at := p.(*spool).good
	if err := p.Write(asParts(events[10:11])); err != nil {
		t.Fatal(err)
	}
	flipBit(t, s.spoolPath(testID(1)), (at+12)*8)
	mustRead(t, s, testID(1), events[:10])
	if err := p.Write(asParts(events[11:])); err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{false, true} {
		n, last := 0, error(nil)
		for _, err := range s.Read(t.Context(), testID(1), 0, store.ReadOptions{Follow: follow}) {
			if last = err; err == nil {
				n++
			}
		}
		if n != 10 || !errors.Is(last, store.ErrCorrupt) {
			t.Errorf("follow %v: %d events, then %v", follow, n, last)
		}
	}
	if _, err := s.Head(t.Context(), testID(1)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("head: %v", err)
	}
	if err := p.Close(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("close: %v", err)
	}
}
