package explore

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// Exhaustive visits every order of steps at each capacity, without orders that differ only
// in steps that commute (sleep sets). At its end no order at that level and capacity fails,
// and the report says so. That is a proof for peers that do the same on the same steps and
// share nothing but the gate. It notices other steps, and an end that uses the gate though
// no step woke it; it cannot see peers that share data in silence. Its runs are made one
// after another: Seed and Workers have no effect.
var Exhaustive Strategy = exhaustive{}

// exhaustive is the strategy whose runs depend on the runs before.
type exhaustive struct {
	naive bool // without sleep sets
}

// Begin is mix, for runs out of turn.
func (exhaustive) Begin(seed uint64, run, length int) Chooser { return mix(seed, run, length) }

// visit is the walk through the orders at a capacity.
type visit struct {
	walk  walk
	seen  *coverage
	tried Tried
}

// exhaust makes a run at each capacity in turn, until a run fails, a budget is spent or all
// orders are visited.
func (s *search) exhaust(x exhaustive) Report {
	var visits []*visit
	for _, c := range s.plan.Capacities {
		w := walk{naive: x.naive, touching: s.newRun(c).trail.touching}
		visits = append(visits, &visit{walk: w, seen: newCoverage(), tried: Tried{Capacity: c, Verdict: Pass}})
	}
	failed, done, ended := s.rounds(visits)
	var tried []Tried
	for _, v := range visits {
		s.seen.runs += v.seen.runs
		maps.Copy(s.seen.classes, v.seen.classes)
		for race, orders := range v.seen.races {
			s.seen.races[race] |= orders
		}
		tried = append(tried, v.tried)
	}
	switch {
	case failed == nil && s.leaks.runs > 0, failed != nil && failed.leaksAlone():
		return s.report(s.leaks.first, s.leaks.at)
	case failed != nil:
		report := s.report(failed, done)
		s.judge(&report, failed, func(i, most int) Tried {
			v := visits[i]
			for v.tried.Verdict == Pass && v.tried.Schedules < most && s.limits.ended() == "" && s.advance(v) != nil {
			}
			return v.tried
		})
		return report
	}
	report := s.found(done, ended, tried)
	if ended == EndVisited {
		report.Coverage.Unseen = 0
	}
	return report
}

// rounds makes the runs, and returns the one that failed or the reason for the end.
func (s *search) rounds(visits []*visit) (failed *Run, done int, ended string) {
	budget := newBudget(s.plan.CPU, 1)
	for open := true; open; {
		open = false
		for _, v := range visits {
			ended := s.limits.ended()
			switch {
			case ended == EndStopped, ended != "" && done >= len(visits):
				return nil, done, ended
			case done == s.plan.Schedules:
				return nil, done, EndSchedules
			case done >= len(visits) && budget.spent():
				return nil, done, EndCPU
			}
			r := s.advance(v)
			if r == nil {
				continue
			}
			open = true
			done++
			s.remark(r)
			if s.fails(r) {
				return r, done, ""
			}
		}
	}
	if slices.ContainsFunc(visits, func(v *visit) bool { return !v.tried.All }) {
		return nil, done, EndLost
	}
	return nil, done, EndVisited
}

// advance makes the next run of a walk, or returns nil at its end.
func (s *search) advance(v *visit) *Run {
	r := s.newRun(v.tried.Capacity)
	r.chooser = v.walk.next()
	if r.chooser == nil {
		v.tried.All = !v.walk.lost
		return nil
	}
	r.systematic, r.trail.touching = true, v.walk.touching
	r.play(s.t, s.plan)
	v.tried.Schedules++
	passes := r.verdict == Pass || r.leaksAlone()
	if !passes {
		v.tried.Verdict = r.verdict
	}
	switch {
	case passes && v.walk.adopt(r.lessons):
		// The walk begins again with what was learned of the peers. The first run in which
		// an end takes back a frame is never missed: up to it all that was taken to commute
		// does. Neither is one in which an operation touches what it did not before.
		v.walk.path, v.walk.begun = nil, false
		v.seen, v.tried.Classes = newCoverage(), 0
	case !r.cut:
		v.seen.add(&r.trail)
		v.tried.Classes++
	}
	return r
}

