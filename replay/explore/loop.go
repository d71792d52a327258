package explore

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/transport/phrase"
)

// errNoOracle fails a run without operation and without Check, which would always pass.
var errNoOracle = errors.New("the plan has no operation and no Check: add with Run.Op what must return")

// exited stands for a schedule whose goroutine was ended by runtime.Goexit.
type exited struct{}

// play runs the schedule on a new goroutine, which is left behind if the run must be given
// up. Several runs may play at once.
func (r *Run) play(t *testing.T) {
	ended := make(chan any, 1)
	if r.course.follower == nil {
		r.course.crash = newCrashToken(r.asToken(), cap(r.course.steps))
	}
	r.engine = newEngine(&r.terms, &r.peers, r.course.crash)
	go func() {
		returned := false
		defer func() {
			v := recover()
			if v == nil && !returned { // the test was ended (FailNow in a peer)
				v = exited{}
			}
			ended <- v
		}()
		r.perform(t)
		returned = true
	}()
	thrown, f := r.engine.await(ended)
	r.outcome.locked = r.engine.state().locked
	if f != nil {
		r.judgeFreeze(t, f)
		return
	}
	switch v := thrown.(type) {
	case nil:
		if r.outcome.verdict == Pass && !r.outcome.cut && r.terms.plan.Check == nil && len(r.peers.ops) == 0 {
			r.outcome.failCheck(errNoOracle)
		}
	case *freeze:
		r.judgeFreeze(t, v)
	case exited:
		if !r.engine.state().raced { // synctest.Test ends the goroutine after a data race, too
			runtime.Goexit()
		}
	default:
		panic(v)
	}
}

// perform runs the schedule under its engine.
func (r *Run) perform(t *testing.T) {
	left := r.engine.host(t, func() {
		p := &r.peers
		traced := r.course.follower != nil && !r.terms.untraced
		p.open(traced)
		r.clock.begin(&r.terms)
		if traced {
			p.tracer = &hang.Tracer{Gate: p.gate, Own: r.engine.own, Live: p.live, Goroutines: p.goroutines}
		}
		r.session()
		if r.outcome.verdict == Pass && r.terms.plan.HTTP != nil {
			r.deletion = p.gate.HTTP.Deletion()
		}
		p.cancel()
		p.gate.Shutdown()
		r.judgeRemains(r.engine.reap(r.deleteSessions()))
		p.gate.Lock()
		r.judgeAccident()
		p.gate.Unlock()
	})
	r.judgeRemains(left)
}

// deleteSessions begins to end the sessions that no client has ended, once the end of the run has ended what it
// can. goOn reports whether one of them goes on; nil: there is none.
func (r *Run) deleteSessions() (goOn func() bool) {
	if r.deletion == nil || r.deletion.IsEmpty() {
		return nil
	}
	r.engine.waitUntilStill()
	r.deletion.Start()
	return func() bool { return !r.deletion.HasEnded() }
}

// judgeRemains judges a run that could not be emptied; nil is one that could. What is left beside a session that
// its server has not ended may be of the session.
func (r *Run) judgeRemains(left *remains) {
	if left != nil && r.outcome.verdict == Pass && r.outcome.within == "" && r.deletion != nil && !r.deletion.HasEnded() {
		r.outcome.keeps = true
		return
	}
	r.outcome.judgeRemains(left)
}

// session builds the peers, releases steps until none is left, and judges.
func (r *Run) session() {
	p, o := &r.peers, &r.outcome
	o.verdict = Pass
	if !r.guard("Setup", func() { r.terms.plan.Setup(r) }) {
		return
	}
	r.loop()
	p.gate.Lock()
	r.course.lessons.Recall = p.gate.Recall // at the run's end every end takes back its frames
	p.gate.Unlock()
	if o.verdict == Pass && !o.cut {
		r.judgeEnd()
	}
	p.gate.Lock()
	defer p.gate.Unlock()
	r.judgeAccident()
	o.broken = p.breaches()
	o.unheeded = append(hang.Unheeded(p.gate, p.live), p.tracer.Cancelled()...)
	if o.verdict == CheckFailed && len(o.waits) == 0 && o.open != nil {
		o.waits, o.waitsAt = o.open.waits, o.open.when
	}
	if o.verdict != Pass {
		p.gate.Admit()
		r.describe()
	}
	if o.verdict != Pass || r.terms.keeps {
		o.schedule = scheduleSteps(r.shown(), p.gate.Lanes)
	}
}

