package explore

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// frozen judges a run that was given up, on the watcher's goroutine: nothing of
// the run moves any more.
func (r *Run) frozen(t *testing.T, f *freeze) {
	r.stuck, r.froze, r.busy = true, true, len(f.busy) > 0
	if r.busy {
		r.endless(f)
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

// endless judges a run that was given up while somebody computed. Real time would
// show no more: it computes there, too.
func (r *Run) endless(f *freeze) {
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
}

// describe fills in what a report shows of a frozen run.
func (r *Run) describe(f *freeze) {
	r.gate.admit()
	r.waits = f.waits(r)
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
	if !again.assay.freeze.ownLocks(f) {
		return nil, sharedLock + " " + r.elsewhere()
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

// ownLocks reports whether the mutexes of the freeze are others than those of the
// first run, which are all still there.
func (f *freeze) ownLocks(first *freeze) bool {
	return !slices.ContainsFunc(f.locks, func(g goroutine) bool {
		address := g.lock()
		return address == "" || slices.ContainsFunc(first.locks, func(h goroutine) bool { return h.lock() == address })
	})
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