// walk visits the tree of choices of a capacity, depth first, by making run after run: each
// follows the path so far to its last open branch.
//
// With sleep sets a step that was tried at a place sleeps in the branches beside it, until
// a step is released with which it does not commute: a run that began with it there would
// differ from a visited one only in the order of steps that commute. A run in which all
// enabled steps sleep is cut. So every class of runs ends exactly once.
type walk struct {
	touching
	naive bool // without sleep sets: every order of steps
	path  []branching
	begun bool
	lost  bool // the peers did something else on the same steps
}

// branching is a place on the path: its enabled steps, the one released last, and the
// sleeping ones.
type branching struct {
	enabled []move
	chosen  int
	asleep  []move
}

// move is a step in the memory of the walk.
type move struct {
	hash uint64
	what reach
}

// next returns the chooser of the next run, or nil when all is visited. It goes back to the
// last place where something else may be released.
func (w *walk) next() Chooser {
	for w.begun && !w.lost && len(w.path) > 0 {
		b := &w.path[len(w.path)-1]
		if b.chosen >= 0 {
			b.asleep = append(b.asleep, b.enabled[b.chosen])
		}
		b.chosen = b.awake()
		if b.chosen >= 0 {
			return w.choose
		}
		w.path = w.path[:len(w.path)-1]
	}
	if w.begun {
		return nil
	}
	w.begun = true
	return w.choose
}

// awake returns the first enabled step that does not sleep, or -1.
func (b *branching) awake() int {
	return slices.IndexFunc(b.enabled, func(m move) bool { return !slices.Contains(b.asleep, m) })
}

// choose follows the path, and beyond its end takes the first step that is awake.
func (w *walk) choose(at int, enabled []Step) int {
	if w.lost {
		return -1
	}
	if at <= len(w.path) {
		b := w.path[at-1]
		i := slices.IndexFunc(enabled, func(s Step) bool { return s.Hash() == b.enabled[b.chosen].hash })
		w.lost = i < 0 || len(enabled) != len(b.enabled)
		return i
	}
	b := branching{enabled: make([]move, len(enabled))}
	for i, s := range enabled {
		b.enabled[i] = move{s.Hash(), w.of(s)}
	}
	if at > 1 && !w.naive { // steps that commute with the step before sleep on
		before := w.path[at-2]
		for _, m := range before.asleep {
			if m.what&before.enabled[before.chosen].what == 0 {
				b.asleep = append(b.asleep, m)
			}
		}
	}
	b.chosen = b.awake()
	w.path = append(w.path, b)
	return b.chosen
}

// reach is the set of things that a step touches: two steps with disjoint sets commute.
type reach uint8

const (
	clientEnd reach = 1 << iota // goroutines of the client wake
	serverEnd
	c2sTakes // which writer is taken next in the direction
	s2cTakes
	anything = clientEnd | serverEnd | c2sTakes | s2cTakes
	reaches  = 4
)

// touching computes the reach of steps at a capacity.
type touching struct {
	capacity Capacity
	split    bool // ack is a step of its own
	lessons
}

// lessons are facts about the peers that runs have shown.
type lessons struct {
	// recall: ends take back frames that they have offered, so that a take does not commute
	// with a step that wakes the end of the writer.
	recall bool
	// shared: the ends wake each other past the gate.
	shared bool
	// starts is the reach of operations when they began.
	starts map[string]reach
}

// of returns the reach of a step. A close changes both ends, and so may an operation whose
// end is not known: these touch anything, as does every kind that is not listed. Client and
// server are taken to share nothing but the gate, until a run shows otherwise.
func (t *touching) of(s Step) reach {
	if t.shared {
		return anything
	}
	switch s.Kind {
	case Ack:
		return senderEnd(s.Dir)
	case Give, End:
		return senderEnd(s.Dir.Reverse())
	case Take:
		what, room := c2sTakes, t.capacity.C2S
		if s.Dir == transport.ServerToClient {
			what, room = s2cTakes, t.capacity.S2C
		}
		if room == 0 { // hand to hand
			what |= senderEnd(s.Dir.Reverse())
		}
		if !t.split || t.recall {
			what |= senderEnd(s.Dir)
		}
		return what
	case Start:
		if what := t.starts[s.What]; what != 0 {
			return what
		}
	}
	return anything
}

