package explore

import (
	"context"
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
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// errNoOracle fails a run without operation and without Check, which would always pass.
var errNoOracle = errors.New("the plan has no operation and no Check: add with Run.Op what must return")

// exited stands for a schedule whose goroutine was ended by runtime.Goexit.
type exited struct{}

// play runs the schedule on a new goroutine, which is left behind if the run must be given
// up. Several runs may play at once.
func (r *Run) play(t *testing.T) {
	ended := make(chan any, 1)
	r.crash = newCrashToken(r)
	r.engine = &bubble{run: r}
	if r.kind == schedule.Settle {
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
		r.perform(t)
		returned = true
	}()
	thrown, f := r.engine.await(ended)
	if f != nil {
		judgeFreeze(t, r, f)
		return
	}
	switch v := thrown.(type) {
	case nil:
		if r.verdict == Pass && !r.cut && r.plan.Check == nil && len(r.ops) == 0 {
			r.verdict, r.why, r.err = CheckFailed, errNoOracle.Error(), errNoOracle
		}
	case *freeze:
		judgeFreeze(t, r, v)
	case exited:
		if !r.raced { // synctest.Test ends the goroutine after a data race, too
			runtime.Goexit()
		}
	default:
		panic(v)
	}
}

// perform runs the schedule under its engine.
func (r *Run) perform(t *testing.T) {
	r.engine.live(t, func() {
		options := gate.Options{
			C2S: r.capacity.C2S, S2C: r.capacity.S2C, Split: !r.plan.AckWithTake, Traced: r.follower != nil && !r.untraced,
			Parser: r.parser, Moves: &r.moves, Lawless: r.plan.Lawless,
			Go: func(do func()) { r.Go(func(context.Context) { do() }) },
		}
		if r.plan.HTTP != nil {
			options.Cuts = r.plan.HTTP.Cuts
		}
		r.gate, r.since = gate.New(options), time.Now()
		if options.Traced {
			r.tracer = &hang.Tracer{Gate: r.gate, Own: r.engine.own, Live: r.live, Goroutines: r.goroutines}
		}
		r.ctx, r.cancel = context.WithCancel(r.gate.Context(context.Background()))
		r.addPair(r.gate.Pairs[0])
		r.session()
		r.cancel()
		r.gate.Shutdown()
		r.engine.reap()
		r.gate.Lock()
		r.judgePanic()
		judgeRace(r)
		r.gate.Unlock()
	})
}

// session builds the peers, releases steps until none is left, and judges.
func (r *Run) session() {
	r.verdict = Pass
	if !r.guard("Setup", func() { r.plan.Setup(r) }) {
		return
	}
	r.loop()
	r.gate.Lock()
	r.lessons.Recall = r.gate.Recall // at the run's end every end takes back its frames
	r.gate.Unlock()
	if r.verdict == Pass && !r.cut {
		if r.plan.Check == nil {
			r.err = r.Failures()
		} else {
			r.guard("Check", func() { r.err = r.plan.Check(r) })
		}
		if r.err != nil {
			r.verdict, r.why = CheckFailed, r.err.Error()
			if r.late {
				r.category = TimerOnly
			}
		}
		if r.verdict == Pass {
			judgeRules(r)
		}
		r.engine.settle()
		if r.verdict == Pass && r.follower != nil { // a failure counts wherever the token would have gone on
			r.diverge(r.follower.Unreached(len(r.steps)))
		}
	}
	r.gate.Lock()
	defer r.gate.Unlock()
	r.judgePanic()
	judgeRace(r)
	r.broken = breaches(r)
	r.unheeded = append(hang.Unheeded(r.gate, r.live), r.tracer.Cancelled()...)
	if r.verdict == CheckFailed && len(r.waits) == 0 && r.open != nil {
		r.waits, r.waitsAt = r.open.waits, r.open.when
	}
	if r.verdict != Pass {
		r.gate.Admit()
		r.stood, r.sequence, r.recording = r.unfinished(), drawingOf(r), recordingOf(r)
	}
	if r.verdict != Pass || r.keeps {
		r.schedule = scheduleSteps(r)
	}
}

// diverge fails a run that could not follow its token; "" is no divergence.
func (r *Run) diverge(why string) {
	if why != "" {
		r.verdict = Diverged
		r.why = why
	}
}

// judgePanic makes a panic the verdict of a run that has no other.
func (r *Run) judgePanic() {
	b := r.panicked
	if b == nil || r.verdict != Pass {
		return
	}
	r.verdict, r.stacks = Panic, []string{stacks.Parse(b.stack).Trim()}
	r.why = fmt.Sprintf("%s panicked: %v", b.where, b.value)
}

// guard calls Setup or Check. It reports whether the run may go on.
func (r *Run) guard(where string, f func()) bool {
	r.within = where
	r.moves.Tick()
	if !r.engine.call(func() { defer r.mend(where); f() }) {
		r.leaked(r.engine.stacks())
		return false
	}
	r.within = ""
	return true
}

// loop waits until nothing moves, lists the enabled steps, releases a step, and begins again.
func (r *Run) loop() {
	var enabled []gate.Step
	var passing *passage // the step before was a Time step
	r.timers.most = mostFired(r)
	for {
		r.engine.settle()
		r.gate.Lock()
		if r.unlearned {
			last := r.steps[len(r.steps)-1]
			r.lessons.Learn(last, r.gate.Used, r.gate.GivenUp, r.trail.Touching)
			r.unlearned = false
		}
		keepOpen(r, nil, r.ops)
		enabled = r.enabled(enabled[:0])
		if passing != nil {
			passing.end(r)
		}
		if r.walk != nil {
			r.walk.Arrive(len(r.steps)+1, enabled, r.blocked(enabled))
		}
		before := len(r.timers.passages)
		on := r.advance(enabled)
		passing = nil
		if len(r.timers.passages) > before {
			passing = r.timers.passages[before]
		}
		r.gate.Unlock()
		switch {
		case !on:
			return
		case passing != nil:
			r.pass(passing)
		case len(enabled) == 0 && !r.rest():
			r.stand()
			return
		}
	}
}

// advance releases an enabled step, if there is any, and reports whether the run goes on.
// The gate is locked: where time is real, a goroutine may wake at any moment.
func (r *Run) advance(enabled []gate.Step) bool {
	switch {
	case r.panicked != nil:
		r.judgePanic()
		return false
	case r.raced:
		judgeRace(r)
		return false
	case r.gate.Garbled && judgeIllegal(r): // what follows on the wire says nothing more
		return false
	case r.failure != nil:
		r.verdict, r.why, r.err = CheckFailed, r.failure.Error(), r.failure
		if open := openNow(r); open != nil {
			r.open = open
			r.open.when = fmt.Sprintf("when the check failed, after step %d", len(r.steps))
		}
		return false
	case len(enabled) > 0 && len(r.steps) == r.limit:
		r.verdict = Undecided
		r.why = fmt.Sprintf("after %s there is still something to do: %s", phrase.Plural(r.limit, "step"), stepNames(enabled))
		r.diagnose() // for the waits until now
		return false
	case len(enabled) > 0:
		at, i := len(r.steps)+1, 0
		switch {
		case r.follower != nil:
			why := ""
			i, why = r.follower.Choose(at, enabled)
			r.diverge(why)
		case len(enabled) > 1 || r.walk != nil:
			i = r.chooser(at, enabled)
			r.cut = i < 0
		}
		if i < 0 {
			return false
		}
		if i > 0 { // eager would choose the first
			choice := schedule.Choice{Step: at, Hash: uint32(enabled[i].Hash())}
			r.choices = append(r.choices, choice)
			r.crash.add(choice)
		}
		r.trail.Step(enabled, i)
		r.release(enabled[i])
		if enabled[i].Kind == gate.Time {
			r.timers.passages = append(r.timers.passages, newPassage(r, enabled[:i]))
		}
	case r.finished() && owed(r, false) == nil && owed(r, true) == nil:
		return false
	}
	return true
}

// enabled lists the steps that may be released: starts first, time last.
func (r *Run) enabled(steps []gate.Step) []gate.Step {
	for _, op := range r.ops {
		if step, ok := op.startStep(); ok {
			steps = append(steps, step)
		}
	}
	steps = r.gate.Steps(steps)
	if r.finished() {
		return steps
	}
	if len(steps) == 0 {
		for _, h := range r.recorded {
			if h.Waits() {
				steps = append(steps, gate.Step{Kind: gate.Relent, What: h.Name, Do: h.Relent})
			}
		}
	}
	if step, ok := r.timers.next(steps); ok && !r.atMutex { // virtual time stops at a mutex
		steps = append(steps, step)
	}
	return steps
}

// blocked lists the steps that are known, and not enabled. Among them is time, which may not pass now.
func (r *Run) blocked(enabled []gate.Step) []gate.Step {
	steps := r.gate.Blocked(nil)
	if step, ok := r.timers.known(); ok && !slices.ContainsFunc(enabled, func(s gate.Step) bool { return s.Kind == gate.Time }) {
		steps = append(steps, step)
	}
	return steps
}

func (r *Run) release(step gate.Step) {
	r.tracer.See(len(r.steps))
	r.steps = append(r.steps, step)
	r.timers.idle = false
	if step.Kind == gate.Time { // it passes when the gate is unlocked
		r.gate.Round = len(r.steps)
		r.moved = true
		return
	}
	if !r.periodic.recurs(step, r.byName) {
		if r.woken && !r.finished() {
			r.note(fmt.Sprintf("nothing was enabled: a timer brought «%s», after %s", step.Name(), r.passed()))
		}
		r.moved = true
		r.woken = false
	}
	if r.walk != nil {
		r.gate.Used = [2]bool{}
		r.gate.GivenUp = false
		r.unlearned = true
	}
	if step.Do != nil {
		step.Do()
		return
	}
	r.gate.Round = len(r.steps)
	r.tracer.BeforeGive(step)
	r.gate.Release(step)
	if len(r.expected) > 0 && step.Flight != nil && r.gate.Gives(step) {
		receive(r, step.Flight)
	}
}

// rest lets time pass when no step is enabled, and reports whether a frame or a call came.
func (r *Run) rest() bool {
	r.tracer.See(len(r.steps))
	r.gate.Lock()
	r.periodic.rests++
	before := r.unreturned()
	open := openNow(r)
	if r.moved {
		r.since = time.Now()
		r.still = len(r.steps)
		r.moved = false
	}
	r.gate.Unlock()
	came := r.engine.rest(r.since.Add(r.plan.Horizon))
	r.gate.Lock()
	defer r.gate.Unlock()
	r.woken = r.woken || came
	keepOpen(r, open, before)
	var ended []string
	for _, op := range before {
		if op.done {
			ended = append(ended, op.name)
		}
	}
	if len(ended) > 0 {
		r.moved = true
		r.late = true
		r.woken = false
		r.note(fmt.Sprintf("nothing was enabled: a timer alone ended %s %s, after %s",
			phrase.Agree(len(ended), "operation", "operations"), strings.Join(ended, ", "), r.passed()))
	}
	return came
}

// pass lets time pass to the next timer that makes a peer use the gate, though steps are enabled.
func (r *Run) pass(p *passage) {
	r.gate.Lock()
	before := r.unreturned()
	open := openNow(r)
	r.gate.Unlock()
	begin := time.Now()
	r.timers.passing = true
	came := r.engine.rest(begin.Add(longestPassage))
	r.gate.Lock()
	defer r.gate.Unlock()
	keepOpen(r, open, before)
	r.timers.passing = false
	p.passed = time.Since(begin)
	p.fired = came
	r.timers.idle = !came
	if came {
		r.timers.fired++
	}
}

// passed says how long ago the run last came to rest. Real time is rounded to seconds, as
// the rest would change from run to run.
func (r *Run) passed() string {
	passed := time.Since(r.since)
	if r.kind == schedule.Settle {
		return fmt.Sprintf("%v of real time", passed.Round(time.Second))
	}
	return fmt.Sprintf("%v of virtual time", passed)
}

// stand judges a run in which no step can go on.
func (r *Run) stand() {
	r.gate.Lock()
	defer r.gate.Unlock()
	word, doubt := r.engine.verdict()
	if r.finished() && doubt == "" {
		return
	}
	notePeriodic(r)
	r.verdict = word
	missing := missingMessage(r)
	d := r.diagnose()
	for _, note := range d.Closing {
		r.note(note)
	}
	r.category = d.Category
	r.why = d.Why
	switch {
	case doubt != "":
		r.category = ""
		r.why = doubt
	case missing != nil:
		r.verdict = CheckFailed
		r.category, r.why = missing.explain()
		r.err = errors.New(missing.String())
		r.waits = slices.DeleteFunc(r.waits, func(wait hang.Wait) bool { return wait.Why == r.why })
		r.note(fmt.Sprintf("nothing came in %s", r.passed()))
	}
	for _, h := range r.recorded {
		for _, note := range h.Unsaid() {
			r.note(note)
		}
	}
	r.stacks = r.engine.stacks()
}

// diagnose explains why the run stands still, and keeps the fingerprint, the waits and the
// chain.
func (r *Run) diagnose() hang.Diagnosis {
	d := hang.Diagnose(r.scene())
	r.seen = d.Seen
	r.shape = d.Shape
	r.about = d.About
	r.waits = d.Waits
	r.chain = d.Chain
	return d
}

// scene is the run as it stands, for a diagnosis. The gate is locked.
func (r *Run) scene() hang.Scene {
	s := hang.Scene{
		Gate: r.gate, Tracer: r.tracer, Live: r.live, Breaches: breaches(r), Waits: r.waits, Steps: len(r.steps), Still: r.still,
	}
	s.Category, s.Why = halves.Stop(r.modeled)
	for _, op := range r.unfinished() {
		facts := &hang.Operation{Name: op.name, Started: op.started || op.played, Goroutine: op.goroutine}
		if before := op.heldBy(); before != nil {
			facts.After = before.phrase()
		}
		if op.expected != nil {
			_, facts.Missing = op.expected.explain()
		}
		s.Operations = append(s.Operations, facts)
	}
	return s
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
		r.leaks = innermost(left)
		r.why = "the gate is closed and the context cancelled, but goroutines are left that nothing ends: " +
			strings.Join(r.leaks, ", ") + ". Is a session left open? Close it in an operation with AfterAll"
	}
}

