package explore

import (
	"fmt"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/shrink"
)

// Shrunk says how a report's schedule was made simpler, and whether its token
// holds.
type Shrunk struct {
	// From and To count the choices that deviate from eager.
	From int `json:"from"`
	To   int `json:"to"`
	// Runs is how many schedules that took.
	Runs int `json:"runs"`
	// Held is how many times of Verified the token gave the same failure again.
	Held     int `json:"held"`
	Verified int `json:"verified"`
}

// verifications is how many times the token of a report is followed before it is
// printed.
const verifications = 20

// defaultShrink is the budget of [Plan.Shrink].
const defaultShrink = 100

// reduction is the search for the schedule with the fewest deviations from eager
// that still fails in the same way.
type reduction struct {
	*search
	failed *Run
	want   string
	left   int // runs that may still be made
	runs   int
	token  Token // the best so far
	best   *Run
	order  []uint32 // steps put off in the last run that failed
	limits limits   // of the shrinking; half of the time is left to what follows
}

// shrinks reports whether a failure is one that another schedule can show again.
// What freezes its bubble does so every time.
func (r *Run) shrinks() bool {
	switch r.verdict {
	case Pass, Undecided, Diverged, Leak:
		return false
	}
	return !r.froze && !r.costly()
}

// reduce shrinks the schedule of a failing run.
func (s *search) reduce(failed *Run) *reduction {
	d := &reduction{search: s, failed: failed, want: failed.fingerprint(), left: s.plan.Shrink, token: failed.asToken(), best: failed, limits: s.limits.half()}
	if !failed.shrinks() || d.token.Deviations() == 0 || d.left <= 0 {
		return d
	}
	if _, ok := d.puttingOff(nil); ok {
		return d
	}
	order := failed.released()
	d.order = order
	if d.token.Deviations() == 1 {
		return d
	}
	whole, ok := d.puttingOff(order)
	if !ok {
		return d
	}
	if passed := whole.passed(); len(passed) < len(order) {
		if _, ok := d.puttingOff(passed); ok {
			order = passed
		}
	}
	d.order = shrink.Minimize(order, func(order []uint32) bool {
		if len(order) == 0 { // was tried
			return false
		}
		_, ok := d.puttingOff(order)
		return ok
	})
	return d
}

// released are the steps of a run, without those that only went on while it hung.
func (r *Run) released() []uint32 {
	steps := r.steps
	if stands(r.verdict) {
		steps = steps[:min(r.still, len(steps))]
	}
	order := make([]uint32, len(steps))
	for i, s := range steps {
		order[i] = uint32(s.Hash())
	}
	return order
}

// puttingOff runs eager with the steps put off, and reports whether it fails in
// the same way.
func (d *reduction) puttingOff(order []uint32) (*late, bool) {
	if d.left <= 0 || d.limits.ended() != "" {
		return nil, false
	}
	d.left--
	d.runs++
	l := newLate(order)
	r := d.again(d.failed.capacity, l)
	if r.costly() {
		d.left = 0
	}
	if r.froze || r.fingerprint() != d.want {
		return l, false
	}
	d.offer(r, r.asToken())
	d.offer(r, Token{Capacity: r.capacity, Level: r.level, Engine: r.kind, Holds: l.holds(len(r.released()))})
	return l, true
}

// offer keeps the token with the fewest deviations; of equals the run with the
// fewest steps.
func (d *reduction) offer(r *Run, t Token) {
	n, best := t.Deviations(), d.token.Deviations()
	if n < best || n == best && len(r.steps) < len(d.best.steps) {
		d.token, d.best = t, r
	}
}

// verified is what following a token many times gave.
type verified struct {
	token Token
	held  int // times the same failure came again
	of    int
	first *Run // traced: it says where readers are blocked
}

// verify follows a token until it was enough. A report must not promise what it
// does not hold.
func (d *reduction) verify(t Token) verified {
	v := verified{token: t}
	for i := range verifications {
		if i > 0 && d.search.limits.ended() != "" {
			break
		}
		r := d.following(t, i == 0)
		v.of++
		if i == 0 {
			v.first = r
		}
		if r.fingerprint() == d.want {
			v.held++
		}
		if r.costly() {
			break
		}
	}
	return v
}

// settle chooses between the simplest schedule and the one that was found: the
// simple one, unless it does not hold as often.
func (d *reduction) settle() (v verified, notes []string) {
	v = d.verify(d.token)
	if v.held < v.of && d.best != d.failed {
		found := d.verify(d.failed.asToken())
		kept, other := v, found
		if found.held >= v.held {
			kept, other = found, v
		}
		if v = kept; other.held > 0 {
			notes = append(notes, fmt.Sprintf("another schedule fails in the same way, %d of %d times: %v", other.held, other.of, other.token))
		}
	}
	if v.held < v.of {
		notes = append(notes, fmt.Sprintf("the token gave the same again %d of %d times. The first time it was: %s %s. %s",
			v.held, v.of, v.first.verdict, v.first.category, v.first.why))
	}
	return v, notes
}

// confirm makes the schedule of a failure as simple as it can be, and makes the
// report that of a run that followed it.
func (s *search) confirm(report *Report, failed *Run) {
	d := s.reduce(failed)
	v, notes := d.settle()
	if v.first.fingerprint() == d.want {
		before := *report
		*report = s.report(v.first, before.Schedules)
		report.Coverage = before.Coverage
	}
	report.Token = v.token.String()
	report.Smaller = s.smaller(d)
	report.Boundary = d.boundary()
	report.Notes = append(report.Notes, notes...)
	report.Shrunk = Shrunk{
		From: failed.asToken().Deviations(), To: v.token.Deviations(), Runs: d.runs, Held: v.held, Verified: v.of,
	}
}

// boundary says at which capacities the schedule fails in the same way; "" where
// every capacity is alike, or it cannot be told: peers that write for ever do so
// where there is room, and the order of the steps alone may not bring the failure back.
func (d *reduction) boundary() string {
	if d.left <= 0 || !d.best.shrinks() || d.search.limits.ended() != "" {
		return ""
	}
	at, told := d.best.capacity, true
	if d.again(at, newLate(d.order)).fingerprint() != d.want {
		return ""
	}
	b := shrink.FindBoundary(replay.Capacity{C2S: replay.Room(at.C2S), S2C: replay.Room(at.S2C)}, func(c replay.Capacity) bool {
		if told = told && d.search.limits.ended() == ""; !told {
			return false
		}
		r := d.again(Capacity{C2S: int(c.C2S), S2C: int(c.S2C)}, newLate(d.order))
		told = !r.costly() && r.verdict != Undecided
		return r.fingerprint() == d.want
	})
	if b.Always || !told {
		return ""
	}
	return b.String()
}

// again runs the plan with steps put off. It has more steps than the run that
// failed, but not for ever.
func (d *reduction) again(c Capacity, l *late) *Run {
	r := d.newRun(c)
	r.level, r.chooser, r.limit = d.failed.level, l.choose, min(r.limit, stepLimit(d.failed))
	r.play(d.t, d.plan)
	return r
}

// costly reports whether no other run like this one is to be made: it was given up where it
// stood, or real time had to pass before its leaks, or that it is undecided, were known.
func (r *Run) costly() bool {
	return r.froze || r.kind == Settle && (r.stuck || r.verdict == Undecided)
}

// stepLimit is when a run that is to be like another has gone another way.
func stepLimit(like *Run) int { return 1000 + 4*len(like.steps) }
