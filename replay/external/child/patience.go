package child

import (
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// Patience says how long to wait for a process that something may still move.
type Patience struct {
	Running time.Duration // for a running process
	Timer   time.Duration // the latest timer worth waiting for
	Outside time.Duration // for something outside, such as an address
	OfV8    time.Duration // in place of Running, while only V8's own timer is set
}

var (
	// Searching is short: a process that looks stuck is played to again.
	Searching = Patience{Running: 15 * time.Second, Timer: 2500 * time.Millisecond, Outside: 2500 * time.Millisecond}
	// Confirming outlasts the timers of an idle runtime.
	Confirming = Patience{Running: 30 * time.Second, Timer: 30 * time.Second, Outside: 10 * time.Second, OfV8: 75 * time.Second}
)

// V8Timer is the timer of an idle program on V8, such as node. Every 8 s, and 100 ms of slack, V8 looks whether to
// collect garbage, and after a collection again half a second later; seen for up to 50 s. An earlier timer of the
// program shows in its place, and a later one shows when V8 has finished.
const V8Timer = 8100 * time.Millisecond

// isOfV8 reports whether a timer looks like V8's. Others may, too: the answer is only a reason to wait longer.
func isOfV8(timer time.Duration) bool {
	return timer == V8Timer || 500*time.Millisecond < timer && timer <= 600*time.Millisecond
}

// IsWorthIt reports whether a process at rest is worth waiting for, after some time of that.
func (p Patience) IsWorthIt(look procfs.Look, waited time.Duration) bool {
	switch look.Activity {
	case procfs.Timed:
		return look.Timer <= p.Timer && waited < p.Running || isOfV8(look.Timer) && waited < p.OfV8
	case procfs.Outside:
		return waited < p.Outside
	}
	return false
}

// MayGiveUp reports whether a process that nobody reads is worth waiting for, after some time of that: it has a timer, and may drop
// what it cannot write.
func (p Patience) MayGiveUp(look procfs.Look, waited time.Duration) bool {
	return look.Activity == procfs.Full && 0 <= look.Timer && look.Timer <= p.Timer && waited < p.Running
}

// For returns how long we wait for a process with this next timer; 0: not at all.
func (p Patience) For(timer time.Duration) time.Duration {
	switch {
	case timer > p.Timer:
		return 0
	case isOfV8(timer):
		return p.OfV8
	}
	return p.Running
}
