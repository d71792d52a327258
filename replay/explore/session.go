package explore

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/order"
)

// engine keeps a run still between its steps.
type engine interface {
	// live calls do where the engine sees all that it starts, and returns when that
	// has ended or was given up.
	live(t *testing.T, do func())
	// settle returns when nothing of the run moves but by a step or by time.
	settle()
	// rest lets time pass until something arrives at the gate. It reports false
	// when nothing will.
	rest() bool
	// verdict is what the engine calls a run in which nothing can go on, with the
	// doubt that is left, or "".
	verdict() (word, doubt string)
	// await waits, from outside, for live to end. It returns a freeze when the run
	// was given up, as the engine cannot bring it to its end.
	await(ended <-chan any) (thrown any, f *freeze)
	// stacks returns the trimmed stacks of the run's goroutines.
	stacks() []string
	// reap ends what is left when the gate is shut and the context cancelled.
	reap()
}

// play runs one schedule, on a goroutine of its own: one that cannot be brought to
// its end is left behind. Several may play at once.
func (r *Run) play(t *testing.T, p *Plan) {
	ended := make(chan any, 1)
	r.engine = &bubble{run: r}
	go func() {
		returned := false
		defer func() {
			v := recover()
			if v == nil && !returned { // the test was ended (FailNow in a peer)
				v = exited{}
			}
			ended <- v
		}()
		r.perform(t, p)
		returned = true
	}()
	thrown, f := r.engine.await(ended)
	if f != nil {
		r.frozen(t, f)
		return
	}
	switch v := thrown.(type) {
	case nil:
	case exited:
		runtime.Goexit()
	default:
		panic(v)
	}
}

// exited stands for a schedule whose goroutine was ended by runtime.Goexit.
type exited struct{}

// perform runs the schedule under its engine.
func (r *Run) perform(t *testing.T, p *Plan) {
	r.engine.live(t, func() {
		r.gate, r.since = newGate(r.capacity, r.split), time.Now()
		r.gate.moves = &r.moves
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
		r.cancel()
		r.gate.shutdown()
		r.engine.reap()
		r.breakage()
	})
}

// session builds the peers, releases steps until nothing is left to release, and
// judges.
func (r *Run) session(p *Plan) {
	r.verdict = Pass
	r.guard("Setup", func() { p.Setup(r) })
	r.loop()
	r.recall = r.gate.recalls()
	if r.verdict == Pass && r.panicked == nil && !r.cut {
		r.check(p)
		r.judge()
		r.engine.settle()
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
	r.gate.tick()
	f()
}

// loop drives the run: wait until nothing moves, list what may happen, choose,
// release.
func (r *Run) loop() {
	var enabled []Step
	for {
		r.engine.settle()
		if r.panicked != nil {
			return
		}
		if r.assay != nil && len(r.steps) == r.assay.at {
			r.assay.hold(r)
		}
		enabled = r.enabled(enabled[:0])
		switch {
		case len(enabled) > 0 && len(r.steps) == r.limit:
			r.verdict = Undecided
			r.why = fmt.Sprintf("after %d steps there is still something to do", r.limit)
			r.diagnose() // not why, but who has waited until now
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
			r.stand()
			return
		}
	}
}

// enabled lists the steps that may be released: starts first.
func (r *Run) enabled(steps []Step) []Step {
	r.gate.hold()
	defer r.gate.free()
	return r.open(steps)
}

// open is enabled for who holds the gate, or a run that was given up.
func (r *Run) open(steps []Step) []Step {
	for _, op := range r.ops {
		if op.ready() {
			steps = append(steps, Step{Kind: Start, What: op.name, op: op})
		}
	}
	steps = r.gate.enabled(steps)
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
		r.gate.tick()
		return
	case Relent:
		s.half.relent()
		r.gate.tick()
		return
	}
	r.gate.hold()
	r.gate.round = len(r.steps)
	r.gate.release(s)
	r.gate.free()
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

// rest lets time pass when nothing is enabled. It reports whether something came.
func (r *Run) rest() bool {
	r.beats.rests++
	ended := r.ended
	if r.moved {
		r.since, r.still, r.moved = time.Now(), len(r.steps), false
	}
	came := r.engine.rest()
	r.gate.tick()
	r.woken = r.woken || came
	if r.ended > ended {
		r.moved, r.late, r.woken = true, true, false
		r.note(fmt.Sprintf("nothing was enabled: a timer alone ended %s, after %v of virtual time", r.justEnded(), time.Since(r.since)))
	}
	return came
}

// stand is the verdict of a run in which nothing can go on.
func (r *Run) stand() {
	if r.overrun() {
		return
	}
	r.beatNote()
	var doubt string
	r.verdict, doubt = r.engine.verdict()
	r.category, r.why = r.diagnose()
	r.shape, r.about = r.look()
	if doubt != "" {
		r.category, r.why = "", doubt
	}
	r.stacks = r.engine.stacks()
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

// leaked judges a run that could not be emptied.
func (r *Run) leaked(left []string) {
	if len(r.stacks) == 0 {
		r.stacks = left
	}
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
