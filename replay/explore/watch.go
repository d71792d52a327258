package explore

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// firstLook is how long a run may go without a move before its stacks are looked
// at, and how far apart looks are at first. It decides nothing.
const firstLook = 10 * time.Millisecond

// await returns a freeze when the bubble cannot go on: synctest.Wait never returns while
// a goroutine waits for a mutex, for something from outside, or for I/O. The run is given
// up then.
//
// A freeze is seen in stacks, in which everybody waits. How long it has lasted
// only keeps the watcher from giving up a run that somebody outside the bubble is
// about to wake.
func (b *bubble) await(ended <-chan any) (thrown any, f *freeze) {
	r := b.run
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	var seen uint64
	var last *freeze
	var since, moved time.Time
	for pause := firstLook; ; timer.Reset(pause) {
		select {
		case thrown = <-ended:
			return thrown, nil
		case <-timer.C:
		}
		n := r.moves.Load()
		if n == 0 || n != seen {
			seen, last, pause, moved = n, nil, firstLook, time.Now()
			continue
		}
		pause = min(2*pause, time.Second) // somebody computes: every look stops the world
		all := goroutines(snapshot())
		f := freezeOf(all, b.mark)
		switch {
		case f == nil:
			last = nil
			if time.Since(moved) < r.plan.stamina {
				continue
			}
			if b.resting.Load() && !b.weary.Swap(true) {
				moved = time.Now()
				continue
			}
			if busy := busyOf(all, b.mark); busy != nil && r.moves.CompareAndSwap(n, n|abandoned) {
				return nil, busy
			}
		case last == nil || !last.same(f):
			last, since, pause = f, time.Now(), firstLook
		case time.Since(since) >= f.patience(r.plan) && r.moves.CompareAndSwap(n, n|abandoned):
			return nil, f
		default:
			pause = min(pause, f.patience(r.plan))
		}
	}
}

// freeze is what the goroutines of a frozen bubble wait for.
type freeze struct {
	locks    []goroutine // at a mutex
	foreign  []goroutine // at a channel or the like that is not of the bubble
	io       []goroutine
	calls    []goroutine // in a system call
	sleepers []goroutine // for ever: the bubble's time stands still
	others   []goroutine // at a wait that a bubble sees
	busy     []goroutine // at no wait: what the others wait for does not matter then
	near     bool        // somebody outside works, sleeps or waits for I/O: a mutex may be theirs
	outside  []goroutine // of anybody, in no bubble: a mutex may be theirs, too
}

// freezeOf returns the freeze of the bubble with the mark: nil when somebody runs,
// or nobody waits for what a bubble cannot see.
func freezeOf(all []goroutine, mark string) *freeze {
	f := &freeze{}
	for i, g := range all {
		switch {
		case g.mark != mark:
			f.near = f.near || i > 0 && g.wait() != waitOther // the caller comes first
			if i > 0 && g.outsider() {
				f.outside = append(f.outside, g)
			}
		case g.engine() && g.wait() != waitNone:
		case !f.add(g):
			return nil
		}
	}
	if len(f.locks)+len(f.foreign)+len(f.io)+len(f.calls) == 0 {
		return nil
	}
	return f
}

// busyOf returns who computes in the bubble with the mark; nil if nobody does.
func busyOf(all []goroutine, mark string) *freeze {
	f := &freeze{}
	for _, g := range all {
		if g.mark == mark && !g.engine() && !f.add(g) {
			f.busy = append(f.busy, g)
		}
	}
	if len(f.busy) == 0 {
		return nil
	}
	return f
}

// add sorts a goroutine in by what it waits for. It reports false if it does not.
func (f *freeze) add(g goroutine) bool {
	switch wait := g.wait(); {
	case wait == waitNone:
		return false
	case wait == waitLock:
		f.locks = append(f.locks, g)
	case wait == waitIO:
		f.io = append(f.io, g)
	case wait == waitCall || wait == waitSyscall: // a call that works looks otherwise the next time
		f.calls = append(f.calls, g)
	case wait == waitSleep:
		f.sleepers = append(f.sleepers, g)
	case g.mark != "" && !g.durable:
		f.foreign = append(f.foreign, g)
	default:
		f.others = append(f.others, g)
	}
	return true
}

// passing reports whether real time alone may end it.
func (f *freeze) passing() bool { return len(f.sleepers)+len(f.io)+len(f.calls) > 0 }

