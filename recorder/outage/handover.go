package outage

import (
	"sync/atomic"
	"time"
)

// handover lets a goroutine write to the disk itself, which is cheapest, and passes its further
// work to another goroutine when the write is overdue. Both sides try to end the same number,
// and one succeeds:
//
//	the writer, with the turn            the watch
//
//	begin: n = 1, 3, 5, …
//	write(2)
//	   …                                 looks each half of the bound; sees n again:
//	end(n): n -> n+1                     n -> n+1
//	 won: goes on with the turn           won: calls overdue, which has the turn now
//	 lost: returns                        lost: the write has returned; looks on
//
// The watch sleeps while no write runs.
type handover struct {
	bound   time.Duration
	overdue func()        // called by the watch
	number  atomic.Uint64 // of the write, odd while it runs

	asleep atomic.Bool
	began  bool
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// restAfter is how many looks without a write send the watch to sleep.
const restAfter = 20

func newHandover(bound time.Duration, overdue func()) *handover {
	h := &handover{bound: bound, overdue: overdue, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	h.asleep.Store(true)
	return h
}

// begin is called before a write, with the turn.
func (h *handover) begin() (n uint64) {
	n = h.number.Add(1)
	if h.asleep.Load() && h.asleep.CompareAndSwap(true, false) {
		if h.began {
			h.wake <- struct{}{}
		} else {
			h.began = true
			go h.look()
		}
	}
	return n
}

// end is called after the write, and reports whether the turn is still the writer's.
func (h *handover) end(n uint64) bool { return h.number.CompareAndSwap(n, n+1) }

// close ends the watch, after the last write.
func (h *handover) close() {
	close(h.stop)
	if h.began {
		<-h.done
	}
}

func (h *handover) look() {
	defer close(h.done)
	for h.lookOn() {
		h.asleep.Store(true)
		if h.number.Load()%2 == 1 && h.asleep.CompareAndSwap(true, false) {
			continue // a write began before it could see the sleep
		}
		select {
		case <-h.wake:
		case <-h.stop:
			return
		}
	}
}

// lookOn looks until restAfter looks without a write, or returns false after close.
func (h *handover) lookOn() bool {
	tick := time.NewTicker(h.bound / 2)
	defer tick.Stop()
	for seen, rest := h.number.Load(), 0; rest < restAfter; {
		select {
		case <-tick.C:
		case <-h.stop:
			return false
		}
		now := h.number.Load()
		switch {
		case now != seen:
			rest = 0
		case now%2 == 0:
			rest++
		case h.end(now):
			h.overdue()
		}
		seen = now
	}
	return true
}
