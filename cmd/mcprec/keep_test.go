package main

import (
	"context"
	"os"
	"testing"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/checkpoint"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
)

// TestKeepWhileRecorded: a live session gets its checkpoints as it grows, and they are
// those of its log.
func TestKeepWhileRecorded(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rec, err := recorder.New(context.Background(), db, store.Header{Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	tap := rec.Tap(transport.ClientToServer)
	short := false
	k := keeper{cache: cache{db: db, id: rec.ID()}, fold: checkpoint.New(), short: func() bool { return short }}
	for part := 1; part <= 3; part++ {
		for range checkpoint.Interval {
			tap.Observe([]byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n"))
		}
		untilWritten(t, db, rec)
		for before := uint64(0); k.fold.Seq() < rec.Seq(); { // on a busy machine not all at once
			if before = k.fold.Seq(); !k.catchUp(t.Context()) || k.fold.Seq() == before {
				t.Fatalf("the log cannot be read behind #%d", before)
			}
		}
		if got := len(k.load(t.Context()).Points()); got != part || k.fold.Seq() != rec.Seq() {
			t.Errorf("%d checkpoints after %d events of %d, want %d", got, k.fold.Seq(), rec.Seq(), part)
		}
	}
	for range keepLook {
		tap.Observe([]byte("{}\n"))
	}
	untilWritten(t, db, rec)
	if short = true; k.catchUp(t.Context()) {
		t.Error("goes on when memory is short")
	}
	if sum := rec.Close(); sum.Err != nil {
		t.Fatal(sum.Err)
	}
	f, err := k.foldUntil(t.Context(), point{seq: 10_000}.isPast)
	if err != nil || f.Seq() != 10_000 || f.State().View().Frames.C2S != 9_999 {
		t.Errorf("#%d, %v", f.Seq(), err)
	}
}

// untilWritten waits for the event that was recorded last: a write that is late passes its
// frame on, and waits in memory.
func untilWritten(t *testing.T, db *boltstore.Store, rec *recorder.Recorder) {
	t.Helper()
	for _, err := range db.Read(t.Context(), rec.ID(), rec.Seq(), store.ReadOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("the log ended")
}

// TestKeepOfTarget: so do the sessions of a target, each until it is done.
func TestKeepOfTarget(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := &remote{std: streams{out: os.Stdout, err: os.Stderr}, db: db}
	kept := func() (n int) {
		r.keeping.Range(func(any, any) bool { n++; return true })
		return n
	}
	var recs []*recorder.Recorder
	for range 3 {
		recs = append(recs, r.open(store.Header{Transport: "http"}))
	}
	if kept() != len(recs) {
		t.Errorf("%d of %d are kept", kept(), len(recs))
	}
	for i, rec := range recs {
		if r.done(rec.Close()); kept() != len(recs)-1-i {
			t.Errorf("%d are kept when %d are done", kept(), i+1)
		}
	}
	if r.faulty.Load() {
		t.Error("not all was recorded")
	}
}
