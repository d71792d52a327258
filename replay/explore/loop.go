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
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// errNoOracle fails a run in which no operation must return and nobody checks anything: it
// would pass whatever the peers do.
var errNoOracle = errors.New("the plan has no operation and no Check: add with Run.Op what must return")

// exited stands for a schedule whose goroutine was ended by runtime.Goexit.
type exited struct{}

// play runs one schedule, on a goroutine of its own, which is left behind if it cannot be
// brought to its end. Several runs may play at once.
func (r *Run) play(t *testing.T, p *Plan) {
	ended := make(chan any, 1)
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
		r.perform(t, p)
		returned = true
	}()
	thrown, f := r.engine.await(ended)
	if f != nil {
		judgeFreeze(t, r, f)
		return
	}
	switch v := thrown.(type) {
	case nil:
		if r.verdict == Pass && !r.cut && p.Check == nil && len(r.ops) == 0 {
			r.verdict, r.why, r.err = CheckFailed, errNoOracle.Error(), errNoOracle
		}
	case *freeze:
		judgeFreeze(t, r, v)
	case exited:
		runtime.Goexit()
	default:
		panic(v)
	}
}

// perform runs the schedule under its engine.
func (r *Run) perform(t *testing.T, p *Plan) {
	r.engine.live(t, func() {
		options := gate.Options{
			C2S: r.capacity.C2S, S2C: r.capacity.S2C, Split: r.split, Traced: r.follower != nil && !r.untraced,
			Parser: r.parser, Moves: &r.moves,
		}
		if !p.Lawless {
			options.Rules = order.New("")
		}
		r.gate, r.since = gate.New(options), time.Now()
		if options.Traced {
			r.tracer = &hang.Tracer{Gate: r.gate, Own: r.engine.own, Live: r.live, Goroutines: r.goroutines}
		}
		r.ctx, r.cancel = context.WithCancel(r.gate.Context(context.Background()))
		r.client, r.server = r.gate.Ends[0], r.gate.Ends[1]
		r.session(p)
		r.cancel()
		r.gate.Shutdown()
		r.engine.reap()
		r.gate.Lock()
		r.judgePanic()
		r.gate.Unlock()
	})
}

// session builds the peers, releases steps until none is left, and judges.
func (r *Run) session(p *Plan) {
	r.verdict = Pass
	if !r.guard("Setup", func() { p.Setup(r) }) {
		return
	}
	r.loop()
	r.gate.Lock()
	r.lessons.Recall = r.gate.Recall // at the run's end all ends take back what is left
	r.gate.Unlock()
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
	r.broken = breaches(r)
	if r.verdict != Pass {
		r.gate.Admit()
		r.stood, r.sequence, r.recording = r.unfinished(), r.draw(), r.record()
	}
}

