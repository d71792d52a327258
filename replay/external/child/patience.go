package child

import (
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// Patience is how long a process is waited for that is not at rest for good.
type Patience struct {
	Running time.Duration // for one that runs on
	Timer   time.Duration // for a timer; a later one is not waited for
	Outside time.Duration // for something outside
	OfV8    time.Duration // in place of Running, while only V8's own timer goes on
}

var (
	// Searching is short: what looks stuck is looked at again.
	Searching = Patience{Running: 15 * time.Second, Timer: 2500 * time.Millisecond, Outside: 2500 * time.Millisecond}
	// Confirming outlasts the timers of an idle runtime.
	Confirming = Patience{Running: 30 * time.Second, Timer: 30 * time.Second, Outside: 10 * time.Second, OfV8: 75 * time.Second}
)

// V8Timer is the wait of a program on V8, such as node, that has nothing to do: V8 looks every 8 s, and the slack of
// 100 ms, whether it should collect its garbage, and when it has, half a second later whether again. It took up to 50 s.
// A timer of the program that is sooner than that shows in its place, and one that is later shows when V8 has finished.
const V8Timer = 8100 * time.Millisecond

// isOfV8 reports whether a timer looks like that of V8. Others do, too: it is only a reason to wait longer.
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

// For returns how long a process was waited for whose next timer is this one; 0: it was not.
func (p Patience) For(timer time.Duration) time.Duration {
	switch {
	case timer > p.Timer:
		return 0
	case isOfV8(timer):
		return p.OfV8
	}
	return p.Running
}
