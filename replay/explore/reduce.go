package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/shrink"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// aftermath is the real time for shrinking a failure, following its token and trying other
// capacities together: where a run takes seconds, hundreds are too many.
var aftermath = time.Minute

// verifications is how often the token of a report is followed before it is printed.
const verifications = 20

// mostLeaking is how many runs may be made to shrink a failure that leaves goroutines behind:
// they stay in the process.
const mostLeaking = 60

// reduction searches for the schedule that fails in the same way with the fewest deviations
// from eager.
type reduction struct {
	*search
	failed *Run
	want   string // the fingerprint
	left   int    // runs still allowed
	runs   int
	token  schedule.Token // the best so far
	best   *Run
	order  []uint32 // steps put off in the last run that failed
	tries  int      // runs of a schedule; it fails if most of them fail
	limits limits   // of the shrinking; half of the time is left to what follows
}

// mostFrozen is how many runs may be made to shrink a hang behind a mutex, and frozenTime for how long:
// each that hangs stays in the process, and takes a while to be known.
const (
	mostFrozen = 20
	frozenTime = 20 * time.Second
)

// reduce shrinks the schedule of a failing run.
func (s *search) reduce(failed *Run) *reduction {
	d := &reduction{
		search: s, failed: failed, want: failed.outcome.fingerprint(), left: s.plan.Shrink,
		token: failed.asToken(), best: failed, limits: s.limits, tries: 1,
	}
	if failed.outcome.stuck {
		d.left = min(d.left, mostLeaking)
	}
	if !d.limits.until.IsZero() {
		d.limits = d.limits.within(time.Until(d.limits.until) / 2)
	}
	if failed.outcome.behindMutex() {
		d.left = min(d.left, mostFrozen)
		d.limits = d.limits.within(frozenTime)
	} else if !failed.shrinks() {
		return d
	}
	if d.token.Deviations() == 0 || d.left <= 0 {
		return d
	}
	if d.puttingOff(nil) {
		return d
	}
	order := failed.shownHashes()
	for _, p := range slices.Backward(failed.clock.timers.passages) {
		if !p.fired && p.step <= len(order) { // the next one has the same name
			order = slices.Delete(order, p.step-1, p.step)
		}
	}
	d.order = order
	if d.token.Deviations() == 1 {
		return d
	}
	whole := d.fails(func() *schedule.Delayed { return schedule.NewReplayed(order) })
	if whole == nil { // a failure that does not come each time
		d.tries = 3
		whole = d.fails(func() *schedule.Delayed { return schedule.NewReplayed(order) })
	}
	if whole == nil {
		return d
	}
	order = whole.Order()
	passed := slices.DeleteFunc(slices.Clone(order), func(h uint32) bool { return !whole.Overtaken[h] })
	if len(passed) < len(order) {
		if d.puttingOff(passed) {
			order = passed
		}
	}
	d.order = shrink.Minimize(order, func(order []uint32) bool {
		if len(order) == 0 { // was tried
			return false
		}
		return d.puttingOff(order)
	})
	return d
}

// puttingOff runs eager with the steps put off, and reports whether it fails in the same
// way.
func (d *reduction) puttingOff(order []uint32) bool {
	return d.fails(func() *schedule.Delayed { return schedule.NewDelayed(order) }) != nil
}

// fails runs a schedule with steps put off, and keeps its token if that is simpler. It returns what the
// last run put off if most of the tries fail in the same way, otherwise nil.
func (d *reduction) fails(begin func() *schedule.Delayed) *schedule.Delayed {
	for failed, passed := 0, 0; 2*passed < d.tries && d.left > 0 && d.limits.ended() == ""; {
		d.left--
		d.runs++
		l := begin()
		r := d.runLate(d.failed, d.failed.terms.capacity, l)
		if r.costly() && !d.failed.outcome.behindMutex() {
			d.left = 0
		}
		if r.outcome.froze && !r.outcome.behindMutex() || r.outcome.fingerprint() != d.want {
			passed++
			continue
		}
		failed++
		if 2*failed > d.tries {
			d.keep(r, l)
			return l
		}
	}
	return nil
}

