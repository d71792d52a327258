package recorder

import (
	"sync/atomic"
	"time"
)

// restAfter is how many looks without a write send the watch to sleep.
const restAfter = 20

// watch looks now and then, while something is written, whether one write has been
// under way for all the time between two looks: it is overdue then.
type watch struct {
	asleep atomic.Bool
	began  bool
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// look wakes the watch. It is on the path of every frame.
func (w *watch) look(b *backlog) {
	if !w.asleep.Load() || !w.asleep.CompareAndSwap(true, false) {
		return
	}
	if !w.began {
		w.began = true
		go w.run(b)
		return
	}
	w.wake <- struct{}{}
}

func (w *watch) run(b *backlog) {
	defer close(w.done)
	for {
		if !w.stay(b) {
			return
		}
		w.asleep.Store(true)
		if b.busy.Load()%2 == 1 && w.asleep.CompareAndSwap(true, false) {
			continue // it began before it could see that
		}
		select {
		case <-w.wake:
		case <-w.stop:
			return
		}
	}
}

// stay looks until nothing has been written for a while.
func (w *watch) stay(b *backlog) bool {
	tick := time.NewTicker(b.bound / 2)
	defer tick.Stop()
	for seen, rest := b.busy.Load(), 0; rest < restAfter; {
		select {
		case <-tick.C:
		case <-w.stop:
			return false
		}
		now := b.busy.Load()
		switch {
		case now != seen:
			rest = 0
		case now%2 == 1:
			b.overtake(now)
		default:
			rest++
		}
		seen = now
	}
	return true
}
