package explore

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// judgeFreeze judges a run that was given up, on the goroutine of the watcher. The run no
// longer moves.
func (r *Run) judgeFreeze(t *testing.T, f *freeze) {
	o := &r.outcome
	if o.verdict == Pass && r.deletion != nil && slices.ContainsFunc(f.all(), func(g stacks.Goroutine) bool { return r.deletion.StandsIn(g.Text) }) {
		o.keeps = true // the run itself has come to its end
		return
	}
	o.stuck = true
	o.froze = true
	o.busy = len(f.busy) > 0
	if o.busy { // real time would show no more: it computes there, too
		why := fmt.Sprintf("%s is still computing, %v after the run last moved", f.busy[0].Where(), r.terms.plan.stamina)
		if o.verdict != Pass {
			o.note("it could not be brought to its end: " + why)
			return
		}
		o.verdict = Undecided
		o.why = why
		if o.within != "" {
			o.why += ", in " + o.within
		}
		r.describeFreeze(f)
		return
	}
	if r.terms.repeats {
		o.frozen = f
		return
	}
	if o.verdict != Pass {
		o.note("its bubble could not be emptied: " + f.why())
		return
	}
	if timers := &r.clock.timers; timers.passing && o.within == "" && f.lockedAlone() {
		timers.stoppedAt = f.locks[0].Where()
		o.held = f.why()
		o.verdict, o.why, o.retry = Undecided, o.held+", since a timer fired while messages waited", true
		return
	}
	if !r.terms.watches && o.within == "" && f.lockedAlone() {
		o.verdict, o.why, o.retry = Undecided, f.why(), true
		return
	}
	proof, doubt := r.proveLock(t, f)
	if proof == nil {
		o.held = f.why()
		o.verdict, o.why = Undecided, o.held+". "+doubt
		if o.within == "" {
			o.why += " " + r.elsewhere()
		}
		o.retry = o.within == "" && f.lockedAlone() && doubt != sharedLock
		r.describeFreeze(f)
		return
	}
	p := &proof.outcome
	p.verdict, p.category, p.why = Hang, Lock, f.why()+", and nobody is left who could unlock it"
	p.stuck = true
	p.froze = true
	r.clock.still = len(r.course.steps)
	proof.clock.still = len(proof.course.steps)
	proof.describeFreeze(p.frozen)
	p.frozen = nil
	p.notes = o.notes
	*o = *p
}

// describeFreeze fills in the report of a frozen run.
func (r *Run) describeFreeze(freeze *freeze) {
	p, o := &r.peers, &r.outcome
	p.gate.Admit()
	o.waits = nil
	for _, g := range freeze.locks {
		w := hang.Wait{Who: p.owner(g), WaitsFor: "a mutex", BlockedAt: "[" + g.State + "] " + g.Where()}
		w.Why = heldBy(freeze.holders(g), p.owner)
		o.waits = append(o.waits, w)
	}
	r.diagnose()
	if enabled := r.enabled(nil); len(enabled) > 0 && !strings.Contains(o.why, enabled[0].Name()) {
		o.note("when the run was given up there was something to do: " + stepNames(enabled))
	}
	r.describe()
	o.stacks = freeze.stacks()
}

// profiled is held while the runtime counts every allocation.
var profiled sync.Mutex

// sharedLock is the doubt about a mutex that a package or others may share.
const sharedLock = "The stacks do not tell whether the mutex is the run's own or shared with others."

