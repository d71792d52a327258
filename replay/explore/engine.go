package explore

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport/phrase"
)

// engine keeps a run still between steps, and gives the verdict when no step is left. The
// goroutine of the run calls every method except await.
type engine interface {
	// waitUntilStill returns when only a step or time can move the run.
	waitUntilStill()
	// passTime lets time pass until a frame or a call arrives at the gate. It reports false if none
	// arrived in the longest time from since on, or, where time is real, in the plan's patience.
	passTime(since time.Time, longest time.Duration) bool
	// state returns the state of the run when it last was at rest.
	state() standing
	// verdict names a run in which no step is enabled and none became so while some time passed,
	// with the doubt that is left, or "".
	verdict(passed string) (word, doubt string)
	// stacks returns the trimmed stacks of the run's goroutines.
	stacks() []string
	// own returns the goroutines of the run in a dump.
	own(all stacks.Dump) stacks.Dump
	// host calls do in a place where the engine sees every goroutine. It returns when do has ended
	// or the run was given up, with the goroutines that are left, or nil.
	host(t *testing.T, do func()) *remains
	// call calls Setup or Check. It reports false when the call will not return.
	call(do func()) bool
	// reap ends the goroutines that a shut gate and a cancelled context leave, and returns those
	// that do not end, or nil. goesOn reports whether a session goes on, whose goroutines may use timers
	// for ever; nil: there is none.
	reap(goesOn func() bool) *remains
	// await waits, from outside, for host to end. It returns a freeze when the engine had
	// to give the run up.
	await(ended <-chan any) (thrown any, freeze *freeze)
}

// standing is the state of a run at rest.
type standing struct {
	atMutex bool   // a goroutine waits for a mutex
	locked  string // where one first did
	raced   bool   // the race detector has reported a race
}

// remains are the goroutines that are left of a run.
type remains struct {
	stacks func() []string // trimmed; it takes time
	doubt  string          // why they may still end, or ""
}

// newEngine returns the engine that the terms of a run name.
func newEngine(terms *terms, peers *peers, crash *crashToken) engine {
	if terms.inRealTime() {
		return &settled{plan: terms.plan, peers: peers, crash: crash, known: map[int]bool{}, doubt: map[int]bool{}, still: &freeze{}}
	}
	return &bubble{terms: terms, peers: peers, crash: crash}
}

// bubble is the engine that proves: a testing/synctest bubble, with virtual time.
type bubble struct {
	terms *terms
	peers *peers
	crash *crashToken
	standing

	name string // of the bubble in stacks
	test *testing.T
	met  map[int]bool // numbers of the goroutines that looks have seen in the bubble

	timePasses atomic.Bool   // virtual time passes
	weary      atomic.Bool   // it took as much real time as a peer may compute: see await
	looks      atomic.Uint64 // of the watcher in await
}

// firstYields is how often a bubble yields before the first look at the stacks, and mostYields
// before a later look: each look stops the world.
const (
	firstYields = 20
	mostYields  = 1 << 14
	mostAstray  = 50 // looks for a goroutine that may be of the bubble
)

// host checks for leaks by the panic of synctest. A hang makes no panic: the engine sees
// that no step is enabled and shuts the run down. Goroutines that do not end then leave the
// bubble to synctest, which panics. The check is free, and counts only this bubble.
func (b *bubble) host(t *testing.T, do func()) (left *remains) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		b.peers.moves.Tick() // a run that was given up may end like this, too: its report is made
		left = &remains{stacks: func() []string { return stacks.Take().Bubble(b.name).Trim() }}
	}()
	synctest.Test(t, func(inner *testing.T) {
		deepen(0)
		b.name, b.test = stacks.Self().Bubble, inner
		b.crash.label() // no sooner: a look at the stack prints it, which takes time
		do()
	})
	return nil
}

// deepen grows the stack of the run's goroutine once, while there is little on it to copy. A run
// would grow it step by step.
//
//go:noinline
func deepen(i int) byte {
	var room [8 << 10]byte
	return room[i]
}

// waitUntilStill returns when every goroutine of the bubble waits. synctest.Wait is the fast way, but
// does not return while a goroutine waits for a mutex, as behind a Write that another goroutine
// makes with the mutex held. A run that watches reads the stacks instead.
func (b *bubble) waitUntilStill() {
	b.peers.moves.Tick() // a watcher that gives the run up reads what this goroutine has written
	if b.terms.watches {
		b.atMutex = b.look()
		b.peers.moves.Tick()
	}
	if !b.atMutex {
		synctest.Wait()
	}
	// Nothing but a data race fails the bubble's own test: testing asks the race detector.
	b.raced = b.raced || b.test.Failed()
	b.peers.moves.Tick()
}

func (b *bubble) state() standing { return b.standing }

// look reads the stacks until they show that every goroutine of the bubble waits, and reports
// true if only mutexes and durable waits are among them. The stacks are taken while the world
// is stopped: if no goroutine of the bubble runs, none will before the engine does. It reports
// false for a wait that ends from outside, or if nobody waits for a mutex: synctest.Wait then
// tells when the bubble is at rest.
func (b *bubble) look() (atMutex bool) {
	astray := 0
	for yields := firstYields; ; yields = min(2*yields, mostYields) {
		for range yields {
			runtime.Gosched()
		}
		all := stacks.Take()
		f := freezeOf(all, b.name)
		switch {
		case len(f.busy) > 0:
		case astray < mostAstray && b.astray(all):
			astray++
		case len(f.foreign)+len(f.io)+len(f.calls) > 0, len(f.locks) == 0:
			return false
		default:
			if b.locked == "" {
				b.locked = f.locks[0].Where()
			}
			return true
		}
	}
}

