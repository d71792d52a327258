package main

import (
	"context"
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
	k := keeper{cache: cache{db, rec.ID()}, fold: checkpoint.New()}
	for part := 1; part <= 3; part++ {
		for range checkpoint.Interval {
			tap.Observe([]byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n"))
		}
		if !k.catchUp(t.Context()) {
			t.Fatal("the log cannot be read")
		}
		if got := len(k.load(t.Context()).Points()); got != part || k.fold.Seq() != rec.Seq() {
			t.Errorf("%d checkpoints after %d events of %d, want %d", got, k.fold.Seq(), rec.Seq(), part)
		}
	}
	if sum := rec.Close(); sum.Err != nil {
		t.Fatal(sum.Err)
	}
	f, err := k.foldUntil(t.Context(), point{seq: 10_000}.isPast)
	if err != nil || f.Seq() != 10_000 || f.State().View().Frames.C2S != 9_999 {
		t.Errorf("#%d, %v", f.Seq(), err)
	}
}