// keep keeps the token of a run that failed, if it is simpler.
func (d *reduction) keep(r *Run, l *schedule.Delayed) {
	// Of the tokens with the fewest deviations the one with the fewest steps is kept.
	held := schedule.Token{Capacity: r.terms.capacity, Level: r.terms.level, Engine: r.terms.engine, Holds: l.Holds(len(r.shownHashes()))}
	for _, t := range []schedule.Token{r.asToken(), held} {
		n := t.Deviations()
		best := d.token.Deviations()
		if n < best || n == best && len(r.course.steps) < len(d.best.course.steps) {
			d.token = t
			d.best = r
		}
	}
}

// runLate runs a plan with steps put off at the level of a failed run. The run may have more
// steps than the failed run, up to a limit.
func (s *search) runLate(failed *Run, capacity schedule.Capacity, delayed *schedule.Delayed) *Run {
	r := s.newRun(capacity)
	r.terms.engine = failed.terms.engine
	r.terms.level = failed.terms.level
	r.course.chooser = delayed.Choose
	r.terms.limit = min(r.terms.limit, 1000+4*len(failed.course.steps))
	r.play(s.t)
	return r
}

// verified is the outcome of following a token many times.
type verified struct {
	token schedule.Token
	held  int // times the same failure came again
	of    int
	first *Run // traced
}

// verify follows a token. A report must not promise more than the token holds.
func (d *reduction) verify(token schedule.Token) verified {
	v := verified{token: token}
	times := verifications
	if d.failed.outcome.behindMutex() {
		times = 3
	}
	for v.of < times && (v.of == 0 || d.search.limits.ended() == "") {
		r := d.following(token, v.of == 0)
		if v.of == 0 {
			v.first = r
		}
		v.of++
		if r.outcome.fingerprint() == d.want {
			v.held++
		}
		if r.costly() && !r.outcome.behindMutex() {
			break
		}
	}
	return v
}

// unsteady is the likely reason why a token does not hold.
const unsteady = "The likely reason is a choice of Go's own, which is in no token: " +
	"which ready case a select takes, or in which order the goroutines of one step write"

// chooseToken chooses the token of the simplest schedule, or of the original schedule if that fails
// more often.
func (d *reduction) chooseToken() (verified verified, notes []string) {
	verified = d.verify(d.token)
	if verified.held < verified.of && d.best != d.failed {
		other := d.verify(d.failed.asToken())
		if other.held >= verified.held {
			verified, other = other, verified
		}
		if other.held > 0 {
			notes = append(notes, fmt.Sprintf("another order fails in the same way, %d of %d times: %v",
				other.held, other.of, other.token))
		}
	}
	if verified.held < verified.of {
		notes = append(notes, fmt.Sprintf("the token gave the same again %d of %d times. The first time it was: %s. %s",
			verified.held, verified.of, &verified.first.outcome, unsteady))
	}
	return verified, notes
}

// confirm simplifies the schedule of a failure, and reports a run of the simpler schedule. A run without
// end is told as it is: it would take as long again, and with traces ten times as long.
func (s *search) confirm(report *Report, failed *Run) {
	if failed.isEndless() {
		report.Token = failed.asToken().String()
		return
	}
	d := s.reduce(failed)
	v, notes := d.chooseToken()
	if v.first.outcome.fingerprint() == d.want {
		*report = s.report(v.first, report.Schedules)
	}
	report.Token = v.token.String()
	shown := failed
	if v.first.outcome.fingerprint() == d.want {
		shown = v.first
	}
	addSchedules(s, report, shown)
	report.Smaller = s.smaller(d)
	report.Boundary = d.boundary()
	report.Notes = append(report.Notes, notes...)
	report.Shrunk = Shrunk{
		From: failed.asToken().Deviations(), To: v.token.Deviations(), Runs: d.runs, Held: v.held, Verified: v.of,
	}
}

// boundary says at which capacities the schedule fails in the same way; "" if every capacity
// is alike, or if the order of the steps alone does not bring the failure back, as with
// peers that write for ever where there is room.
func (d *reduction) boundary() string {
	if d.left <= 0 || !d.best.shrinks() || d.search.limits.ended() != "" {
		return ""
	}
	at, told := d.best.terms.capacity, true
	if d.runLate(d.failed, at, schedule.NewDelayed(d.order)).outcome.fingerprint() != d.want {
		return ""
	}
	b := shrink.FindBoundary(at.Rooms(), func(capacity closed.Capacity) bool {
		told = told && d.search.limits.ended() == ""
		if !told {
			return false
		}
		r := d.runLate(d.failed, schedule.CapacityOf(capacity), schedule.NewDelayed(d.order))
		told = !r.costly() && r.outcome.verdict != Undecided
		return r.outcome.fingerprint() == d.want
	})
	if b.Always || !told {
		return ""
	}
	return b.String()
}