// innermost lists where trimmed stacks stand: the state, the function and file:line of each.
func innermost(trimmed []string) (list []string) {
	for _, stack := range trimmed {
		state, frames, _ := strings.Cut(stack, "\n  ")
		first, _, _ := strings.Cut(frames, "\n")
		list = append(list, state+" "+first)
	}
	return list
}

// judgeRules fails a run in which a live end broke a rule of the protocol, or owes a
// response.
func judgeRules(run *Run) {
	if judgeIllegal(run) {
		return
	}
	if c := owed(run, false); c != nil {
		run.verdict = Lost
		run.why = lostText(c)
	}
	if c := owed(run, true); c != nil {
		run.excused = append(run.excused, lostText(c))
	}
}

// judgeIllegal fails a run in which a live end broke a rule of the protocol, and reports whether
// one did.
func judgeIllegal(run *Run) bool {
	for _, b := range breaches(run) {
		if b.Severity == order.Error && !run.plan.excuses(b.Dir) {
			run.verdict = Illegal
			run.category = b.Rule
			run.why = fmt.Sprintf("%s: %s; at step %d, %s", b.Text, b.Title, b.Step, b.Frame)
			return true
		}
	}
	return false
}

// judgeRace fails a run in which the race detector reported a race, if nothing else did. The
// goroutines of a burst, and all that the last step woke, ran in parallel.
func judgeRace(run *Run) {
	if !run.raced || run.verdict != Pass {
		return
	}
	run.verdict = DataRace
	run.why = "the race detector reported a data race, in the output of the test above"
	if n := len(run.steps); n > 0 {
		run.why += fmt.Sprintf(", after step %d, «%s»", n, run.steps[n-1].Name())
	}
	if run.plan.Workers > 1 {
		run.note(fmt.Sprintf("%d schedules ran at once, and the race may be of another: with 1 worker it is this one", run.plan.Workers))
	}
}