// learn notes which ends used the gate after a step with an expected reach. An operation
// that began and used no end may have done anything.
func (l *lessons) learn(s Step, used [2]bool, expected reach) {
	what := reach(0)
	if used[0] {
		what |= clientEnd
	}
	if used[1] {
		what |= serverEnd
	}
	if s.Kind != Start {
		l.shared = l.shared || what&^expected != 0
		return
	}
	if what == 0 {
		what = anything
	}
	if l.starts == nil {
		l.starts = map[string]reach{}
	}
	l.starts[s.What] = what
}

// adopt takes in the lessons of a run, and reports whether anything is new.
func (l *lessons) adopt(of lessons) bool {
	news := of.recall && !l.recall || of.shared && !l.shared
	l.recall, l.shared = l.recall || of.recall, l.shared || of.shared
	starts := map[string]reach{}
	maps.Copy(starts, l.starts) // runs may still read the old one
	for name, what := range of.starts {
		news = news || what&^starts[name] != 0
		starts[name] |= what
	}
	l.starts = starts
	return news
}

// senderEnd is the end that writes in the direction.
func senderEnd(d transport.Direction) reach {
	if d == transport.ClientToServer {
		return clientEnd
	}
	return serverEnd
}

// trail is the contribution of a run to the coverage.
type trail struct {
	touching
	class  uint64       // of the trace: equal for runs that differ only in steps that commute
	levels [reaches]int // of the last step that touched it
	races  []uint64     // pairs of steps, enabled together, that do not commute
}

// step adds the release of enabled[i].
//
// The level of a step in the Foata normal form is above the highest of the steps before
// with which it does not commute. The sum stands for the form: it does not change with the
// order of the steps within a level.
func (t *trail) step(enabled []Step, i int) {
	chosen := enabled[i].Hash()
	what := t.of(enabled[i])
	level := 0
	for set := what; set != 0; set &= set - 1 {
		level = max(level, t.levels[bits.TrailingZeros8(uint8(set))])
	}
	level++
	for set := what; set != 0; set &= set - 1 {
		t.levels[bits.TrailingZeros8(uint8(set))] = level
	}
	t.class += gate.Scramble(chosen ^ uint64(level)*0x9e3779b97f4a7c15)
	for j, other := range enabled {
		if j != i && what&t.of(other) != 0 {
			t.races = append(t.races, race(chosen, other.Hash()))
		}
	}
}

// race stands for a pair of steps. Only its lowest bit, which tells the first, depends on
// their order.
func race(first, second uint64) uint64 {
	if first < second {
		return gate.Scramble(first^bits.RotateLeft64(second, 23)) &^ 1
	}
	return gate.Scramble(second^bits.RotateLeft64(first, 23)) | 1
}

// Coverage says how much of the possible behaviour a search has seen.
type Coverage struct {
	// Classes counts the schedules that differ in more than the order of steps that commute
	// (Mazurkiewicz traces), each capacity for itself.
	Classes int `json:"classes"`
	// Unseen estimates the chance that a further schedule would be of a new class, after
	// Good and Turing: the share of schedules whose class was seen once.
	Unseen float64 `json:"unseen"`
	// Races counts the pairs of steps that were enabled at the same time and do not
	// commute; Reversed those that were released in both orders.
	Races    int `json:"races"`
	Reversed int `json:"reversed"`
}

// coverage gathers the trails of runs.
type coverage struct {
	runs    int
	classes map[uint64]bool  // seen more than once
	races   map[uint64]uint8 // the orders seen, as bits
}

func newCoverage() *coverage {
	return &coverage{classes: map[uint64]bool{}, races: map[uint64]uint8{}}
}

func (c *coverage) add(t *trail) {
	c.runs++
	class := gate.Scramble(t.class ^ uint64(t.capacity.C2S)<<32 ^ uint64(uint32(t.capacity.S2C)))
	_, seen := c.classes[class]
	c.classes[class] = seen
	for _, r := range t.races {
		c.races[r&^1] |= 1 << (r & 1)
	}
}

func (c *coverage) report() Coverage {
	r := Coverage{Classes: len(c.classes), Races: len(c.races)}
	once := 0
	for _, again := range c.classes {
		if !again {
			once++
		}
	}
	r.Unseen = float64(once) / float64(max(1, c.runs))
	for _, orders := range c.races {
		if orders == 1|2 {
			r.Reversed++
		}
	}
	return r
}