// trial is the search for a smaller session.
type trial struct {
	*search
	failed *Run
	want   string
	order  []uint32 // hashes of the put-off steps
	stuck  bool     // a session was too costly: the trial ends
	late   bool     // the time was up: the trial ends
}

// smaller shrinks the session that a plan plays, and then the failing schedule. It returns
// nil without a session, if no frame can go, or if the token of the smaller session does not
// hold even once. A failure by an unrecorded frame is not shrunk: it needs no other frame.
func (s *search) smaller(d *reduction) *Smaller {
	if len(s.plan.Session) == 0 || d.left <= 0 || !d.best.shrinks() || s.limits.ended() != "" ||
		d.best.outcome.verdict == CheckFailed && len(d.best.peers.strangers()) > 0 {
		return nil
	}
	t := &trial{search: s, failed: d.best, want: sessionFingerprint(d.best), order: d.order}
	r := shrink.Session(s.plan.Session, t.try, shrink.Options{Capacity: d.best.terms.capacity.Rooms(), Budget: s.plan.Shrink})
	if r.To == r.From || t.stuck {
		return nil
	}
	small, run := t.play(r.Candidate)
	if small == nil || sessionFingerprint(run) != t.want {
		return nil
	}
	again := small.reduce(run)
	v, _ := again.chooseToken()
	if v.held == 0 {
		return nil
	}
	boundary := r.Boundary.String()
	if t.late { // the trial was cut short
		boundary = ""
	}
	return &Smaller{
		From: r.From, To: r.To, Runs: r.Tries + again.runs, Token: v.token.String(), Held: v.held, Verified: v.of,
		Boundary: boundary, Events: r.Events,
	}
}

// try is the shrink.Try of the plan.
func (t *trial) try(candidate shrink.Candidate) shrink.Outcome {
	t.late = t.late || t.limits.ended() != ""
	if t.stuck || t.late {
		return shrink.Outcome{}
	}
	_, r := t.play(candidate)
	if r == nil || r.outcome.verdict == Pass {
		return shrink.Outcome{}
	}
	if r.costly() {
		t.stuck = true
		return shrink.Outcome{}
	}
	o := shrink.Outcome{Fingerprint: sessionFingerprint(r), C2S: r.peers.gate.Lanes[0].Said, S2C: r.peers.gate.Lanes[1].Said}
	seqs := map[transport.Direction][]uint64{} // of the frames
	for _, e := range candidate.Events {
		if e.Kind == store.Frame {
			seqs[e.Dir] = append(seqs[e.Dir], e.Seq)
		}
	}
	for _, f := range r.outcome.about {
		if list := seqs[f.Dir]; f.Number <= len(list) {
			o.Involved = append(o.Involved, list[f.Number-1])
		}
	}
	return o
}

// sessionFingerprint is the fingerprint of a run that played a session, with the number of
// unrecorded frames that a live end asked for.
func sessionFingerprint(run *Run) string {
	return fmt.Sprintf("%s, %d off the recording", run.outcome.fingerprint(), len(run.peers.strangers()))
}

// play runs the plan with another session, in the failed order as far as possible.
func (t *trial) play(candidate shrink.Candidate) (*search, *Run) {
	plan := *t.plan
	plan.Session, plan.ready = candidate.Events, halves.NewSession(candidate.Events, plan.Rules)
	if plan.again != nil {
		other, err := plan.again(candidate.Events)
		if err != nil {
			return nil, nil
		}
		plan.Setup = other.Setup
	}
	s := &search{t: t.t, plan: &plan, limits: t.limits}
	s.fallback.watches.Store(t.fallback.watches.Load())
	return s, s.runLate(t.failed, schedule.CapacityOf(candidate.Capacity), schedule.NewDelayed(t.order))
}
