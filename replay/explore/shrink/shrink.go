package shrink

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Candidate is a session to be tried. Its events must not be changed.
type Candidate struct {
	Events   []store.Event
	Capacity closed.Capacity
}

// Outcome is the result of a candidate.
type Outcome struct {
	// Fingerprint identifies the bug; "" if there is none. Numbers, ids and names of frames
	// change when frames go, and must not be in it.
	Fingerprint string
	// C2S and S2C count the sent frames of each direction: later frames had no part in the
	// failure. Both 0: unknown.
	C2S, S2C int
	// Involved are the Seqs of the failure's own frames, a guess; it may be empty.
	Involved []uint64
}

// Try runs a candidate. The same candidate must have the same outcome.
type Try func(Candidate) Outcome

// Options of a shrink. The zero value keeps sessions whole.
type Options struct {
	// Capacity is where the session fails.
	Capacity closed.Capacity
	// Budget is how many candidates to try; 0 is 100. The boundary has a few more.
	Budget int

	keepCapacity bool
	fragment     bool // the handshake may go, though the revision wants one
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

// keptCandidates is how many candidates are remembered to go on from.
const keptCandidates = 4

// shrink is one search for a smaller session.
type shrink struct {
	*cut
	try   Try
	opt   Options
	want  string // the fingerprint
	tries int
	tried map[string]*found // by key of the choice; nil: not the same bug
	best  []*found
}

// found is a candidate that fails in the same way.
type found struct {
	choice
	cost    cost
	outcome Outcome
	events  []store.Event
	from    map[uint64]int // Seq → frame of the cut
	worked  bool           // every pass has had this candidate
}

// Session returns the smallest session found with the fingerprint of the given session. A
// session that does not fail is returned unchanged.
func Session(events []store.Event, try Try, opt Options) Result {
	opt.Budget = cmp.Or(opt.Budget, 100)
	s := &shrink{cut: takeApart(events, opt.fragment), try: try, opt: opt, tried: map[string]*found{}, tries: 1}
	r := Result{Candidate: Candidate{Events: events, Capacity: opt.Capacity}, From: len(s.frames), To: len(s.frames)}
	r.Fingerprint = try(r.Candidate).Fingerprint
	s.want = r.Fingerprint
	if s.want != "" && s.accept(s.all()) != nil {
		for i := 0; i >= 0 && !s.spent(); i = slices.IndexFunc(s.best, func(found *found) bool { return !found.worked }) {
			f := s.best[i] // each pass takes up the candidate of the one before
			f.worked = true
			for _, pass := range [...]func(*found) *found{
				s.rendezvous, s.guess, s.truncate, s.drop, s.swap, s.serialise,
			} {
				if smaller := pass(f); smaller != nil {
					f = smaller
				}
			}
		}
		best := s.best[0]
		r.Spent = s.spent()
		r.Candidate = Candidate{Events: s.finish(best.events), Capacity: best.capacity}
		r.To = best.cost.frames
		r.Boundary = FindBoundary(best.capacity, func(capacity closed.Capacity) bool {
			s.tries++
			return s.try(Candidate{Events: best.events, Capacity: capacity}).Fingerprint == s.want
		})
	}
	r.Tries = s.tries
	return r
}

// all keeps the whole session.
func (s *shrink) all() choice {
	x := choice{keep: make([]bool, len(s.parts)), alone: make([]bool, len(s.groups)), extras: true, capacity: s.opt.Capacity}
	for i := range x.keep {
		x.keep[i] = true
	}
	return x
}

func (s *shrink) spent() bool { return s.tries >= s.opt.Budget }

// accept tries a choice, once, and remembers a choice with the same bug; else it returns nil.
func (s *shrink) accept(choice choice) *found {
	s.dropIllegal(choice.keep)
	key := choice.key()
	if f, ok := s.tried[key]; ok || s.spent() || !slices.Contains(choice.keep, true) {
		return f
	}
	s.tries++
	f := &found{choice: choice}
	f.events, f.from = s.build(choice)
	f.outcome = s.try(Candidate{Events: f.events, Capacity: choice.capacity})
	if f.outcome.Fingerprint != s.want {
		s.tried[key] = nil
		return nil
	}
	f.cost = s.costOf(choice, f.events)
	s.tried[key] = f
	at, _ := slices.BinarySearchFunc(s.best, f, func(a, b *found) int {
		v, w := a.cost, b.cost
		return cmp.Or(cmp.Compare(v.frames, w.frames), cmp.Compare(v.room, w.room), cmp.Compare(v.overlap, w.overlap),
			cmp.Compare(v.extras, w.extras), cmp.Compare(v.bytes, w.bytes),
			slices.CompareFunc(a.keep, b.keep, func(a, b bool) int { return cmp.Compare(flag(b), flag(a)) }))
	})
	s.best = slices.Insert(s.best, at, f)
	s.best = s.best[:min(len(s.best), keptCandidates)]
	return f
}

// Boundary says from which capacity on a bug does not show.
type Boundary struct {
	// Always: the bug shows at unbounded capacity too.
	Always bool
	// At is where the search began: the bug shows there.
	At closed.Capacity
	// C2S and S2C are the least capacities found of one direction that hide the bug, with
	// the other direction as in At; [closed.Unbounded] where no capacity hides the bug.
	C2S, S2C closed.Room
}

// String is a sentence on the failure, for each direction alone. It names tried capacities: with
// room for 0 and for 3 frames, not for 4.
func (b Boundary) String() string {
	switch {
	case b.Always:
		return "no buffer of the transport hides it"
	case b == Boundary{}:
		return "not searched"
	}
	return boundaryText(transport.ClientToServer, b.At.C2S, b.C2S) + "; " + boundaryText(transport.ServerToClient, b.At.S2C, b.S2C)
}

// boundaryText says where the bug shows in one direction: at a room, but not from another on.
func boundaryText(dir transport.Direction, at, from closed.Room) string {
	way := fmt.Sprintf("from %s to %s", dir.Sender(), dir.Receiver())
	switch {
	case from < 0:
		return fmt.Sprintf("it fails even with unbounded room %s", way)
	case from == at+1:
		return fmt.Sprintf("it fails with room for %s %s, not for %v", phrase.Plural(int(at), "message"), way, from)
	}
	return fmt.Sprintf("it fails with room for %v and for %s %s, not for %v", at, phrase.Plural(int(from-1), "message"), way, from)
}

// FindBoundary searches upward from a capacity at which a bug shows: by doubling,
// then by halving.
func FindBoundary(at closed.Capacity, shows func(closed.Capacity) bool) Boundary {
	if shows(closed.Capacity{C2S: closed.Unbounded, S2C: closed.Unbounded}) {
		return Boundary{Always: true}
	}
	return Boundary{
		At:  at,
		C2S: least(at.C2S, func(room closed.Room) bool { return shows(closed.Capacity{C2S: room, S2C: at.S2C}) }),
		S2C: least(at.S2C, func(room closed.Room) bool { return shows(closed.Capacity{C2S: at.C2S, S2C: room}) }),
	}
}

// least returns the least room above low at which the bug does not show, or Unbounded,
// which also stands for more than most.
func least(low closed.Room, shows func(closed.Room) bool) closed.Room {
	const most = 1 << 24
	if low < 0 || shows(closed.Unbounded) {
		return closed.Unbounded
	}
	high := low + 1
	for step := closed.Room(1); shows(high); step *= 2 {
		if low, high = high, high+step; high > most {
			return closed.Unbounded
		}
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; shows(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// Minimize returns items, in order, for which the test holds and of which no single item
// can go. It is delta debugging: big pieces first, then smaller pieces. The test of the
// whole list is taken to hold; a test out of budget answers false.
func Minimize[T any](items []T, test func(kept []T) bool) []T {
	if len(items) == 0 || test(nil) {
		return nil
	}
	for size := (len(items) + 1) / 2; ; size = max(size/2, 1) {
		before := len(items)
		for at := 0; at < len(items); {
			end := min(at+size, len(items))
			rest := slices.Concat(items[:at], items[end:])
			if len(rest) > 0 && test(rest) {
				items = rest
			} else {
				at = end
			}
		}
		if size == 1 && len(items) == before {
			return items
		}
	}
}

// finish gives a candidate a header of its own: without the expectations of the whole
// session, and with a version 7 id made of its time and a hash of the events. The same
// session has the same id.
func (s *shrink) finish(events []store.Event) []store.Event {
	if len(s.opened) == 0 {
		return events
	}
	h, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		return events
	}
	hash := sha256.New()
	for _, e := range events {
		hash.Write(e.Payload)
	}
	if _, err := h.ID.Bytes(); err == nil {
		digits := hex.EncodeToString(hash.Sum(nil))
		h.ID = h.ID[:14] + store.SessionID("7"+digits[:3]+"-8"+digits[3:6]+"-"+digits[6:18])
	}
	h.Expect = ""
	events = slices.Clone(events)
	events[0].Payload = h.Encode()
	return events
}

// Closed returns the Try of a closed replay: both ends as endpoint models. A session that
// does not load does not fail.
func Closed(client, server closed.Model) Try {
	return func(candidate Candidate) Outcome {
		r, err := closed.Load(jsonl.Each(candidate.Events))
		if err != nil {
			return Outcome{}
		}
		o := closed.Judge(r, closed.Setup{Capacity: candidate.Capacity, Client: client, Server: server})
		if o.Verdict == closed.Pass {
			return Outcome{}
		}
		return Outcome{
			Fingerprint: o.Verdict + " " + o.Category + ": " + o.Shape,
			C2S:         o.C2S, S2C: o.S2C, Involved: o.Involved,
		}
	}
}
