package shrink

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Candidate is a session to be tried. Its events must not be changed.
type Candidate struct {
	Events   []store.Event
	Capacity replay.Capacity
}

// Outcome is the result of a candidate.
type Outcome struct {
	// Fingerprint identifies the bug; "" if there is none. It must leave out what changes
	// when frames go: numbers, ids, names of frames.
	Fingerprint string
	// C2S and S2C count the frames of each direction that were sent at all: later ones had
	// no part in it. Both 0: unknown.
	C2S, S2C int
	// Involved are Seqs of frames that the failure is about: a guess of what to keep. It
	// may be empty.
	Involved []uint64
}

// Try runs a candidate. The same candidate must have the same outcome.
type Try func(Candidate) Outcome

// Options of a shrink. The zero value keeps sessions whole.
type Options struct {
	// Capacity is where the session fails.
	Capacity replay.Capacity
	// KeepCapacity leaves the capacity as it is.
	KeepCapacity bool
	// Fragment lets the handshake go, of a revision that wants one: the result may follow a
	// handshake, and is no whole session.
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

// keptCandidates is how many candidates are remembered to go on from.
const keptCandidates = 4

// shrink is one search for a smaller session.
type shrink struct {
	*cut
	try   Try
	opt   Options
	want  string // the fingerprint
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

// Session returns the smallest session it finds that has the fingerprint of the given one.
// A session that does not fail comes back as it is.
func Session(events []store.Event, try Try, opt Options) Result {
	opt.Budget = cmp.Or(opt.Budget, 100)
	s := &shrink{cut: takeApart(events, opt.Fragment), try: try, opt: opt, tried: map[key]*found{}, tries: 1}
	r := Result{Candidate: Candidate{Events: events, Capacity: opt.Capacity}, From: len(s.frames), To: len(s.frames)}
	r.Fingerprint = try(r.Candidate).Fingerprint
	s.want = r.Fingerprint
	if s.want != "" && s.accept(s.all()) != nil {
		for i := 0; i >= 0 && !s.spent(); i = slices.IndexFunc(s.best, func(f *found) bool { return !f.worked }) {
			f := s.best[i] // each pass takes up the candidate of the one before
			f.worked = true
			for _, pass := range [...]func(*found) *found{
				s.rendezvous, s.guess, s.truncate, s.dropGroups, s.dropParts, s.swap, s.serialise, s.stripPayloads,
			} {
				if smaller := pass(f); smaller != nil {
					f = smaller
				}
			}
		}
		best := s.best[0]
		r.Spent = s.spent()
		r.Candidate, r.To = Candidate{Events: s.finish(best.events), Capacity: best.capacity}, best.cost.frames
		r.Boundary = FindBoundary(best.capacity, func(c replay.Capacity) bool {
			s.tries++
			return s.try(Candidate{Events: best.events, Capacity: c}).Fingerprint == s.want
		})
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

// accept tries a choice, once, and remembers it if it is the same bug; else it returns nil.
func (s *shrink) accept(x choice) *found {
	s.dropIllegal(x.keep)
	key := x.key()
	if f, ok := s.tried[key]; ok || s.spent() || !slices.Contains(x.keep, true) {
		return f
	}
	s.tries++
	f := &found{choice: x}
	f.events, f.from = s.build(x)
	f.outcome = s.try(Candidate{Events: f.events, Capacity: x.capacity})
	if f.outcome.Fingerprint != s.want {
		s.tried[key] = nil
		return nil
	}
	f.cost = s.cost(x, f.events)
	s.tried[key] = f
	at, _ := slices.BinarySearchFunc(s.best, f, func(a, b *found) int { return a.cost.compare(b.cost) })
	s.best = slices.Insert(s.best, at, f)
	s.best = s.best[:min(len(s.best), keptCandidates)]
	return f
}

// Boundary says from which capacity on a bug does not show.
type Boundary struct {
	// Always: it shows at unbounded capacity too.
	Always bool
	// At is where the search began: the bug shows there.
	At replay.Capacity
	// C2S and S2C are the least capacities found of one direction that hide it, the
	// other as in At; [replay.Unbounded] where none does.
	C2S, S2C replay.Room
}

// String says it in words: shows at c2s=0 and 3, not at 4. It names only what was tried.
func (b Boundary) String() string {
	switch {
	case b.Always:
		return "no transport capacity hides it"
	case b == Boundary{}:
		return "not searched"
	}
	return boundaryText(transport.ClientToServer, b.At.C2S, b.C2S) + "; " + boundaryText(transport.ServerToClient, b.At.S2C, b.S2C)
}

// boundaryText says where the bug shows in one direction: at a room, but not from another on.
func boundaryText(dir transport.Direction, at, from replay.Room) string {
	switch {
	case from < 0:
		return fmt.Sprintf("shows at %v=unbounded, too", dir)
	case from == at+1:
		return fmt.Sprintf("shows at %v=%v, not at %v", dir, at, from)
	}
	return fmt.Sprintf("shows at %v=%v and %v, not at %v", dir, at, from-1, from)
}

// FindBoundary searches upward from a capacity at which a bug shows: by doubling,
// then by halving.
func FindBoundary(at replay.Capacity, shows func(replay.Capacity) bool) Boundary {
	if shows(replay.Capacity{C2S: replay.Unbounded, S2C: replay.Unbounded}) {
		return Boundary{Always: true}
	}
	return Boundary{
		At:  at,
		C2S: least(at.C2S, func(r replay.Room) bool { return shows(replay.Capacity{C2S: r, S2C: at.S2C}) }),
		S2C: least(at.S2C, func(r replay.Room) bool { return shows(replay.Capacity{C2S: at.C2S, S2C: r}) }),
	}
}

// least returns the least room above low at which the bug does not show, or Unbounded,
// which also stands for more than most.
func least(low replay.Room, shows func(replay.Room) bool) replay.Room {
	const most = 1 << 24
	if low < 0 || shows(replay.Unbounded) {
		return replay.Unbounded
	}
	high := low + 1
	for step := replay.Room(1); shows(high); step *= 2 {
		if low, high = high, high+step; high > most {
			return replay.Unbounded
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

// Minimize returns items, in their order, for which the test still holds and of which no
// single one can go. It is delta debugging: big pieces first, then ever smaller ones. The
// test of all items is taken to hold; a test out of budget answers false.
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

// finish makes a session of its own of a candidate: without the expectations of the whole
// session, and with a version 7 id of its time and a hash of the events, so that the same
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

// cost says which of two candidates is smaller: by frames, room, overlap, then
// bytes.
type cost struct {
	frames, room, overlap, extras, bytes int
	keep                                 []bool
}

func (c *cut) cost(x choice, events []store.Event) cost {
	const most = 1 << 30 // for an unbounded room
	k := cost{overlap: c.overlap(c.order(x)), keep: x.keep}
	for _, r := range [...]replay.Room{x.capacity.C2S, x.capacity.S2C} {
		if r < 0 || r > most {
			r = most
		}
		k.room += int(r)
	}
	for _, e := range events {
		switch e.Kind {
		case store.Frame:
			k.frames++
			k.bytes += len(e.Payload)
		case store.Opened, store.Closed:
		default:
			k.extras++
		}
	}
	return k
}

// overlap counts how often a session goes from one group to another, beyond the necessary.
func (c *cut) overlap(order []int) int {
	changes, groups, before := 0, map[int]bool{}, -1
	for _, f := range order {
		g := c.groupOf[c.partOf[f]]
		if g != before {
			changes++
		}
		groups[g], before = true, g
	}
	return changes - len(groups)
}

func (a cost) compare(b cost) int {
	return cmp.Or(cmp.Compare(a.frames, b.frames), cmp.Compare(a.room, b.room), cmp.Compare(a.overlap, b.overlap),
		cmp.Compare(a.extras, b.extras), cmp.Compare(a.bytes, b.bytes),
		slices.CompareFunc(a.keep, b.keep, func(a, b bool) int { return cmp.Compare(flag(b), flag(a)) }))
}

// Closed returns the Try of a closed replay: both ends as endpoint models. A session that
// does not load does not fail.
func Closed(client, server replay.Model) Try {
	return func(c Candidate) Outcome {
		r, err := replay.Load(func(yield func(store.Event, error) bool) {
			for _, e := range c.Events {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			return Outcome{}
		}
		o := replay.Judge(r, replay.Setup{Capacity: c.Capacity, Client: client, Server: server})
		if o.Verdict == replay.Pass {
			return Outcome{}
		}
		return Outcome{
			Fingerprint: o.Verdict + " " + o.Category + ": " + o.Shape,
			C2S:         o.C2S, S2C: o.S2C, Involved: o.Involved,
		}
	}
}
