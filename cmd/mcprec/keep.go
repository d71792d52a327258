package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/checkpoint"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// A live session is looked at so often for new checkpoints, and for no more than this
// part of the time, for so long at once. What is left at its end is for whoever asks
// first: the session's end waits for nothing.
const (
	keepEvery  = 2 * time.Second
	keepShare  = 4
	keepAtOnce = 250 * time.Millisecond
)

// keepPoints takes checkpoints of a session while it is recorded, beside the path of its
// frames: it reads what is in the log. The returned function ends that.
func keepPoints(h home, db *boltstore.Store, rec *recorder.Recorder, header store.Header) (end func()) {
	if db == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k := keeper{cache: cache{db: db, id: rec.ID()}, fold: checkpoint.New(), short: memoryShort}
		for wait := keepEvery; k.pause(ctx, wait); {
			began := time.Now()
			if rec.Seq() >= k.fold.Seq()+checkpoint.Interval {
				if d, err := h.door(db); err == nil && k.fold.Seq() == 0 { // most sessions are too short for it
					k.door = d.of(header)
				}
				if !k.catchUp(ctx) {
					return
				}
			}
			wait = keepEvery
			if rec.Seq() >= k.fold.Seq()+checkpoint.Interval {
				wait = keepShare * time.Since(began)
			}
		}
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(keepEvery): // a disk that does not answer holds it, and nobody else
		}
	}
}

type keeper struct {
	cache
	fold  *checkpoint.Fold
	short func() bool // of memory
}

// keepLook is after how many events it is looked whether memory is short.
const keepLook = 256

// memoryShort reports whether half of what the process may hold is alive. What stands
// open in a session is held for its checkpoints, and a peer may leave as much open as it
// likes: a recorder has better use for its memory.
func memoryShort() bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64() > uint64(debug.SetMemoryLimit(-1))/2
}

// pause waits; false when it is over.
func (k *keeper) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// catchUp folds what has come since; false when that cannot be read, or not now, or
// memory is short.
func (k *keeper) catchUp(ctx context.Context) bool {
	had, began := len(k.fold.Image().Points()), time.Now()
	for e, err := range k.door.events(k.db.Read(ctx, k.id, k.fold.Seq()+1, store.ReadOptions{})) {
		if err != nil || k.fold.Apply(e) != nil || e.Seq%keepLook == 0 && k.short() {
			return false
		}
		if e.Seq%checkpoint.Interval == 0 && time.Since(began) > keepAtOnce {
			break
		}
	}
	if len(k.fold.Image().Points()) > had {
		k.save(ctx, k.fold.Image())
	}
	return true
}
