package explore

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/shrink"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

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

// smaller shrinks the session that a plan plays; nil if it does not play one, or
// if nothing of it can go. A failure by what is not in the recording is there
// without the rest of it, too: nothing is learned from that.
func (s *search) smaller(d *reduction) *Smaller {
	if len(s.plan.Session) == 0 || d.left <= 0 || !d.best.shrinks() || s.limits.ended() != "" {
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
	return t.proved(r)
}

// proved makes the schedule of the smaller session as simple as can be and
// follows its token; nil if it does not hold even once.
func (t *trial) proved(r shrink.Result) *Smaller {
	small, run := t.play(r.Candidate)
	if small == nil || fingerprintWith(run) != t.want {
		return nil
	}
	d := small.reduce(run)
	v, _ := d.settle()
	if v.held == 0 {
		return nil
	}
	boundary := r.Boundary.String()
	if t.late { // not all of it was tried
		boundary = ""
	}
	return &Smaller{
		From: r.From, To: r.To, Runs: r.Tries + d.runs, Token: v.token.String(), Held: v.held, Verified: v.of,
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
	if r.costly() {
		t.stuck = true
		return shrink.Outcome{}
	}
	o := shrink.Outcome{Fingerprint: fingerprintWith(r), C2S: r.gate.lanes[0].said, S2C: r.gate.lanes[1].said}
	seqs := frameSeqs(c.Events)
	for _, f := range r.about {
		if list := seqs[f.dir]; f.number <= len(list) {
			o.Involved = append(o.Involved, list[f.number-1])
		}
	}
	return o
}

// fingerprintWith is the fingerprint of a run that played a session. A live end
// that asks for more of what is not in it fails in another way.
func fingerprintWith(r *Run) string {
	return fmt.Sprintf("%s, %d off the recording", r.fingerprint(), len(r.strangers()))
}

// play runs the plan with another session, in the order that failed as far as it
// goes.
func (t *trial) play(c shrink.Candidate) (*search, *Run) {
	plan, err := t.plan.with(c.Events)
	if err != nil {
		return nil, nil
	}
	s := &search{t: t.t, plan: plan, limits: t.limits}
	r := s.newRun(Capacity{C2S: int(c.Capacity.C2S), S2C: int(c.Capacity.S2C)})
	r.level, r.chooser, r.limit = t.failed.level, newLate(t.order).choose, min(r.limit, stepLimit(t.failed))
	r.play(t.t, plan)
	return s, r
}

// with returns the plan for another session.
func (p *Plan) with(events []store.Event) (*Plan, error) {
	q := *p
	q.Session, q.ready = events, &prepared{events: events}
	if p.again == nil {
		return &q, nil
	}
	other, err := p.again(events)
	if err != nil {
		return nil, fmt.Errorf("plan for a smaller session: %w", err)
	}
	q.Setup = other.Setup
	return &q, nil
}

// frameSeqs lists the Seqs of a session's frames by direction.
func frameSeqs(events []store.Event) map[transport.Direction][]uint64 {
	seqs := map[transport.Direction][]uint64{}
	for _, e := range events {
		if e.Kind == store.Frame {
			seqs[e.Dir] = append(seqs[e.Dir], e.Seq)
		}
	}
	return seqs
}

// shownFrames is how many frames of a smaller session the text shows.
const shownFrames = 40

// text names the frames, as the run does.
func (s *Smaller) text(b *strings.Builder) {
	boundary := ""
	if s.Boundary != "" {
		boundary = "; " + s.Boundary
	}
	fmt.Fprintf(b, "\n  the session shrinks from %s to %d (in %s); its token, %s, held %d of %d times%s:\n",
		phrase.Plural(s.From, "frame"), s.To, phrase.Plural(s.Runs, "run"), s.Token, s.Held, s.Verified, boundary)
	names := newNamer()
	shown := 0
	for _, e := range s.Events {
		if e.Kind != store.Frame {
			continue
		}
		if shown == shownFrames {
			fmt.Fprintf(b, "    … and %d more\n", s.To-shown)
			return
		}
		shown++
		f := &flight{dir: e.Dir, frame: e.AsFrame()}
		names.name(f)
		fmt.Fprintf(b, "    %v %s\n", e.Dir, f.name)
	}
}