// lostText says which request is answered to nobody.
func lostText(c *gate.Call) string {
	dir := c.Request.Dir
	ends := "both ends are open, and nothing is on its way"
	if halved(c.Request.Lane) {
		ends = fmt.Sprintf("the %s had closed its writing side alone and read on", dir.Sender())
	}
	return fmt.Sprintf("the %s read %s of the %s at step %d and answers it to nobody: "+
		"every operation has returned, the request was not cancelled, %s",
		dir.Receiver(), c.Name, dir.Sender(), c.Request.Given, ends)
}

// breaches lists the rules that live ends broke, in the order of the wire.
func breaches(run *Run) []gate.Breach {
	var list []gate.Breach
	for _, b := range run.gate.Breaches {
		if run.live(b.Dir) {
			list = append(list, b)
		}
	}
	return list
}

// owed returns the first request that a live end, excused or not, has read and not answered,
// though the sender still reads and did not cancel; or nil. In real time a response may still
// come.
func owed(run *Run, excused bool) *gate.Call {
	if run.plan.Lawless || run.kind == schedule.Settle {
		return nil
	}
	for _, c := range run.gate.Names.Calls {
		back := c.Request.Lane.Back
		shut := back.Ended || back.Ending || back.Deafened || back.Leaving || c.Abandoned()
		unsent := c.Response == nil
		if halved(c.Request.Lane) { // the sender waits, whatever the far end then closes
			shut, unsent = false, unsent || c.Response.Taken == 0
		}
		if c.Request.Given > 0 && unsent && !c.Cancelled && !c.Listen && !shut && run.live(back.Dir) && excused == run.plan.excuses(back.Dir) {
			return c
		}
	}
	return nil
}

// halved reports whether the sender of a lane has closed its writing side alone, and read on to
// the end.
func halved(lane *gate.Lane) bool {
	back := lane.Back
	return lane.Halved && (back.EOF > 0 || !back.Deafened && !back.Leaving)
}