// astray reports whether a running goroutine may be of the bubble although the stacks do not say
// so: the runtime takes a goroutine out of its bubble while it assists the garbage collector.
// The caller comes first in the dump.
func (b *bubble) astray(all stacks.Dump) bool {
	if b.met == nil {
		b.met = map[int]bool{}
	}
	for _, g := range all {
		if g.Bubble == b.name {
			b.met[g.ID] = true
		}
	}
	for _, g := range all[1:] {
		if g.Bubble != "" || g.Wait() != stacks.WaitNone {
			continue
		}
		parent := all.Find(g.Parent)
		if b.met[g.ID] || b.met[g.Parent] || parent.Text == "" || parent.Wait() == stacks.WaitNone {
			return true
		}
	}
	return false
}

func (b *bubble) passTime(since time.Time, longest time.Duration) bool {
	gate := b.peers.gate
	gate.Lock() // goroutines woken by timers must come after the engine's reads
	//lint:ignore SA2001 the lock only puts them in this order
	gate.Unlock()
	select { // arrivals before are in no step: they wait for others
	case <-gate.Poked():
	default:
	}
	if b.terms.watches { // time passes only while nobody waits for a mutex: see await
		synctest.Wait()
		b.peers.moves.Tick()
	}
	came := b.passUntil(since.Add(longest), gate.Poked())
	b.waitUntilStill()
	select { // the last timers may have fired in the same instant
	case <-gate.Poked():
		came = true
	default:
	}
	return came
}

// passUntil lets virtual time pass until comes receives, and reports whether it did. Timers of
// the peers that fire again and again, for a retry or a poll outside of the gate, make a day
// of virtual time last for hours. So time passes in steps, and the watcher in await may stop it
// after each step. The first steps grow quickly: each is 15 times as long as all before. Once the
// watcher has looked, time passes slowly, and a step is a quarter of all before. Every run ends
// with a day of virtual time, so the steps must be few.
func (b *bubble) passUntil(until time.Time, comes <-chan struct{}) (came bool) {
	b.timePasses.Store(true)
	defer b.timePasses.Store(false)
	looks := b.looks.Load()
	passed := time.Microsecond
	timer := time.NewTimer(min(passed, time.Until(until)))
	defer timer.Stop()
	for {
		select {
		case <-comes:
			return true
		case <-timer.C:
		}
		if b.weary.Load() || !time.Now().Before(until) {
			return false
		}
		step := 15 * passed
		if b.looks.Load() != looks {
			step = passed / 4
		}
		timer.Reset(min(step, time.Until(until)))
		passed += step
	}
}

func (b *bubble) verdict(passed string) (word, doubt string) {
	if b.weary.Load() {
		return Undecided, fmt.Sprintf("timers of the sides fire again and again, and use the gate for nothing: "+
			"after %s a timer might still change what is here. With a Horizon below that the run is judged, "+
			"and a longer Patience gives it more time", passed)
	}
	return Hang, ""
}

// call ends with the bubble, or is frozen in the bubble, if do does not return.
func (b *bubble) call(do func()) bool {
	do()
	return true
}

func (b *bubble) stacks() []string { return stacks.Take()[1:].Bubble(b.name).Trim() }

// own finds the bubble by the caller, who comes first in the dump.
func (b *bubble) own(all stacks.Dump) stacks.Dump { return all.Bubble(all[0].Bubble) }

// longestDeletion is the virtual time that a server may take to end a session.
const longestDeletion = time.Minute

// reap gives sleepers virtual time, which stops when the first goroutine of the bubble
// returns.
func (b *bubble) reap(goesOn func() bool) *remains {
	b.weary.Store(false)
	if goesOn != nil {
		b.passUntil(time.Now().Add(longestDeletion), nil)
		b.waitUntilStill()
		if goesOn() {
			return nil
		}
	}
	b.passUntil(time.Now().Add(b.terms.plan.Horizon), nil)
	b.waitUntilStill()
	return nil
}

// await gives the run up when the bubble cannot go on: synctest.Wait never returns while a
// goroutine waits for a mutex, for a channel from outside, or for I/O. The stacks show a
// freeze, in which every goroutine waits. The age of the freeze matters only because a
// goroutine outside the bubble may be about to end the freeze.
func (b *bubble) await(ended <-chan any) (thrown any, f *freeze) {
	moves, stamina := &b.peers.moves, b.terms.plan.stamina
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	var seen uint64
	var last *freeze
	var since time.Time
	moved, longest := startStopwatch(), stamina
	for pause := firstLook; ; timer.Reset(pause) {
		select {
		case thrown = <-ended:
			return thrown, nil
		case <-timer.C:
		}
		b.looks.Add(1)
		n := moves.Count()
		if n == 0 || n != seen {
			seen = n
			last = nil
			pause = firstLook
			moved, longest = startStopwatch(), stamina
			continue
		}
		pause = min(2*pause, time.Second) // a peer computes: every look stops the world
		f := freezeOf(stacks.Take(), b.name)
		switch {
		case !f.frozen():
			last = nil
			elapsed := moved.elapsed()
			if elapsed < longest {
				continue
			}
			if b.timePasses.Load() && !b.weary.Swap(true) { // the step of time may take as long again: see passUntil
				moved, longest = startStopwatch(), 2*elapsed
				continue
			}
			if len(f.busy) > 0 && moves.Abandon(n) {
				return nil, f
			}
		case last == nil || !last.same(f):
			last = f
			since = time.Now()
			pause = firstLook
		case time.Since(since) >= f.patience(b.terms) && moves.Abandon(n):
			return nil, f
		default:
			pause = min(pause, f.patience(b.terms))
		}
	}
}

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