// judgeEnd judges a run whose operations have returned.
func (r *Run) judgeEnd() {
	o := &r.outcome
	var err error
	if r.terms.plan.Check == nil {
		err = r.peers.failures()
	} else {
		r.guard("Check", func() { err = r.terms.plan.Check(r) })
	}
	if err != nil {
		o.failCheck(err)
		if o.late {
			o.category = TimerOnly
		}
	}
	if o.verdict == Pass {
		o.judgeRules(&r.peers)
	}
	r.engine.waitUntilStill()
	if o.verdict == Pass && r.course.follower != nil { // a failure counts wherever the token would have gone on
		o.diverge(r.course.follower.Unreached(len(r.course.steps)))
	}
}

// judgeAccident makes a panic or a data race the verdict of a run that has no other.
func (r *Run) judgeAccident() {
	r.outcome.judgePanic(r.peers.panicked)
	r.outcome.judgeRace(r.engine.state().raced, r.course.steps, r.terms.plan.Workers)
}

// describe keeps what a report shows of a run: the operations that stand, the drawing and the
// recording.
func (r *Run) describe() {
	o := &r.outcome
	o.stood = r.peers.unfinished()
	o.sequence = drawingOf(r.shown(), r.peers.gate.Lanes, r.clock.timers.passages)
	o.recording = recordingOf(r.shown(), r.peers.gate, strings.TrimSpace(o.verdict+" "+o.category),
		fmt.Sprintf("token %s\n%s", r.asToken(), o.why))
}

// guard calls Setup or Check. It reports whether the run may go on.
func (r *Run) guard(where string, f func()) bool {
	r.outcome.within = where
	r.peers.moves.Tick()
	if !r.engine.call(func() { defer r.peers.mend(where); f() }) {
		r.outcome.judgeRemains(&remains{stacks: r.engine.stacks})
		return false
	}
	r.outcome.within = ""
	return true
}

// loop waits until nothing moves, lists the enabled steps, releases a step, and begins again.
func (r *Run) loop() {
	p, c, timers := &r.peers, &r.course, &r.clock.timers
	var enabled []gate.Step
	var passing *passage // the step before was a Time step
	timers.most = mostFired(p, c.follower)
	for {
		r.engine.waitUntilStill()
		p.gate.Lock()
		c.learn(p.gate)
		r.keepWaits(nil, p.ops)
		enabled = r.enabled(enabled[:0])
		if passing != nil {
			passing.end(p)
		}
		if c.walk != nil {
			c.walk.Arrive(len(c.steps)+1, enabled, r.blocked(enabled))
		}
		before := len(timers.passages)
		on := r.advance(enabled)
		passing = nil
		if len(timers.passages) > before {
			passing = timers.passages[before]
		}
		p.gate.Unlock()
		switch {
		case !on:
			return
		case passing != nil:
			r.pass(passing)
		case len(enabled) == 0 && !r.passIdleTime():
			r.stand()
			return
		}
	}
}