// diverge fails a run that could not follow its token; "" means it could.
func (r *Run) diverge(why string) {
	if why != "" {
		r.verdict, r.why = Diverged, why
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

// loop waits until nothing moves, lists the enabled steps, chooses and releases one, again
// and again.
func (r *Run) loop() {
	var enabled []gate.Step
	for {
		r.engine.settle()
		r.gate.Lock()
		if r.unlearned {
			last := r.steps[len(r.steps)-1]
			r.lessons.Learn(last, r.gate.Used, r.trail.Touching)
			r.unlearned = false
		}
		enabled = r.enabled(enabled[:0])
		on := r.advance(enabled)
		r.gate.Unlock()
		if !on {
			return
		}
		if len(enabled) == 0 && !r.rest() {
			r.stand()
			return
		}
	}
}

// advance releases an enabled step, if there is one. It reports whether the run goes on. It
// holds the gate, as everything that decides: where time is real, a goroutine may wake at
// any moment.
func (r *Run) advance(enabled []gate.Step) bool {
	switch {
	case r.panicked != nil:
		r.judgePanic()
		return false
	case r.failure != nil:
		r.verdict, r.why, r.err = CheckFailed, r.failure.Error(), r.failure
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
		case len(enabled) > 1 || r.systematic:
			i = r.chooser(at, enabled)
			r.cut = i < 0
		}
		if i < 0 {
			return false
		}
		if i > 0 { // eager would choose the first
			r.choices = append(r.choices, schedule.Choice{Step: at, Hash: uint32(enabled[i].Hash())})
		}
		r.trail.Step(enabled, i)
		r.release(enabled[i])
	case r.finished() && owed(r) == nil:
		return false
	}
	return true
}

// enabled lists the steps that may be released: starts first.
func (r *Run) enabled(steps []gate.Step) []gate.Step {
	for _, op := range r.ops {
		if !op.started && !op.played && op.heldBy() == nil {
			steps = append(steps, gate.Step{Kind: gate.Start, What: op.name, Do: op.start})
		}
	}
	steps = r.gate.Steps(steps)
	if len(steps) > 0 || r.finished() {
		return steps
	}
	for _, h := range r.halves {
		if h.waits() {
			steps = append(steps, gate.Step{Kind: gate.Relent, What: h.name, Do: h.relent})
		}
	}
	return steps
}

func (r *Run) release(s gate.Step) {
	r.tracer.SeeHandlers()
	r.tracer.SeeCloses(len(r.steps))
	r.steps = append(r.steps, s)
	if !r.periodic.recurs(s, r.byName) {
		if r.woken && !r.finished() {
			r.note(fmt.Sprintf("nothing was enabled: a timer brought «%s», after %s", s.Name(), r.passed()))
		}
		r.moved, r.woken = true, false
	}
	if r.systematic {
		r.gate.Used, r.unlearned = [2]bool{}, true
	}
	if s.Do != nil {
		s.Do()
		return
	}
	r.gate.Round = len(r.steps)
	r.tracer.BeforeGive(s)
	r.gate.Release(s)
}

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

// rest lets time pass when nothing is enabled. It reports whether something came.
func (r *Run) rest() bool {
	r.tracer.SeeHandlers()
	r.gate.Lock()
	r.periodic.rests++
	returned := r.returned
	if r.moved {
		r.since, r.still, r.moved = time.Now(), len(r.steps), false
	}
	r.gate.Unlock()
	came := r.engine.rest()
	r.gate.Lock()
	defer r.gate.Unlock()
	r.woken = r.woken || came
	if r.returned > returned {
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
	d := r.diagnose()
	for _, note := range d.Closing {
		r.note(note)
	}
	r.category, r.why = d.Category, d.Why
	if doubt != "" {
		r.category, r.why = "", doubt
	}
	noteUnsaid(r)
	r.stacks = r.engine.stacks()
}

// diagnose explains why the run stands still, and keeps the fingerprint, the waits and the
// chain.
func (r *Run) diagnose() hang.Diagnosis {
	s := hang.Scene{
		Gate: r.gate, Tracer: r.tracer, Live: r.live, Breaches: breaches(r), Waits: r.waits, Steps: len(r.steps), Still: r.still,
	}
	s.Category, s.Why = modelStop(r.modeled)
	for _, op := range r.unfinished() {
		facts := &hang.Operation{Name: op.name, Started: op.started || op.played, Goroutine: op.goroutine}
		if before := op.heldBy(); before != nil {
			facts.After = before.name
		}
		s.Operations = append(s.Operations, facts)
	}
	d := hang.Diagnose(s)
	r.seen, r.shape, r.about = d.Seen, d.Shape, d.About
	r.waits, r.chain = d.Waits, d.Chain
	return d
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
		r.why = "the gate is closed and the context cancelled, but goroutines are left that nothing ends. " +
			"Is a session left open? Close it in an operation with AfterAll"
	}
}

// periodic finds traffic that timers alone bring again and again: pings, a log message
// every minute, a poll. It must not hide a call that nobody will answer, so it does not put
// off the horizon.
//
// Traffic is periodic from its fourth period on, and the run still lasts to the horizon: a
// server that says that it is at work until it answers does not hang. Requests of a user
// operation that has not returned, and their responses, are never periodic.
type periodic struct {
	rests int
	seen  map[periodicKey]periods
}

// periodicKey is a step's content without its occurrence.
type periodicKey struct {
	class int
	what  string
}

// periods counts the rests after which timers brought a kind of step, and has the last.
type periods struct{ count, last int }

// recurs reports whether a step is periodic traffic. A session may sign its own traffic
// with the operation that made it, and that has returned.
func (p *periodic) recurs(s gate.Step, ops map[string]*Operation) bool {
	switch {
	case s.Flight == nil:
		return false
	case s.Flight.Ping:
		return true
	case p.rests == 0:
		return false
	}
	by := s.Flight.Op
	if s.Flight.Answers != nil {
		by = s.Flight.Answers.Request.Op
	}
	if op := ops[by]; by != "" && op != nil && !op.done { // it asks, or is answered
		return false
	}
	if p.seen == nil {
		p.seen = map[periodicKey]periods{}
	}
	key := periodicKey{s.Class(), withoutOccurrence(s.What)}
	n := p.seen[key]
	if n.last != p.rests {
		n = periods{n.count + 1, p.rests}
		p.seen[key] = n
	}
	return n.count > 3
}

// withoutOccurrence takes the occurrence numbers out of a content name.
func withoutOccurrence(name string) string { return occurrence().ReplaceAllString(name, "#") }

var occurrence = phrase.Regexp(`#[0-9]+`)

// notePeriodic replaces the notes and choices of periodic traffic in a run that hung by a
// note of its kinds.
func notePeriodic(r *Run) {
	steps := r.steps[min(r.still, len(r.steps)):]
	if len(steps) == 0 {
		return
	}
	var names []string
	for _, s := range steps {
		name := "pings"
		if s.Flight != nil && !s.Flight.Ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	r.notes = slices.DeleteFunc(r.notes, func(note string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, what, quoted := strings.Cut(name, " ")
			return quoted && strings.Contains(withoutOccurrence(note), strings.TrimSuffix(what, "»"))
		})
	})
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	r.notes = append([]string{fmt.Sprintf("for %s nothing but %s passed, %d steps of them; the token leaves them to eager",
		r.passed(), strings.Join(names, ", "), len(steps))}, r.notes...)
	r.choices = slices.DeleteFunc(r.choices, func(c schedule.Choice) bool { return c.Step > r.still })
}
