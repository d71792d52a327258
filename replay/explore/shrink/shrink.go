package shrink

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// Candidate is a session to be tried. Its events must not be changed.
type Candidate struct {
	Events   []store.Event
	Capacity replay.Capacity
}

// Outcome is what came of trying a candidate.
type Outcome struct {
	// Fingerprint says which bug it was; "" if none. It must not have in it what
	// changes when frames go: numbers, ids, names of frames.
	Fingerprint string
	// C2S and S2C are how many frames of each direction were said at all: those
	// after them had no part in it. Both 0: unknown.
	C2S, S2C int
	// Involved are Seqs of frames that the failure is about: a guess of what to
	// keep. It may be empty.
	Involved []uint64
}

// Try runs a candidate. The same candidate must have the same outcome.
type Try func(Candidate) Outcome

// Options of a shrink. The zero value keeps sessions whole.
type Options struct {
	// Capacity is where the session fails.
	Capacity replay.Capacity
	// KeepCapacity leaves it as it is.
	KeepCapacity bool
	// Fragment lets the handshake of a revision that wants one go: the result is
	// then what may follow one, not a whole session.
	Fragment bool
	// Budget is how many candidates to try; 0 is 100. The boundary has a few more.
	Budget int
}

// Result is the smallest candidate found.
type Result struct {
	Candidate
	// Fingerprint is the bug's; "" if the session does not fail.
	Fingerprint string
	// From and To count the frames before and after.
	From, To int
	// Tries is how many candidates were tried, the session itself with them.
	Tries int
	// Spent: the budget ended the search; more might go.
	Spent bool
	// Boundary says which capacities hide the bug.
	Boundary Boundary
}

// kept is how many candidates are remembered to go on from.
const kept = 4

// shrink is one search for a smaller session.
type shrink struct {
	*cut
	try   Try
	opt   Options
	want  string
	tries int
	tried map[key]*found // nil: not the same bug
	best  []*found
}

// found is a candidate that fails in the same way.
type found struct {
	choice
	cost    cost
	outcome Outcome
	events  []store.Event
	from    map[uint64]int // Seq → frame of the cut
	worked  bool           // the passes were over it
}

// Session returns the smallest session it finds that has the fingerprint of the
// one given. It is deterministic. A session that does not fail comes back as it
// is.
func Session(events []store.Event, try Try, opt Options) Result {
	opt.Budget = cmp.Or(opt.Budget, 100)
	s := &shrink{cut: take(events, opt.Fragment), try: try, opt: opt, tried: map[key]*found{}, tries: 1}
	r := Result{Candidate: Candidate{Events: events, Capacity: opt.Capacity}, From: len(s.frames), To: len(s.frames)}
	r.Fingerprint = try(r.Candidate).Fingerprint
	s.want = r.Fingerprint
	if s.want != "" && s.accept(s.all()) != nil {
		s.work()
		best := s.best[0]
		r.Spent = s.spent()
		r.Candidate, r.To = Candidate{Events: s.finish(best.events), Capacity: best.capacity}, best.cost.frames
		r.Boundary = s.boundary(best)
	}
	r.Tries = s.tries
	return r
}

// all is the whole session.
func (s *shrink) all() choice {
	x := choice{keep: make([]bool, len(s.parts)), alone: make([]bool, len(s.groups)), extras: true, capacity: s.opt.Capacity}
	for i := range x.keep {
		x.keep[i] = true
	}
	return x
}

func (s *shrink) spent() bool { return s.tries >= s.opt.Budget }

// accept tries a choice, once, and remembers it if it is the same bug; else it
// returns nil.
func (s *shrink) accept(x choice) *found {
	s.lower(x.keep)
	key := x.key()
	if f, ok := s.tried[key]; ok || s.spent() || !slices.Contains(x.keep, true) {
		return f
	}
	f := &found{choice: x}
	f.events, f.from = s.build(x)
	s.tries++
	f.outcome = s.try(Candidate{Events: f.events, Capacity: x.capacity})
	if f.outcome.Fingerprint != s.want {
		f = nil
	} else {
		f.cost = s.cost(x, f.events)
		s.remember(f)
	}
	s.tried[key] = f
	return f
}

func (s *shrink) remember(f *found) {
	at, _ := slices.BinarySearchFunc(s.best, f, func(a, b *found) int { return a.cost.compare(b.cost) })
	s.best = slices.Insert(s.best, at, f)
	s.best = s.best[:min(len(s.best), kept)]
}

// work goes over the best candidates until nothing changes.
func (s *shrink) work() {
	for !s.spent() {
		i := slices.IndexFunc(s.best, func(f *found) bool { return !f.worked })
		if i < 0 {
			return
		}
		s.best[i].worked = true
		s.passes(s.best[i])
	}
}