// proveLock looks for a proof that a freeze is for ever. The freeze alone is no proof: the
// time of the bubble stands still, and a timer might end the freeze. Stacks do not show
// timers, therefore the schedule is run again and its timers are counted. The proof holds if
//
//   - no step is enabled, and no goroutine sleeps
//   - every goroutine waits for a mutex, or for the goroutines and timers of the bubble
//   - the mutexes are the run's own: in the second run they have other addresses
//   - no goroutine outside the bubble could hold a mutex
//   - no timer was made
//
// The result is the second run, or the doubt that is left.
func (r *Run) proveLock(t *testing.T, freeze *freeze) (again *Run, doubt string) {
	if doubt := r.lockDoubt(freeze); doubt != "" {
		return nil, doubt
	}
	profiled.Lock()
	defer profiled.Unlock()
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	before := timersMade()
	again = newRun(terms{plan: r.terms.plan, watches: r.terms.watches, level: r.terms.level, parser: r.terms.parser,
		capacity: r.terms.capacity, limit: r.terms.limit, repeats: true}, 0)
	again.course.follower = &schedule.Follower{Token: r.asToken()}
	again.course.trail.Touching = r.course.trail.Touching
	again.play(t)
	frozen := again.outcome.frozen
	if frozen == nil {
		return nil, "The same order did not stand still again."
	}
	if doubt := again.lockDoubt(frozen); doubt != "" {
		return nil, doubt
	}
	if timersMade() > before {
		return nil, "A timer was made in this run, and may end that."
	}
	for _, g := range frozen.locks { // the goroutines of the first run are still there
		address := g.Lock()
		if address == "" || slices.ContainsFunc(freeze.locks, func(h stacks.Goroutine) bool { return h.Lock() == address }) {
			return nil, sharedLock
		}
	}
	return again, ""
}

// elsewhere names the engine and the token that may tell whether a freeze ends.
func (r *Run) elsewhere() string {
	token := r.asToken()
	token.Engine = schedule.Settle
	return "Real time may tell: set Engine to Settle, or run the token " + token.String()
}

// lockDoubt returns a reason, seen in this run, why the freeze may end; or "".
func (r *Run) lockDoubt(freeze *freeze) string {
	switch {
	case r.outcome.within != "":
		return "This is in " + r.outcome.within + ", which must not wait"
	case len(freeze.foreign)+len(freeze.io)+len(freeze.calls) > 0:
		return "What is outside the bubble may end that, or not."
	case len(freeze.outsiders) > 0:
		return freeze.outsiders[0].Where() + " is outside the bubble, and may hold the mutex."
	case len(freeze.sleepers) > 0:
		return "A mutex freezes the time of the bubble, so a sleeper stays asleep here."
	case len(r.course.steps) == 0:
		return "No step was released yet."
	case r.peers.finished():
		return "All operations have returned."
	}
	if enabled := r.enabled(nil); len(enabled) > 0 {
		return fmt.Sprintf("There would be something to do (%s), but a bubble does not come to rest while a mutex is waited for.",
			enabled[0].Name())
	}
	return ""
}

// timersMade counts the timers ever made in the process. Every allocation must be profiled.
func timersMade() int64 {
	runtime.GC() // the profile is that of the collection before the last
	runtime.GC()
	n, _ := runtime.MemProfile(nil, true)
	records := make([]runtime.MemProfileRecord, n+100)
	n, ok := runtime.MemProfile(records, true)
	if !ok {
		return timersMade()
	}
	var made int64
	for _, record := range records[:n] {
		if makesTimer(record.Stack()) {
			made += record.AllocObjects
		}
	}
	return made
}

// makesTimer reports whether a stack makes a timer, and not for an engine.
func makesTimer(stack []uintptr) bool {
	makes := false
	for frames := runtime.CallersFrames(stack); ; {
		frame, more := frames.Next()
		_, method, _ := strings.Cut(frame.Function, "/replay/explore.(*bubble).")
		if method == "passTime" || method == "passUntil" || method == "await" {
			return false
		}
		makes = makes || strings.HasPrefix(frame.Function, "time.New") || frame.Function == "time.AfterFunc"
		if !more {
			return makes
		}
	}
}

