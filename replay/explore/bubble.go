package explore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/order"
)

// play runs one schedule, on a goroutine of its own: one that cannot be brought to
// its end is left behind. Several may play at once.
func (r *Run) play(t *testing.T, p *Plan) {
	ended := make(chan any, 1)
	go func() {
		returned := false
		defer func() {
			v := recover()
			if v == nil && !returned { // the test was ended (FailNow in a peer)
				v = exited{}
			}
			ended <- v
		}()
		r.bubble(t, p)
		returned = true
	}()
	switch v := (<-ended).(type) {
	case nil:
	case exited:
		runtime.Goexit()
	default:
		panic(v)
	}
}

// exited stands for a schedule whose goroutine was ended by runtime.Goexit.
type exited struct{}

// bubble runs one schedule in a bubble of its own.
//
// A hang needs no panic of synctest: the engine sees that nothing is enabled and
// ends what it can. Only goroutines that nothing ends leave the bubble to
// synctest, which then panics here. That is the check for leaks too: it costs
// nothing, and counts no goroutines of others.
func (r *Run) bubble(t *testing.T, p *Plan) {
	mark := ""
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		r.leaked(mark)
	}()
	synctest.Test(t, func(*testing.T) {
		mark = bubbleOfCaller()
		r.gate, r.since = newGate(r.capacity, r.split), time.Now()
		r.ctx, r.cancel = context.WithCancel(context.WithValue(context.Background(), gateKey{}, r.gate))
		r.gate.traced = r.token != nil
		if !p.Lawless {
			r.gate.rules = order.New("")
		}
		if r.parser != nil {
			r.gate.names.parser = r.parser
		}
		r.client, r.server = &r.gate.ends[0], &r.gate.ends[1]
		r.session(p)
		r.reap()
		r.breakage()
	})
}

// session builds the peers, releases steps until nothing is left to release, and
// judges.
func (r *Run) session(p *Plan) {
	r.verdict = Pass
	r.guard("Setup", func() { p.Setup(r) })
	r.loop()
	if r.verdict == Pass && r.panicked == nil && !r.cut {
		r.check(p)
		r.judge()
		synctest.Wait()
	}
	r.breakage()
	r.broken = r.breaches()
	if r.verdict != Pass {
		r.gate.admit()
		r.stood, r.sequence, r.recording = r.unfinished(), r.draw(), r.events()
	}
}

// breakage makes a panic the verdict of a run that has no other.
func (r *Run) breakage() {
	b := r.panicked
	if b == nil || r.verdict != Pass {
		return
	}
	r.verdict, r.stacks = Panic, []string{trimStack(b.stack)}
	r.why = fmt.Sprintf("%s panicked: %v", b.where, b.value)
}

func (r *Run) guard(where string, f func()) {
	defer r.mend(where)
	r.within = where
	defer func() { r.within = "" }()
	f()
}

// loop is the engine: wait until everything is durably blocked, list what may
// happen, choose, release.
func (r *Run) loop() {
	var enabled []Step
	for {
		synctest.Wait()
		if r.panicked != nil {
			return
		}
		enabled = r.enabled(enabled[:0])
		switch {
		case len(enabled) > 0 && len(r.steps) == r.limit:
			r.verdict = Undecided
			r.why = fmt.Sprintf("after %d steps there is still something to do", r.limit)
			return
		case len(enabled) > 0:
			i := r.choose(enabled)
			if i < 0 {
				return
			}
			r.trail.step(enabled, i)
			r.release(enabled[i])
		case r.finished() && r.owed() == nil:
			r.overrun()
			return
		case r.rest():
		case r.finished():
			r.overrun()
			return
		default:
			r.hang()
			return
		}
	}
}

// enabled lists the steps that may be released: starts first.
func (r *Run) enabled(steps []Step) []Step {
	for _, op := range r.ops {
		if op.ready() {
			steps = append(steps, Step{Kind: Start, What: op.name, op: op})
		}
	}
	r.gate.hold()
	steps = r.gate.enabled(steps)
	r.gate.free()
	if len(steps) > 0 || r.finished() {
		return steps
	}
	for _, h := range r.halves {
		if h.waits() {
			steps = append(steps, Step{Kind: Relent, What: h.name, half: h})
		}
	}
	return steps
}

