package explore

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport/phrase"
)

// fallback is how a search goes on after a mutex of the peers has frozen a bubble: synctest does
// not see the wait for a mutex as a wait, so the run is given up where it stands.
//
// First the stacks tell when a bubble is at rest: steps, virtual time and proofs stay as they are. A
// look at them takes time, so the watch ends after many runs in which no goroutine waited for a
// mutex, and the next freeze begins it again, a few times. If, with no step left, a goroutine
// waits for a mutex, the stacks are not enough: virtual time cannot pass, and a timer might end the
// wait. If that is no proved hang, the run and the later runs at its capacity are made in real time.
//
// Which engine makes a run depends on its number and on the runs before, not on the workers.
// Several workers use the methods at once.
type fallback struct {
	watches atomic.Bool // the stacks tell when a bubble is at rest

	mu      sync.Mutex
	began   int // how often watches was set
	without int // runs in a row with watches, and without a goroutine at a mutex

	from map[schedule.Capacity]int // the number of the first run in real time
	why  map[schedule.Capacity]string

	timersOff map[schedule.Capacity]int // the number of the first run without Time steps

	// Of the runs that were taken.
	locked       int    // runs at rest with a goroutine at a mutex
	at           string // where it waited, in the first of them
	realTimeRuns map[schedule.Capacity]int
	order        []schedule.Capacity // of realTimeRuns
	stopped      *terms              // of the first that stopped in a Time step, and was made without
}

// inRealTime reports whether a run is to be made in real time.
func (f *fallback) inRealTime(capacity schedule.Capacity, number int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, ok := f.from[capacity]
	return ok && number >= from
}

// planRetry reports whether a run that froze is to be made again, and plans how: first the stacks
// tell when the bubble is at rest; if the run freezes again, it is made in real time.
func (f *fallback) planRetry(terms *terms, ended *outcome) bool {
	switch {
	case !ended.retry:
		return false
	case !terms.watches:
		f.watch()
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if from, ok := f.from[terms.capacity]; ok && from <= terms.number {
		return true
	}
	if f.from == nil {
		f.from, f.why = map[schedule.Capacity]int{}, map[schedule.Capacity]string{}
	}
	f.from[terms.capacity], f.why[terms.capacity] = terms.number, ended.held
	return true
}

// enoughWithout is how many runs without a goroutine at a mutex end the watch, and mostBegun how often a
// freeze may begin it: each leaves the goroutines of its run behind, and every later look is at them, too.
const (
	enoughWithout = 50
	mostBegun     = 3
)

// watch begins to read the stacks, after a freeze.
func (f *fallback) watch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.watches.Swap(true) {
		f.began++
		f.without = 0
	}
}

// unwatch takes a watched run, at rest with a goroutine at a mutex or not, and ends the watch after
// many that did not need it. A walk goes on watching: a freeze makes it begin again.
func (f *fallback) unwatch(locked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if locked {
		f.without = 0
		return
	}
	f.without++
	if f.without == enoughWithout && f.began < mostBegun {
		f.watches.Store(false)
	}
}

// withoutTimers reports whether a run is to be made without Time steps: one stopped at a mutex
// before.
func (f *fallback) withoutTimers(capacity schedule.Capacity, number int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, ok := f.timersOff[capacity]
	return ok && number >= from
}

// turnTimersOff leaves out Time steps from this run on, at its capacity. A timer woke a goroutine
// that waits for a mutex, and the holder waits for a step: virtual time stops there.
func (f *fallback) turnTimersOff(terms *terms) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timersOff == nil {
		f.timersOff = map[schedule.Capacity]int{}
	}
	if from, ok := f.timersOff[terms.capacity]; !ok || terms.number < from {
		f.timersOff[terms.capacity] = terms.number
	}
}

// count adds a run that was taken.
func (f *fallback) count(run *Run) {
	terms, locked := &run.terms, run.outcome.locked
	if terms.watches && run.course.walk == nil {
		f.unwatch(locked != "")
	}
	if locked != "" {
		f.locked++
		if f.locked == 1 {
			f.at = locked
		}
	}
	if terms.timersStoppedAt != "" && f.stopped == nil {
		f.stopped = terms
	}
	if terms.engine != schedule.Settle || terms.plan.Engine == schedule.Settle {
		return
	}
	if f.realTimeRuns == nil {
		f.realTimeRuns = map[schedule.Capacity]int{}
	}
	if f.realTimeRuns[terms.capacity] == 0 {
		f.order = append(f.order, terms.capacity)
	}
	f.realTimeRuns[terms.capacity]++
}

// notes tell the reader of a report.
func (f *fallback) notes(report Report) (list []string) {
	if f.locked > 0 && report.Category != Lock && report.Verdict != Undecided {
		list = append(list, fmt.Sprintf("in %s a goroutine waited at %s for a mutex whose holder waited too, as in a Write: "+
			"synctest does not see such a wait, so the stacks showed when the run was at rest, which takes longer",
			phrase.Plural(f.locked, "order"), f.at))
	}
	if f.stopped != nil {
		list = append(list, fmt.Sprintf("a timer that fired while messages waited woke a goroutine that waits for a mutex at %s: that stops virtual time, "+
			"and no time passes while messages wait at %v in the later orders", f.stopped.timersStoppedAt, f.stopped.capacity))
	}
	if len(f.order) == 0 {
		return list
	}
	var where []string
	for _, capacity := range f.order {
		where = append(where, fmt.Sprintf("%s at %s", phrase.Plural(f.realTimeRuns[capacity], "order"), capacity.Short()))
	}
	return append(list, fmt.Sprintf("a mutex froze virtual time, so %s ran in real time (engine %s), where a hang is seen, not proved: %s",
		strings.Join(where, ", "), schedule.Settle, f.why[f.order[0]]))
}