// holders guesses which goroutines may hold the mutex that waiter waits for; nil if the stacks
// do not tell. If the mutex is a field of the value whose method calls Lock, they are in methods
// of that value. Else they are in the function that calls Lock, or the one that is left. A
// goroutine that most likely holds no mutex is named only where no other is.
func (f *freeze) holders(waiter stacks.Goroutine) stacks.Dump {
	var able, near, left stacks.Dump
	for _, g := range f.all() {
		if canHold(g, waiter) {
			able = append(able, g)
		}
	}
	value, field := lockedValue(waiter)
	caller := waiter.Function()
	for _, g := range able {
		in := caller != "" && strings.Contains(g.Text, "\n"+caller+"(")
		of := g.Receivers()
		other := false
		if field {
			in = slices.Contains(of, value)
			other = slices.ContainsFunc(of, func(r stacks.Receiver) bool { return r.Type == value.Type && r.Address != "" })
		}
		switch {
		case in:
			near = append(near, g)
		case !other && !waitsUnlocked(g):
			left = append(left, g)
		}
	}
	if busy := slices.DeleteFunc(slices.Clone(near), waitsUnlocked); len(busy) > 0 {
		return busy
	}
	if len(near) > 0 || len(left) != 1 {
		return near
	}
	return left
}

// canHold reports whether a goroutine may hold the mutex that blocks waiter. A goroutine of a
// recorded end may not, nor may one that is blocked by the same mutex.
func canHold(goroutine, waiter stacks.Goroutine) bool {
	if goroutine.Recorded() {
		return false
	}
	at, wanted := goroutine.Lock(), waiter.Lock()
	return goroutine.Wait() != stacks.WaitLock || at != "" && wanted != "" && at != wanted
}

// waitsUnlocked reports whether a goroutine most likely holds no mutex: it is at a Read, or at a
// Cond, whose Wait unlocks.
func waitsUnlocked(goroutine stacks.Goroutine) bool {
	return goroutine.Reading() || goroutine.State == "sync.Cond.Wait"
}

// lockedValue returns the receiver of the method that calls Lock, if the mutex is one of its
// fields, by the addresses.
func lockedValue(waiter stacks.Goroutine) (value stacks.Receiver, ok bool) {
	const largest = 1 << 12 // bytes of the value up to the mutex, at most
	value, ok = waiter.Receiver()
	if !ok {
		return value, false
	}
	begin, err := strconv.ParseUint(value.Address, 0, 64)
	if err != nil {
		return value, false
	}
	mutex, err := strconv.ParseUint(waiter.Lock(), 0, 64)
	return value, err == nil && begin <= mutex && mutex-begin < largest
}

// heldBy says who may hold a mutex: those at a Write come first. owner names a goroutine.
func heldBy(holders stacks.Dump, owner func(stacks.Goroutine) string) string {
	const shown = 3
	var writers, others []string
	for _, g := range holders {
		text := owner(g) + " at " + g.Where()
		if g.Writing() {
			writers = append(writers, text)
		} else {
			others = append(others, text)
		}
	}
	slices.Sort(writers)
	slices.Sort(others)
	list := slices.Compact(append(writers, others...))
	switch {
	case len(holders) == 0:
		return "its holder is not seen in the stacks"
	case len(holders) == 1:
		g := holders[0]
		return "held, it seems, by " + owner(g) + ", which is blocked at [" + g.State + "] " + g.Where()
	case len(list) > shown:
		list = append(list[:shown], fmt.Sprintf("%d more", len(list)-shown))
	}
	return "held, it seems, by one of: " + strings.Join(list, ", ")
}

// freeze is the goroutines of a run at one moment, by the kind of wait.
type freeze struct {
	locks         stacks.Dump // at a mutex
	foreign       stacks.Dump // at a channel or the like that is not of the bubble
	io            stacks.Dump
	calls         stacks.Dump // in a system call
	sleepers      stacks.Dump // in a frozen bubble for ever: its time stands still
	others        stacks.Dump // at a wait that a bubble sees
	busy          stacks.Dump // at no wait: the others do not matter then
	engine        bool        // the engine's own goroutine runs
	outsiderMoves bool        // a goroutine outside the bubble works, sleeps or waits for I/O, and may hold a mutex
	outsiders     stacks.Dump // the goroutines outside every bubble, which may hold a mutex too
}

// firstLook is how long a run may go without a move before the first look at the stacks, and
// the first pause between looks. No verdict depends on it.
const firstLook = 10 * time.Millisecond

