package boltstore

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
	"github.com/mcprec/mcprec/transport"
)

// openPart returns a part of event 2, which no further part ends.
func openPart(size int, cont bool) store.Part {
	e := store.Event{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: bytes.Repeat([]byte("x"), size)}
	return store.Part{Event: e, Cont: cont, More: true}
}

// TestKeeperRests holds that what no fold can help is not tried again and
// again: an event that does not end holds back all that comes after it.
func TestKeeperRests(t *testing.T) {
	for _, size := range []int{1, 1 << 20} { // the channels of encoders and decoder belong to no bubble
		if _, err := chunk.Decode([16]byte{}, 2, chunk.Encode([16]byte{}, []store.Event{frameEvent(2, size)})); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := testStore(t, dir)
		p := startSpool(t, s, []store.Event{opening(1)})
		must := func(parts ...store.Part) {
			t.Helper()
			if err := p.Write(parts); err != nil {
				t.Fatal(err)
			}
		}
		pass := func(d time.Duration, want int) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := int(p.(*spool).keeper.folds.Load()); got != want {
				t.Fatalf("%d folds, want %d", got, want)
			}
		}
		seq := uint64(3)
		write := func(n int) {
			t.Helper()
			for range n {
				must(store.Part{Event: store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ServerToClient, Payload: make([]byte, 1<<20)}})
				seq++
			}
		}
		must(openPart(100, false))
		write(9)
		pass(time.Minute, 1)
		pass(time.Hour, 1) // nothing came: nothing to do
		write(7)
		pass(time.Second, 1)
		pass(time.Minute, 2) // after a while what came may help
		write(8)
		pass(time.Second, 3)
		pass(time.Hour, 3)
		must(store.Part{Event: store.Event{Seq: 2}, Cont: true})
		pass(29*time.Second, 3)
		pass(30*time.Second, 4) // its end came, and all of it is more than is folded beside a recorder
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		mustFoldDead(t, s)
		if exists(t, s.spoolPath(testID(1))) {
			t.Error("it is not folded when its recorder is gone")
		}
	})
}

// TestFoldHoldsLittle holds that a fold stops reading where an open event holds
// back more than a transaction's worth.
func TestFoldHoldsLittle(t *testing.T) {
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, []store.Event{opening(1)})
	parts := []store.Part{openPart(100, false)}
	for seq := uint64(3); seq < 30; seq++ {
		e := frameEvent(seq, 1<<20)
		e.At = 0
		parts = append(parts, store.Part{Event: e})
	}
	if err := p.Write(parts); err != nil {
		t.Fatal(err)
	}
	f, err := s.openSpool(testID(1), p.(*spool).key)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := newSpoolReader(f, spoolStart)
	r.reuse, r.most = true, smallEvent
	step, err := s.gather(context.Background(), r, &chunker{id: p.(*spool).key}, &projection{}, foldLimit{})
	if err != nil || step.to.Seq != 2 || r.off > 11<<20 {
		t.Errorf("folded up to %+v, read up to %d, %v", step.to, r.off, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mustFoldDead(t, s)
	if got := one(t, s, testID(1)); got.Frames != 28 {
		t.Errorf("listed %+v", got)
	}
}