// same reports whether nothing has changed in another freeze.
func (f *freeze) same(g *freeze) bool {
	return len(f.foreign) == len(g.foreign) && slices.EqualFunc(f.all(), g.all(), goroutine.same)
}

// patience is how long the freeze must have lasted before the run is given up. Where
// nothing but mutexes holds the bubble up, and nobody sleeps, a proof is looked for.
func (f *freeze) patience(p *Plan) time.Duration {
	if len(f.foreign)+len(f.outside) > 0 || f.passing() || f.near {
		return p.Patience
	}
	return min(p.Patience, 10*firstLook)
}

// all returns every goroutine of the freeze.
func (f *freeze) all() []goroutine {
	return slices.Concat(f.busy, f.locks, f.foreign, f.io, f.calls, f.sleepers, f.others)
}

// stacks returns the trimmed stacks of a freeze.
func (f *freeze) stacks() []string {
	var list []string
	for _, g := range f.all() {
		list = append(list, g.text)
	}
	return trimStacks(list)
}

// why says who holds the bubble up, and by what.
func (f *freeze) why() string {
	var parts []string
	add := func(gs []goroutine, what string) {
		if len(gs) > 0 {
			parts = append(parts, gs[0].place()+" "+what)
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

// holder guesses who holds the mutex that g waits for: one blocked elsewhere that
// is inside the function which g calls Lock in; else the only one who is neither
// at a mutex nor at a Read of the gate.
func (f *freeze) holder(g goroutine) (goroutine, bool) {
	caller := g.function()
	var left []goroutine
	for _, h := range f.all() {
		switch {
		case h.wait() == waitLock:
		case caller != "" && strings.Contains(h.text, "\n"+caller+"("):
			return h, true
		case !strings.Contains(h.text, "/explore.(*end).Read("):
			left = append(left, h)
		}
	}
	if len(left) == 1 {
		return left[0], true
	}
	return goroutine{}, false
}

// frozen judges a run that was given up, on the watcher's goroutine: nothing of
// the run moves any more.
func (r *Run) frozen(t *testing.T, f *freeze) {
	r.stuck, r.froze, r.busy = true, true, len(f.busy) > 0
	if r.busy { // real time would show no more: it computes there, too
		why := fmt.Sprintf("%s is still computing, %v after the run last moved", f.busy[0].place(), r.plan.stamina)
		if r.verdict != Pass {
			r.note("it could not be brought to its end: " + why)
			return
		}
		r.verdict, r.why = Undecided, why
		if r.within != "" {
			r.why += ", in " + r.within
		}
		r.describe(f)
		return
	}
	if r.assay != nil {
		r.assay.freeze = f
		return
	}
	if r.verdict != Pass {
		r.note("its bubble could not be emptied: " + f.why())
		return
	}
	proof, doubt := r.prove(t, f)
	if proof == nil {
		r.verdict, r.why = Undecided, f.why()+". "+doubt
		r.retry = r.within == "" && len(f.foreign)+len(f.io)+len(f.calls) == 0 && !strings.HasPrefix(doubt, sharedLock)
		r.describe(f)
		return
	}
	r.still, proof.still = len(r.steps), len(proof.steps)
	proof.describe(proof.assay.freeze)
	proof.stuck, proof.froze, proof.notes = true, true, append(proof.notes, r.notes...)
	proof.verdict, proof.category = Hang, Lock
	proof.why = f.why() + ", and nobody is left who could unlock it"
	r.outcome = proof.outcome
}

// describe fills in what a report shows of a frozen run.
func (r *Run) describe(f *freeze) {
	r.gate.admit()
	r.waits = nil
	for _, g := range f.locks {
		w := Wait{Who: r.owner(g), WaitsFor: "a mutex", Why: "its holder is not seen in the stacks", BlockedAt: "[" + g.state + "] " + g.place()}
		if h, ok := f.holder(g); ok {
			w.Why = "held, it seems, by " + r.owner(h) + ", which is blocked at [" + h.state + "] " + h.place()
		}
		r.waits = append(r.waits, w)
	}
	_, _ = r.diagnose()
	if enabled := r.enabled(nil); len(enabled) > 0 && !strings.Contains(r.why, enabled[0].Name()) {
		r.note("when the run was given up there was something to do: " + named(enabled))
	}
	r.stood, r.sequence, r.recording, r.stacks = r.unfinished(), r.draw(), r.events(), f.stacks()
}

// owner names a goroutine for a report.
func (r *Run) owner(g goroutine) string {
	for _, op := range r.ops {
		if op.where == fmt.Sprint(g.id) {
			return "operation " + op.name
		}
	}
	return "a goroutine"
}

// elsewhere tells how a freeze may be settled.
func (r *Run) elsewhere() string {
	return "Real time may tell: set Engine to Settle, or run the token " + r.settledToken().String()
}

// settledToken is the run's token for the engine without a bubble.
func (r *Run) settledToken() Token {
	token := r.asToken()
	token.Engine = Settle
	return token
}

// sharedLock is the doubt about a mutex that may be of a package, or of others.
const sharedLock = "The stacks do not tell whether the mutex is the run's own or shared with others."

// prove looks for a proof that a freeze is for ever. A freeze is none by itself:
// the bubble's time stands still in it, and a timer might end it. Whether there is
// one the stacks do not show, so the schedule is run once more and its timers are
// counted. The proof holds if
//
//   - nothing is enabled, and nobody sleeps
//   - everybody waits for a mutex, or for what only the bubble's own goroutines and
//     timers can give
//   - the mutexes are the run's own: in the second run they are others
//   - nobody is outside the bubble who could hold one: stacks do not tell who does
//   - no timer was made
//
// It returns the second run, or the doubt that is left.
func (r *Run) prove(t *testing.T, f *freeze) (again *Run, doubt string) {
	if doubt := r.doubt(f); doubt != "" {
		return nil, doubt
	}
	profiled.Lock()
	defer profiled.Unlock()
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	before := timersMade()
	token := r.asToken()
	again = &Run{plan: r.plan, level: r.level, parser: r.parser, capacity: r.capacity, split: r.split, limit: r.limit,
		horizon: r.horizon, token: &token, assay: &assay{}}
	again.trail.touching = r.trail.touching
	again.play(t, r.plan)
	if again.assay.freeze == nil {
		return nil, "The same schedule did not stand still again. " + r.elsewhere()
	}
	if doubt := again.doubt(again.assay.freeze); doubt != "" {
		return nil, doubt
	}
	if timersMade() > before {
		return nil, "A timer was made in this run, and may end that. " + r.elsewhere()
	}
	for _, g := range again.assay.freeze.locks { // all those of the first run are still there
		address := g.lock()
		if address == "" || slices.ContainsFunc(f.locks, func(h goroutine) bool { return h.lock() == address }) {
			return nil, sharedLock + " " + r.elsewhere()
		}
	}
	return again, ""
}

// doubt says what speaks against a freeze that is for ever, as far as one run
// shows it.
func (r *Run) doubt(f *freeze) string {
	switch {
	case r.within != "":
		return "This is in " + r.within + ", which must not wait"
	case len(f.foreign)+len(f.io)+len(f.calls) > 0:
		return "What is outside the bubble may end that, or not. " + r.elsewhere()
	case len(f.outside) > 0:
		return f.outside[0].place() + " is outside the bubble, and may hold the mutex. " + r.elsewhere()
	case len(f.sleepers) > 0:
		return "A mutex freezes the time of the bubble, so a sleeper stays asleep here. " + r.elsewhere()
	case len(r.steps) == 0:
		return "No step was released yet. " + r.elsewhere()
	case r.finished():
		return "All operations have returned. " + r.elsewhere()
	}
	if enabled := r.enabled(nil); len(enabled) > 0 {
		return fmt.Sprintf("There would be something to do (%s), but a bubble does not come to rest while a mutex is waited for. %s",
			enabled[0].Name(), r.elsewhere())
	}
	return ""
}

// assay marks the second run, and is what it finds out.
type assay struct {
	freeze *freeze
}

// profiled is held while the runtime counts every allocation.
var profiled sync.Mutex

// timersMade counts the timers ever made in the process while every allocation is
// profiled.
func timersMade() int64 {
	runtime.GC() // the profile is of the last but one
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

// makesTimer reports whether a stack is of a timer made, and not by an engine.
func makesTimer(stack []uintptr) bool {
	makes := false
	for frames := runtime.CallersFrames(stack); ; {
		frame, more := frames.Next()
		if _, method, _ := strings.Cut(frame.Function, "/replay/explore.(*bubble)."); method == "rest" || method == "pass" || method == "await" {
			return false
		}
		makes = makes || strings.HasPrefix(frame.Function, "time.New") || frame.Function == "time.AfterFunc"
		if !more {
			return makes
		}
	}
}
