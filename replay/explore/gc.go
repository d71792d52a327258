package explore

import (
	"runtime/debug"
	"sync"
)

// exploreGC is the percentage while schedules run: each leaves little behind, and
// collecting it at 100 % costs more than half of the time.
const exploreGC = 800

var collector struct {
	sync.Mutex
	users  int
	before int
}

// raiseGC raises the collector's percentage for the process and returns what
// takes that back. A higher one of the user's, or none at all, is left alone.
func raiseGC() (restore func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.users++; collector.users == 1 {
		if collector.before = debug.SetGCPercent(exploreGC); collector.before < 0 || collector.before > exploreGC {
			debug.SetGCPercent(collector.before)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.users--; collector.users == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}