// advance releases an enabled step, if there is any, and reports whether the run goes on.
// The gate is locked: where time is real, a goroutine may wake at any moment.
func (r *Run) advance(enabled []gate.Step) bool {
	p, o := &r.peers, &r.outcome
	switch {
	case r.terms.late != nil && r.terms.late.Load():
		o.cut, o.unfinished = true, true
		return false
	case p.panicked != nil, r.engine.state().raced:
		r.judgeAccident()
		return false
	case p.gate.Garbled && o.judgeIllegal(p): // what follows on the wire says nothing more
		return false
	case p.failure != nil:
		o.failCheck(p.failure)
		if open := r.openNow(); open != nil {
			o.open = open
			o.open.when = fmt.Sprintf("when the check failed, after step %d", len(r.course.steps))
		}
		return false
	case len(enabled) > 0 && len(r.course.steps) == r.terms.limit:
		o.verdict = Undecided
		o.why = fmt.Sprintf("after %s and %s there is still something to do: %s", phrase.Plural(r.terms.limit, "step"), r.clock.ran(), stepNames(enabled))
		if kinds := kindsOf(r.course.steps[max(0, len(r.course.steps)-recentSteps):]); len(kinds) <= mostKinds {
			o.why += fmt.Sprintf("; the last %d were %s, again and again", min(recentSteps, len(r.course.steps)), strings.Join(kinds, ", "))
		}
		r.diagnose() // for the waits until now
		return false
	case len(enabled) > 0:
		i, diverged := r.course.choose(enabled)
		if i < 0 {
			o.diverge(diverged)
			o.cut = diverged == ""
			return false
		}
		r.release(enabled, i)
	case p.finished() && p.owed(false) == nil && p.owed(true) == nil:
		return false
	}
	return true
}

// A run that does all the steps it may do tells the kinds of its latest ones, if they are few.
const (
	recentSteps = 1000
	mostKinds   = 6
)

