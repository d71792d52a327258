package explore

import (
	"sync/atomic"
	"time"
)

// grace is how long settled runs of a search stand still before that is a
// standstill for good. A timer that waits in a select is in no stack, so the first
// standstill of the search is given the plan's whole patience. After that it is
// known how long timers take here, and the hundreds of runs that shrink and confirm
// a failure need not wait for what did not come then.
type grace struct {
	given   atomic.Bool  // the whole patience, and nothing came
	longest atomic.Int64 // time after which something came
}

// left is what a standstill is given.
func (g *grace) left(patience time.Duration) time.Duration {
	if !g.given.Load() {
		return patience
	}
	return min(patience, 4*time.Duration(g.longest.Load()))
}

// came notes that something came after a standstill of some time.
func (g *grace) came(after time.Duration) {
	for {
		longest := g.longest.Load()
		if int64(after) <= longest || g.longest.CompareAndSwap(longest, int64(after)) {
			return
		}
	}
}
