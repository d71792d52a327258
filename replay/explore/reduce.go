package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/shrink"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
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
func shrinks(r *Run) bool {
	switch r.verdict {
	case Pass, Undecided, Diverged, Leak:
		return false
	}
	return !r.froze && !costly(r)
}

// reduce shrinks the schedule of a failing run.
func (s *search) reduce(failed *Run) *reduction {
	d := &reduction{
		search: s, failed: failed, want: fingerprint(failed), left: s.plan.Shrink,
		token: failed.asToken(), best: failed, limits: s.limits,
	}
	if !d.limits.until.IsZero() {
		d.limits = d.limits.within(time.Until(d.limits.until) / 2)
	}
	if !shrinks(failed) || d.token.Deviations() == 0 || d.left <= 0 {
		return d
	}
	if _, ok := d.puttingOff(nil); ok {
		return d
	}
	order := released(failed)
	d.order = order
	if d.token.Deviations() == 1 {
		return d
	}
	whole, ok := d.puttingOff(order)
	if !ok {
		return d
	}
	passed := slices.DeleteFunc(slices.Clone(order), func(h uint32) bool { return !whole.past[h] })
	if len(passed) < len(order) {
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
func released(r *Run) []uint32 {
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
	if costly(r) {
		d.left = 0
	}
	if r.froze || fingerprint(r) != d.want {
		return l, false
	}
	d.offer(r, r.asToken())
	d.offer(r, Token{Capacity: r.capacity, Level: r.level, Engine: r.kind, Holds: l.holds(len(released(r)))})
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
		if fingerprint(r) == d.want {
			v.held++
		}
		if costly(r) {
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
	if fingerprint(v.first) == d.want {
		before := *report
		*report = newReport(v.first, before.Schedules)
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
	if d.left <= 0 || !shrinks(d.best) || d.search.limits.ended() != "" {
		return ""
	}
	at, told := d.best.capacity, true
	if fingerprint(d.again(at, newLate(d.order))) != d.want {
		return ""
	}
	b := shrink.FindBoundary(replay.Capacity{C2S: replay.Room(at.C2S), S2C: replay.Room(at.S2C)}, func(c replay.Capacity) bool {
		if told = told && d.search.limits.ended() == ""; !told {
			return false
		}
		r := d.again(Capacity{C2S: int(c.C2S), S2C: int(c.S2C)}, newLate(d.order))
		told = !costly(r) && r.verdict != Undecided
		return fingerprint(r) == d.want
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
func costly(r *Run) bool {
	return r.froze || r.kind == Settle && (r.stuck || r.verdict == Undecided)
}

// stepLimit is when a run that is to be like another has gone another way.
func stepLimit(like *Run) int { return 1000 + 4*len(like.steps) }

// fingerprint says which bug a failing run has, so that a smaller run can be
// asked for the same one. What changes with the schedule is not in it: numbers,
// names of frames, and who else got stuck.
func fingerprint(r *Run) string {
	text := r.verdict + " " + r.category
	switch {
	case stands(r.verdict): // a run that was traced shows more, and must not differ by that
		return r.verdict + " " + cmp.Or(r.seen, r.category) + ": " + r.shape
	case r.err != nil:
		return text + ": " + anonymous(r.err.Error())
	case r.verdict == Panic:
		return text + ": " + anonymous(r.why)
	}
	return text
}

var particular = phrase.Regexp(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// anonymous takes numbers and quoted names out of a message.
func anonymous(s string) string { return particular().ReplaceAllString(s, "_") }

// Smaller is the smallest session found that fails in the same way, where the
// plan plays one.
type Smaller struct {
	// From and To count the frames of the plan's session and of this one.
	From int `json:"from"`
	To   int `json:"to"`
	// Runs is how many sessions were tried.
	Runs int `json:"runs"`
	// Token reproduces the failure with this session in the place of the plan's.
	Token string `json:"token"`
	// Held is how many times of Verified it did.
	Held     int `json:"held"`
	Verified int `json:"verified"`
	// Boundary says at which capacities the failure shows; "" if that was not searched.
	Boundary string `json:"boundary"`
	// Events are the session.
	Events []store.Event `json:"-"`
}

// trial is the search for a smaller session.
type trial struct {
	*search
	failed *Run
	want   string
	order  []uint32 // steps that are put off
	stuck  bool     // a session was too costly: no further one is tried
	late   bool     // there was no more time: no further one is tried
}

// smaller shrinks the session that a plan plays, and then the schedule that fails with
// it; nil if the plan does not play one, if nothing of it can go, or if the token of the
// smaller one does not hold even once. A failure by what is not in the recording is
// there without the rest of it, too: nothing is learned from that.
func (s *search) smaller(d *reduction) *Smaller {
	if len(s.plan.Session) == 0 || d.left <= 0 || !shrinks(d.best) || s.limits.ended() != "" {
		return nil
	}
	if d.best.verdict == CheckFailed && len(d.best.strangers()) > 0 {
		return nil
	}
	t := &trial{search: s, failed: d.best, want: fingerprintWith(d.best), order: d.order}
	c := d.best.capacity
	r := shrink.Session(s.plan.Session, t.try, shrink.Options{
		Capacity: replay.Capacity{C2S: replay.Room(c.C2S), S2C: replay.Room(c.S2C)}, Budget: s.plan.Shrink,
	})
	if r.To == r.From || t.stuck {
		return nil
	}
	small, run := t.play(r.Candidate)
	if small == nil || fingerprintWith(run) != t.want {
		return nil
	}
	again := small.reduce(run)
	v, _ := again.settle()
	if v.held == 0 {
		return nil
	}
	boundary := r.Boundary.String()
	if t.late { // not all of it was tried
		boundary = ""
	}
	return &Smaller{
		From: r.From, To: r.To, Runs: r.Tries + again.runs, Token: v.token.String(), Held: v.held, Verified: v.of,
		Boundary: boundary, Events: r.Events,
	}
}

// try is the shrink.Try of the plan.
func (t *trial) try(c shrink.Candidate) shrink.Outcome {
	if t.late = t.late || t.limits.ended() != ""; t.stuck || t.late {
		return shrink.Outcome{}
	}
	_, r := t.play(c)
	if r == nil || r.verdict == Pass {
		return shrink.Outcome{}
	}
	if costly(r) {
		t.stuck = true
		return shrink.Outcome{}
	}
	o := shrink.Outcome{Fingerprint: fingerprintWith(r), C2S: r.gate.Lanes[0].Said, S2C: r.gate.Lanes[1].Said}
	seqs := map[transport.Direction][]uint64{} // of the frames
	for _, e := range c.Events {
		if e.Kind == store.Frame {
			seqs[e.Dir] = append(seqs[e.Dir], e.Seq)
		}
	}
	for _, f := range r.about {
		if list := seqs[f.Dir]; f.Number <= len(list) {
			o.Involved = append(o.Involved, list[f.Number-1])
		}
	}
	return o
}

// fingerprintWith is the fingerprint of a run that played a session. A live end
// that asks for more of what is not in it fails in another way.
func fingerprintWith(r *Run) string {
	return fmt.Sprintf("%s, %d off the recording", fingerprint(r), len(r.strangers()))
}

// play runs the plan with another session, in the order that failed as far as it
// goes.
func (t *trial) play(c shrink.Candidate) (*search, *Run) {
	plan := *t.plan
	plan.Session, plan.ready = c.Events, prepare(c.Events)
	if plan.again != nil {
		other, err := plan.again(c.Events)
		if err != nil {
			return nil, nil
		}
		plan.Setup = other.Setup
	}
	s := &search{t: t.t, plan: &plan, limits: t.limits}
	r := s.newRun(Capacity{C2S: int(c.Capacity.C2S), S2C: int(c.Capacity.S2C)})
	r.level, r.chooser, r.limit = t.failed.level, newLate(t.order).choose, min(r.limit, stepLimit(t.failed))
	r.play(t.t, &plan)
	return s, r
}

// text names the frames, as the run does.
func (s *Smaller) text(b *strings.Builder) {
	title := fmt.Sprintf("the session shrinks from %s to %d (in %s); its token, %s, held %d of %d times",
		phrase.Plural(s.From, "frame"), s.To, phrase.Plural(s.Runs, "run"), s.Token, s.Held, s.Verified)
	if s.Boundary != "" {
		title += "; " + s.Boundary
	}
	names := gate.NewNamer(nil)
	var frames []string
	for _, e := range s.Events {
		if e.Kind == store.Frame {
			frames = append(frames, e.Dir.String()+" "+names.Name(e.Dir, e.AsFrame()))
		}
	}
	writeList(b, title, frames, 40)
}