// stepNames lists a few steps by name.
func stepNames(steps []gate.Step) string {
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

// enabled lists the steps that may be released: starts first, time last.
func (r *Run) enabled(steps []gate.Step) []gate.Step {
	steps = r.peers.enabled(steps)
	step, ok := r.clock.timers.next(steps)
	if ok && !r.peers.finished() && !r.engine.state().atMutex { // virtual time stops at a mutex
		steps = append(steps, step)
	}
	return steps
}

// blocked lists the steps that are known, and not enabled. Among them is time, which may not pass now.
func (r *Run) blocked(enabled []gate.Step) []gate.Step {
	steps := r.peers.gate.Blocked(nil)
	if step, ok := r.clock.timers.known(); ok && !slices.ContainsFunc(enabled, func(s gate.Step) bool { return s.Kind == gate.Time }) {
		steps = append(steps, step)
	}
	return steps
}

// release releases one of the enabled steps.
func (r *Run) release(enabled []gate.Step, i int) {
	p, step := &r.peers, enabled[i]
	p.tracer.See(len(r.course.steps))
	r.course.add(enabled, i)
	at := len(r.course.steps)
	r.outcome.note(r.clock.step(step, p))
	if step.Kind == gate.Time { // it passes when the gate is unlocked
		p.gate.Round = at
		r.clock.timers.passages = append(r.clock.timers.passages, newPassage(at, enabled[:i], p))
		return
	}
	r.course.teach(p.gate)
	if step.Do != nil {
		step.Do(at)
		return
	}
	p.gate.Round = at
	p.tracer.BeforeGive(step)
	p.gate.Release(step)
	if len(p.expected) > 0 && step.Flight != nil && p.gate.Gives(step) {
		p.receive(step.Flight)
	}
}

// mostWaits is after how many standstills the waits are no longer kept for an operation that fails when
// time passes: it is a poll that fails in the end, and each look costs a millisecond.
const mostWaits = 1000

// passIdleTime lets time pass when no step is enabled, and reports whether a frame or a call came.
func (r *Run) passIdleTime() bool {
	p, c := &r.peers, &r.clock
	p.tracer.See(len(r.course.steps))
	p.gate.Lock()
	before := p.unreturned()
	switch {
	case c.periodic.standstills > mostWaits:
		c.open = nil
	case c.moved || c.open == nil: // periodic traffic changes no wait
		c.open = r.openNow()
	}
	open := c.open
	c.standStill(len(r.course.steps))
	p.gate.Unlock()
	came := r.engine.passTime(c.since, r.terms.plan.Horizon)
	p.gate.Lock()
	defer p.gate.Unlock()
	c.woken = c.woken || came
	r.keepWaits(open, before)
	var ended []string
	for _, op := range before {
		if op.done {
			ended = append(ended, op.name)
		}
	}
	if len(ended) > 0 {
		c.moved = true
		c.woken = false
		r.outcome.late = true
		r.outcome.note(fmt.Sprintf("nothing was enabled: a timer alone ended %s %s, after %s",
			phrase.Agree(len(ended), "operation", "operations"), strings.Join(ended, ", "), c.passed()))
	}
	return came
}

// pass lets time pass to the next timer that makes a peer use the gate, though steps are enabled.
func (r *Run) pass(p *passage) {
	timers := &r.clock.timers
	r.peers.gate.Lock()
	before := r.peers.unreturned()
	open := r.openNow()
	r.peers.gate.Unlock()
	begin := time.Now()
	timers.passing = true
	came := r.engine.passTime(begin, longestPassage)
	r.peers.gate.Lock()
	defer r.peers.gate.Unlock()
	r.keepWaits(open, before)
	timers.passing = false
	p.passed = time.Since(begin)
	p.fired = came
	timers.idle = !came
	if came {
		timers.fired++
	}
}

// stand judges a run in which no step can go on.
func (r *Run) stand() {
	p, o := &r.peers, &r.outcome
	p.gate.Lock()
	defer p.gate.Unlock()
	word, doubt := r.engine.verdict(r.clock.passed())
	if p.finished() && doubt == "" {
		return
	}
	still := min(r.clock.still, len(r.course.steps))
	o.notePeriodic(r.course.steps[still:], r.clock.passed())
	r.course.forget(still)
	o.verdict = word
	missing := missingMessage(p.ops)
	d := r.diagnose()
	for _, note := range d.Closing {
		o.note(note)
	}
	o.category = d.Category
	o.why = d.Why
	switch {
	case doubt != "":
		o.category = ""
		o.why = doubt
	case missing != nil:
		o.verdict = CheckFailed
		o.category, o.why = missing.explain(r.course.steps)
		o.err = errors.New(missing.String())
		o.waits = slices.DeleteFunc(o.waits, func(wait hang.Wait) bool { return wait.Why == o.why })
		o.note(fmt.Sprintf("nothing came in %s", r.clock.passed()))
	}
	for _, note := range p.unsaid() {
		o.note(note)
	}
	o.stacks = r.engine.stacks()
}

// scene is the run as it stands, for a diagnosis. The gate is locked.
func (r *Run) scene() hang.Scene {
	p := &r.peers
	s := hang.Scene{
		Gate: p.gate, Tracer: p.tracer, Live: p.live, Breaches: p.breaches(), Waits: r.outcome.waits,
		Steps: len(r.course.steps), Still: r.clock.still,
	}
	s.Category, s.Why = halves.Stop(p.modeled)
	for _, op := range p.unfinished() {
		facts := &hang.Operation{Name: op.name, Started: op.started || op.played, Goroutine: op.goroutine}
		if before := op.heldBy(); before != nil {
			facts.After = before.phrase()
		}
		if op.expected != nil {
			_, facts.Missing = op.expected.explain(r.course.steps)
		}
		s.Operations = append(s.Operations, facts)
	}
	return s
}

// diagnose explains why the run stands still, and keeps that.
func (r *Run) diagnose() hang.Diagnosis {
	d := hang.Diagnose(r.scene())
	r.outcome.keep(d)
	return d
}

// openNow returns the waits of a traced run; nil for another run, or if they are known already. The
// gate is locked.
func (r *Run) openNow() *openWaits {
	if r.peers.tracer == nil || r.outcome.open != nil {
		return nil
	}
	scene := r.scene()
	scene.Operations = slices.DeleteFunc(scene.Operations, func(op *hang.Operation) bool { return !op.Started })
	return &openWaits{waits: hang.Diagnose(scene).Waits}
}

// keepWaits keeps the waits of a run in which one of these operations has failed: the waits of the
// moment before, or the present ones if before is nil. The gate is locked.
func (r *Run) keepWaits(before *openWaits, operations []*Operation) {
	if r.peers.tracer == nil || r.outcome.open != nil {
		return
	}
	for _, op := range operations {
		if !op.done || op.err == nil {
			continue
		}
		if before == nil {
			before = r.openNow()
		}
		before.when = fmt.Sprintf("when %s failed, after step %d", op.phrase(), len(r.course.steps))
		r.outcome.open = before
		return
	}
}