// leftBehind holds the numbers of the goroutines that settled runs of this process left
// behind, with mutexes of those runs.
var leftBehind sync.Map

// outsider reports whether a goroutine may be of anybody, and may hold a mutex of a run.
func outsider(goroutine stacks.Goroutine) bool {
	_, left := leftBehind.Load(goroutine.ID)
	return !left && goroutine.Outsider()
}

// freezeOf sorts the goroutines of a bubble. The caller comes first in the dump, and is
// outside.
func freezeOf(all stacks.Dump, bubble string) *freeze {
	f := &freeze{}
	for i, g := range all {
		switch {
		case g.Bubble != bubble:
			f.outsiderMoves = f.outsiderMoves || i > 0 && g.Wait() != stacks.WaitOther && g.Wait() != stacks.WaitLock
			if i > 0 && outsider(g) {
				f.outsiders = append(f.outsiders, g)
			}
		case g.Engine():
			f.engine = f.engine || g.Wait() == stacks.WaitNone
		default:
			f.add(g)
		}
	}
	return f
}

// frozen reports whether every goroutine waits, and some wait is hidden from the bubble.
func (f *freeze) frozen() bool {
	return !f.engine && len(f.busy) == 0 && len(f.locks)+len(f.foreign)+len(f.io)+len(f.calls) > 0
}

// add sorts a goroutine in by its wait.
func (f *freeze) add(goroutine stacks.Goroutine) {
	list := &f.others
	switch goroutine.Wait() {
	case stacks.WaitNone:
		list = &f.busy
	case stacks.WaitLock:
		list = &f.locks
	case stacks.WaitIO:
		list = &f.io
	case stacks.WaitCall, stacks.WaitSyscall: // a call that works looks otherwise the next time
		list = &f.calls
	case stacks.WaitSleep:
		list = &f.sleepers
	default:
		if goroutine.Bubble != "" && !goroutine.Durable {
			list = &f.foreign
		}
	}
	*list = append(*list, goroutine)
}

// passing reports whether real time alone may end it.
func (f *freeze) passing() bool { return len(f.sleepers)+len(f.io)+len(f.calls) > 0 }

// same reports whether nothing has changed in another freeze.
func (f *freeze) same(other *freeze) bool {
	return len(f.foreign) == len(other.foreign) && slices.EqualFunc(f.all(), other.all(), stacks.Goroutine.Same)
}

// patience is how long the freeze must last before the run is given up. It is short where
// waiting cannot help. A run that mutexes alone hold up is first made again, watched. In a
// watched run, if nobody outside could unlock a mutex, the bubble's time stands still for good.
func (f *freeze) patience(terms *terms) time.Duration {
	if !f.lockedAlone() || terms.watches && (len(f.outsiders) > 0 || f.outsiderMoves) {
		return terms.plan.Patience
	}
	return min(terms.plan.Patience, 10*firstLook)
}

// lockedAlone reports whether only mutexes hold the bubble up.
func (f *freeze) lockedAlone() bool { return len(f.foreign)+len(f.io)+len(f.calls) == 0 }

// all returns every goroutine of the freeze.
func (f *freeze) all() stacks.Dump {
	return slices.Concat(f.busy, f.locks, f.foreign, f.io, f.calls, f.sleepers, f.others)
}

// stacks returns the trimmed stacks of a freeze.
func (f *freeze) stacks() []string { return f.all().Trim() }

// why says which goroutines hold the bubble up, and by which wait.
func (f *freeze) why() string {
	var parts []string
	add := func(list stacks.Dump, what string) {
		if len(list) > 0 {
			parts = append(parts, list[0].Where()+" "+what)
		}
	}
	add(f.busy, "computes")
	add(f.locks, "waits for a mutex")
	add(f.foreign, "waits for something that is not of the bubble")
	add(f.io, "waits for I/O")
	add(f.calls, "waits in a system call")
	add(f.sleepers, "sleeps")
	return strings.Join(parts, "; ")
}
