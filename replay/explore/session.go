package explore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// engine is where a run lives, from its beginning to its end. It keeps the run still
// between its steps, and says what it is when nothing can go on. The run's own
// goroutine calls it, but for await.
type engine interface {
	// settle returns when nothing of the run moves but by a step or by time.
	settle()
	// rest lets time pass until something arrives at the gate. It reports false
	// when nothing will.
	rest() bool
	// verdict is what the engine calls a run in which nothing can go on, with the
	// doubt that is left, or "".
	verdict() (word, doubt string)
	// stacks returns the trimmed stacks of the run's goroutines.
	stacks() []string
	// own returns those stacks of a snapshot that are of the run's goroutines.
	own(all []string) []string
	// live calls do where the engine sees all that it starts, and returns when that
	// has ended or was given up.
	live(t *testing.T, do func())
	// call calls Setup or Check. It reports false when that will not return.
	call(do func()) bool
	// reap ends what is left when the gate is shut and the context cancelled.
	reap()
	// await waits, from outside, for live to end. It returns a freeze when the run
	// was given up, as the engine cannot bring it to its end.
	await(ended <-chan any) (thrown any, f *freeze)
}

// play runs one schedule, on a goroutine of its own: one that cannot be brought to
// its end is left behind. Several may play at once.
func (r *Run) play(t *testing.T, p *Plan) {
	ended := make(chan any, 1)
	r.engine = &bubble{run: r}
	if r.kind == Settle {
		r.engine = &settled{run: r, known: map[int]bool{}, doubt: map[int]bool{}, still: &freeze{}}
	}
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
		if r.verdict == Pass && !r.cut && p.Check == nil && len(r.ops) == 0 {
			r.verdict, r.why, r.err = CheckFailed, errVain.Error(), errVain
		}
	case *freeze:
		r.frozen(t, v)
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
		r.gate.traced = r.token != nil && !r.untraced
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
		r.gate.hold()
		r.breakage()
		r.gate.free()
	})
}

// session builds the peers, releases steps until nothing is left to release, and
// judges.
func (r *Run) session(p *Plan) {
	r.verdict = Pass
	if !r.guard("Setup", func() { p.Setup(r) }) {
		return
	}
	r.loop()
	r.gate.hold()
	r.lessons.recall = r.gate.recall // at the run's end all ends take back what is left
	r.gate.free()
	if r.verdict == Pass && !r.cut {
		if p.Check == nil {
			r.err = r.Failures()
		} else {
			r.guard("Check", func() { r.err = p.Check(r) })
		}
		if r.err != nil {
			r.verdict, r.why = CheckFailed, r.err.Error()
			if r.late {
				r.category = TimerOnly
			}
		}
		r.judge()
		r.engine.settle()
		if r.verdict == Pass { // a failure is one, wherever the token would have gone on
			r.overrun()
		}
	}
	r.gate.hold()
	defer r.gate.free()
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

// guard calls Setup or Check. It reports whether the run may go on.
func (r *Run) guard(where string, f func()) bool {
	r.within = where
	r.gate.tick()
	if !r.engine.call(func() { defer r.mend(where); f() }) {
		r.leaked(r.engine.stacks())
		return false
	}
	r.within = ""
	return true
}

// loop drives the run: wait until nothing moves, list what may happen, choose,
// release.
func (r *Run) loop() {
	var enabled []Step
	for {
		r.engine.settle()
		r.learn()
		r.gate.hold()
		enabled = r.enabled(enabled[:0])
		on := r.advance(enabled)
		r.gate.free()
		if !on {
			return
		}
		if len(enabled) == 0 && !r.rest() {
			r.stand()
			return
		}
	}
}

// advance releases one of the enabled steps, if there are any. It reports whether
// the run goes on. As everything that decides, it holds the gate: where time is
// real, somebody may wake at any moment.
func (r *Run) advance(enabled []Step) bool {
	switch {
	case r.panicked != nil:
		r.breakage()
		return false
	case r.failure != nil:
		r.verdict, r.why, r.err = CheckFailed, r.failure.Error(), r.failure
		return false
	case len(enabled) > 0 && len(r.steps) == r.limit:
		r.verdict = Undecided
		r.why = fmt.Sprintf("after %s there is still something to do: %s", phrase.Plural(r.limit, "step"), named(enabled))
		r.diagnose() // not why, but who has waited until now
		return false
	case len(enabled) > 0:
		i := r.choose(enabled)
		if i < 0 {
			return false
		}
		r.trail.step(enabled, i)
		r.release(enabled[i])
	case r.finished() && r.owed() == nil:
		return false
	}
	return true
}

// enabled lists the steps that may be released: starts first.
func (r *Run) enabled(steps []Step) []Step {
	for _, op := range r.ops {
		if !op.started && !op.played && op.heldBy() == nil {
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
	r.called()
	if r.gate.traced && len(r.steps) > 0 && len(r.steps) < 1000 { // each look stops the world
		r.seeCloses(snapshot())
	}
	r.steps = append(r.steps, s)
	if !r.recurs(s) {
		if r.woken && !r.finished() {
			r.note(fmt.Sprintf("nothing was enabled: a timer brought «%s», after %s", s.Name(), r.passed()))
		}
		r.moved, r.woken = true, false
	}
	if r.systematic {
		r.gate.stirs, r.unlearned = 0, true
	}
	switch s.Kind {
	case Start:
		r.start(s.op)
		return
	case Relent:
		s.half.relent()
		return
	}
	r.gate.round = len(r.steps)
	if r.gate.traced {
		r.observe(s)
	}
	r.gate.release(s)
}

// named lists a few steps by name.
func named(steps []Step) string {
	const most = 3
	var list []string
	for _, s := range steps[:min(most, len(steps))] {
		list = append(list, "«"+s.Name()+"»")
	}
	if len(steps) > most {
		list = append(list, fmt.Sprintf("%d more", len(steps)-most))
	}
	return strings.Join(list, ", ")
}

func (r *Run) note(s string) {
	if len(r.notes) < 3 {
		r.notes = append(r.notes, s)
	}
}

// rest lets time pass when nothing is enabled. It reports whether something came.
func (r *Run) rest() bool {
	r.called()
	r.gate.hold()
	r.beats.rests++
	ended := r.ended
	if r.moved {
		r.since, r.still, r.moved = time.Now(), len(r.steps), false
	}
	r.gate.free()
	came := r.engine.rest()
	r.gate.hold()
	defer r.gate.free()
	r.woken = r.woken || came
	if r.ended > ended {
		r.moved, r.late, r.woken = true, true, false
		name := "an operation"
		for _, op := range r.ops {
			if op.done {
				name = "operation " + op.name
			}
		}
		r.note(fmt.Sprintf("nothing was enabled: a timer alone ended %s, after %s", name, r.passed()))
	}
	return came
}

// stand is the verdict of a run in which nothing can go on.
func (r *Run) stand() {
	r.gate.hold()
	defer r.gate.free()
	word, doubt := r.engine.verdict()
	if r.finished() && doubt == "" {
		return
	}
	r.beatNote()
	r.verdict = word
	r.category, r.why = r.diagnose()
	r.closing()
	if doubt != "" {
		r.category, r.why = "", doubt
	}
	r.unsaid()
	r.stacks = r.engine.stacks()
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
		r.why = "the gate is closed and the context cancelled, but goroutines are left that nothing ends. Is a session left open? Close it in an operation with AfterAll"
	}
}