// choose picks a step, and notes where that is not what eager would do.
func (r *Run) choose(enabled []Step) int {
	at, i := len(r.steps)+1, 0
	switch {
	case r.token != nil:
		i = r.follow(at, enabled)
	case len(enabled) > 1 || r.systematic:
		i = r.chooser(at, enabled)
		r.cut = i < 0
	}
	if i > 0 {
		r.choices = append(r.choices, Choice{Step: at, Hash: uint32(enabled[i].Hash())})
	}
	return i
}

func (r *Run) release(s Step) {
	r.steps = append(r.steps, s)
	if !r.recurs(s) {
		if r.woken && !r.finished() {
			r.note(fmt.Sprintf("nothing was enabled: a timer brought «%s», after %v of virtual time", s.Name(), time.Since(r.since)))
		}
		r.moved, r.woken = true, false
	}
	switch s.Kind {
	case Start:
		r.start(s.op)
		return
	case Relent:
		s.half.relent()
		return
	}
	r.gate.hold()
	r.gate.round = len(r.steps)
	r.gate.release(s)
	r.gate.free()
}

// rest lets virtual time pass until something arrives at the gate. It reports
// false when the horizon is reached: beats do not move it.
func (r *Run) rest() bool {
	r.beats.rests++
	begin, ended := time.Now(), r.ended
	if r.moved {
		r.since, r.still, r.moved = begin, len(r.steps), false
	}
	r.gate.hold() // what timers wake must come after all that the engine read
	r.gate.free()
	select { // what arrived before is in no step: it waits for others
	case <-r.gate.poked:
	default:
	}
	timer := time.NewTimer(r.since.Add(r.horizon).Sub(begin))
	defer timer.Stop()
	came := true
	select {
	case <-timer.C:
		came = false
	case <-r.gate.poked:
	}
	r.woken = r.woken || came
	synctest.Wait()
	select { // the last timers may have fired in the same instant
	case <-r.gate.poked:
		came = true
	default:
	}
	if r.ended > ended {
		r.moved, r.late, r.woken = true, true, false
		r.note(fmt.Sprintf("nothing was enabled: a timer alone ended %s, after %v of virtual time", r.justEnded(), time.Since(r.since)))
	}
	return came
}

func (r *Run) note(s string) {
	if len(r.notes) < 3 {
		r.notes = append(r.notes, s)
	}
}

// justEnded names an operation that has returned.
func (r *Run) justEnded() string {
	name := "an operation"
	for _, op := range r.ops {
		if op.done {
			name = "operation " + op.name
		}
	}
	return name
}

func (r *Run) hang() {
	if r.overrun() {
		return
	}
	r.beatNote()
	r.verdict = Hang
	r.category, r.why = r.diagnose()
	r.shape = r.gate.shape(r.category)
	r.stacks = stacks()
}

// check asks the plan whether a run that came to its end is right.
func (r *Run) check(p *Plan) {
	if p.Check == nil {
		r.err = r.Failures()
	} else {
		r.guard("Check", func() { r.err = p.Check(r) })
	}
	if r.err == nil {
		return
	}
	r.verdict, r.why = CheckFailed, r.err.Error()
	if r.late {
		r.category = TimerOnly
	}
}

// reap ends everything that lives in the bubble. Sleepers get virtual time: it
// stops when the bubble's first goroutine returns.
func (r *Run) reap() {
	r.cancel()
	r.gate.shutdown()
	time.Sleep(r.horizon)
	synctest.Wait()
}

// leaked judges a run whose bubble could not be emptied.
func (r *Run) leaked(mark string) {
	r.leftover(bubbleStacks(mark))
	r.stuck = true
	switch {
	case r.within != "":
		r.verdict = Leak
		r.why = r.within + " has not returned: what waits for the other end belongs into an operation or a goroutine"
	case r.verdict == Pass:
		r.verdict = Leak
		r.why = "the gate is closed and the context cancelled, but goroutines are left that nothing ends"
	}
}

// leftover keeps the stacks of goroutines that are left, where no failure before
// had others.
func (r *Run) leftover(left []string) {
	if len(r.stacks) == 0 {
		r.stacks = left
	}
}
