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

// frozen judges a run that was given up, on the watcher's goroutine: nothing of
// the run moves any more.
func (r *Run) frozen(t *testing.T, f *freeze) {
	r.stuck = true
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
		r.retry = r.within == "" && len(f.foreign)+len(f.io) == 0 && !strings.HasPrefix(doubt, sharedLock)
		r.describe(f)
		return
	}
	r.still, proof.still = len(r.steps), len(proof.steps)
	proof.describe(proof.assay.freeze)
	proof.stuck, proof.notes = true, append(proof.notes, r.notes...)
	proof.verdict, proof.category = Hang, Lock
	proof.why = f.why() + ", and nobody is left who could unlock it"
	r.outcome = proof.outcome
}

// describe fills in what a report shows of a frozen run.
func (r *Run) describe(f *freeze) {
	r.gate.admit()
	r.waits = f.waits(r)
	_, _ = r.diagnose()
	r.shape, r.about = r.look()
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
// the bubble's time stands still in it, and a timer might end it. So the schedule
// is run once more, and before its last step, when the bubble is not frozen yet,
// time passes up to the horizon. The proof holds if
//
//   - in the freeze nothing is enabled, and nobody waits for anything but mutexes
//     of the run or what a bubble sees, and nobody sleeps
//   - up to the horizon nothing had come and nobody had moved
//   - in the last step nobody moved but those who are at a mutex now, and no timer
//     was made
//
// It returns the second run, or the doubt that is left.
func (r *Run) prove(t *testing.T, f *freeze) (again *Run, doubt string) {
	if doubt := r.doubt(f); doubt != "" {
		return nil, doubt
	}
	profiled.Lock()
	defer profiled.Unlock()
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	token := r.asToken()
	again = &Run{plan: r.plan, level: r.level, parser: r.parser, capacity: r.capacity, split: r.split, limit: r.limit,
		horizon: r.horizon, token: &token, assay: &assay{at: len(r.steps) - 1}}
	again.trail.touching = r.trail.touching
	again.play(t, r.plan)
	a := again.assay
	switch {
	case a.moved:
		return nil, "Before the last step, time alone brought something. " + r.elsewhere()
	case a.freeze == nil:
		return nil, "The same schedule did not stand still again. " + r.elsewhere()
	}
	if doubt := again.doubt(a.freeze); doubt != "" {
		return nil, doubt
	}
	if doubt := a.doubt(f); doubt != "" {
		return nil, doubt + " " + r.elsewhere()
	}
	return again, ""
}

// doubt says what speaks against a freeze that is for ever, as far as one run
// shows it.
func (r *Run) doubt(f *freeze) string {
	switch {
	case r.within != "":
		return "This is in " + r.within + ", which must not wait"
	case len(f.foreign)+len(f.io) > 0:
		return "What is outside the bubble may end that, or not. " + r.elsewhere()
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

// assay is what the second run finds out.
type assay struct {
	at     int         // hold after this step
	before []goroutine // who waited there, and where
	moved  bool        // time brought something
	timers int64       // made in the process up to then
	freeze *freeze     // that the last step led to
}

// hold lets time pass up to the horizon, and notes whether it brought something.
func (a *assay) hold(r *Run) {
	b := r.engine.(*bubble)
	before, moves := b.members(), r.moves.Load()
	time.Sleep(r.horizon)
	b.settle()
	a.before = b.members()
	a.moved = r.moves.Load() != moves+1 || !sameAll(before, a.before)
	runtime.MemProfileRate = 1 // from here on every timer is counted
	a.timers = timersMade()
	r.gate.tick()
}

// doubt compares the second freeze with what was before it, and with the first.
func (a *assay) doubt(first *freeze) string {
	made := timersMade() - a.timers
	if made > 0 {
		return "A timer was made in the last step; it may be what ends this."
	}
	for _, g := range a.freeze.others {
		if was, ok := numbered(a.before, g.id); !ok || !was.same(g) {
			return g.place() + " was elsewhere before the last step; a timer may end its wait."
		}
	}
	for _, g := range a.freeze.locks {
		address := g.lock()
		if address == "" || slices.ContainsFunc(first.locks, func(h goroutine) bool { return h.lock() == address }) {
			return sharedLock
		}
	}
	return ""
}

// members returns the goroutines of the caller's bubble that are not the engine's.
func (b *bubble) members() []goroutine {
	others := snapshot()[1:] // the caller comes first
	return slices.DeleteFunc(goroutines(others), func(g goroutine) bool { return g.mark != b.mark || g.engine() })
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
		frames := runtime.CallersFrames(record.Stack())
		for {
			frame, more := frames.Next()
			if strings.HasPrefix(frame.Function, "time.New") || frame.Function == "time.AfterFunc" {
				made += record.AllocObjects
				break
			}
			if !more {
				break
			}
		}
	}
	return made
}
