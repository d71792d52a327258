package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

const (
	foldAt    = 8 << 20               // unfolded bytes that are due at once
	foldAfter = 30 * time.Second      // when a chunk's worth is due; and how long a due fold waits for quiet
	quietTime = 50 * time.Millisecond // without a write: a fold's compression is in nobody's way
)

// keeper tells the disk of what was written to a spool, and folds it. It runs
// beside the writer, asleep while nothing is written.
type keeper struct {
	stop chan struct{}
	done chan struct{}

	synced int64      // up to here the file is durable
	mu     sync.Mutex // of what follows
	failed error      // the first sync that failed
	from   uint64     // the first event that it may have lost
	report func(from uint64, cause error)

	folded  int64        // offset up to which the database has the spool
	tried   int64        // size at a fold that stopped for want of more; only growth makes it worth another
	folds   atomic.Int32 // how many were begun
	waiting time.Time    // since when a chunk's worth waits for a fold; zero: none does
	due     time.Time    // since when the fold is due; zero: it is not
	seen    int64        // the size at the last look
	changed time.Time    // when it was last seen to change
	folding chan folding
	busy    bool // a fold runs
}

// folding is what became of a fold.
type folding struct {
	folded, tried int64
}

// sync makes the file durable. Once that has failed every later call fails too: the
// kernel says once that it could not write something, and may then forget it.
func (p *spool) sync() error {
	k, upto := &p.keep, p.size.Load()
	err := p.f.Sync()
	if k.failed == nil && err == nil {
		k.synced = upto
	}
	if k.failed != nil || err == nil {
		return k.failed
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err // the log knows its own place
	}
	from := p.eventBehind(k.synced)
	k.mu.Lock()
	k.failed, k.from = fmt.Errorf("%w: %w", store.ErrNotKept, err), from
	f := k.report
	k.mu.Unlock()
	if f != nil {
		f(from, k.failed)
	}
	return k.failed
}

// eventBehind returns the first event that is not whole in the first bytes of the spool, as
// its readers number events, or one before it.
func (p *spool) eventBehind(off int64) uint64 {
	f, err := p.s.openSpool(p.id, p.key)
	if err != nil {
		return 1
	}
	defer func() { _ = f.Close() }()
	r := newSpoolReader(f, spoolStart)
	r.reuse = true
	for {
		e, ok, err := r.read()
		switch {
		case !ok || err != nil:
			return r.next
		case r.off > off:
			return e.Seq
		}
	}
}

// OnDoubt has f told of the first sync that fails, or has failed.
func (p *spool) OnDoubt(f func(from uint64, cause error)) {
	p.keep.mu.Lock()
	p.keep.report = f
	failed, from := p.keep.failed, p.keep.from
	p.keep.mu.Unlock()
	if failed != nil {
		f(from, failed)
	}
}

func (p *spool) startKeeper() {
	k := &p.keep
	k.stop, k.done, k.folding = make(chan struct{}), make(chan struct{}), make(chan folding, 1)
	k.folded = spoolHead
	p.dirty.Store(true)
	p.wake <- struct{}{}
	go func() {
		defer close(p.keep.done)
		_ = p.syncNames() // Close tries again and reports
		p.runKeeper()
	}()
}

// stopKeeper ends the goroutine and waits for it, and for its fold.
func (p *spool) stopKeeper() {
	close(p.keep.stop)
	<-p.keep.done
}

// runKeeper sleeps until something is written, then looks every interval for as
// long as something waits for the disk or for a fold that is due.
func (p *spool) runKeeper() {
	k := &p.keep
	interval := p.s.opts.Sync
	if interval <= 0 {
		interval = quietTime
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for active := false; ; {
		wake := p.wake
		switch {
		case active:
			wake = nil
			timer.Reset(interval)
		case !k.waiting.IsZero():
			timer.Reset(time.Until(k.waiting.Add(foldAfter)))
		default:
			timer.Stop()
		}
		select {
		case <-wake:
			active = true
			continue
		case done := <-k.folding:
			k.took(done)
		case <-timer.C:
		case <-k.stop:
			cancel()
			k.await()
			return
		}
		wrote := p.dirty.Swap(false)
		if p.s.opts.Sync > 0 && wrote {
			_ = p.sync() // told by OnDoubt, and by Close
		}
		due := k.look(p.size.Load(), time.Now())
		if due && !k.busy {
			k.busy = true
			k.folds.Add(1)
			go p.foldBeside(ctx, k.folded)
		}
		active = wrote || !k.due.IsZero() && !k.busy
	}
}

// took takes note of what became of a fold.
func (k *keeper) took(done folding) { k.folded, k.tried, k.busy = done.folded, done.tried, false }

// await waits for the end of a fold.
func (k *keeper) await() {
	if k.busy {
		k.took(<-k.folding)
	}
}

// look takes note of the spool's size and reports whether to fold now.
func (k *keeper) look(size int64, now time.Time) bool {
	if size != k.seen {
		k.seen, k.changed = size, now
	}
	unfolded := size - max(k.folded, k.tried)
	if size-k.folded < chunkTarget || unfolded == 0 {
		// It is as safe where it is, and small chunks compress badly.
		k.waiting, k.due = time.Time{}, time.Time{}
		return false
	}
	if k.waiting.IsZero() {
		k.waiting = now
	}
	if k.due.IsZero() && (unfolded >= foldAt || now.Sub(k.waiting) >= foldAfter) {
		k.due = now
	}
	if k.due.IsZero() {
		return false
	}
	if now.Sub(k.changed) < quietTime && now.Sub(k.due) < foldAfter {
		return false
	}
	k.waiting, k.due = time.Time{}, time.Time{}
	return true
}

// foldBeside folds one transaction's worth. A failure leaves everything in the
// spool, for the next time.
func (p *spool) foldBeside(ctx context.Context, before int64) {
	done := folding{folded: before, tried: p.size.Load()}
	if step, err := p.s.fold(ctx, p.id, p.key, pace{}); err == nil {
		done.folded = step.to.Off
		if step.full {
			done.tried = 0
		}
	}
	p.keep.folding <- done
}
