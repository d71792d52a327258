package outage

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestHandover: a writer that is in time keeps the turn, and one that is not finds it
// given on, once, when it comes back.
func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, relieved := make(turn, 1), 0
		h := newHandover(Bound, func() {
			relieved++
			turn.give()
		})
		write := func(d time.Duration) (mine bool) {
			turn.take()
			n := h.begin()
			time.Sleep(d)
			if mine = h.end(n); mine {
				turn.give()
			}
			synctest.Wait() // until the watch has done what it does
			return mine
		}
		for _, c := range []struct {
			takes, rests time.Duration
			mine         bool
		}{
			{0, 0, true}, {Bound / 4, 0, true}, {2 * Bound, 0, false}, {time.Hour, 0, false}, {0, time.Minute, true},
			{Bound / 4, time.Minute, true}, {2 * Bound, time.Minute, false}, {Bound / 4, 0, true},
		} {
			before := relieved
			if mine := write(c.takes); mine != c.mine || relieved-before == 1 == c.mine {
				t.Errorf("a write of %v: the turn is kept: %v, given on %d times", c.takes, mine, relieved-before)
			}
			time.Sleep(c.rests) // the watch falls asleep
		}
		var late sync.WaitGroup
		late.Go(func() { write(time.Hour) })
		synctest.Wait()
		start := time.Now()
		turn.take()
		if held := time.Since(start); held > Bound {
			t.Errorf("a write held the others for %v", held)
		}
		turn.give()
		late.Wait()
		h.close()
	})
}

// TestHandoverOnce lets writes end at the moment they are overdue: the turn goes to one of
// the two.
func TestHandoverOnce(t *testing.T) {
	turn, held, relieved, kept := make(turn, 1), 0, 0, 0
	const writes = 300
	h := newHandover(time.Microsecond, func() {
		relieved++
		held--
		turn.give()
	})
	for range writes {
		turn.take()
		if held++; held != 1 {
			t.Fatalf("%d have the turn", held)
		}
		n := h.begin()
		for range 50 * (kept % 7) {
			h.number.Load()
		}
		if h.end(n) {
			kept++
			held--
			turn.give()
		}
	}
	turn.take()
	if relieved+kept != writes {
		t.Errorf("%d kept, %d given on", kept, relieved)
	}
	turn.give()
	h.close()
}

// turn is what the writers of a test share.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }
