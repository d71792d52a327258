package schedule

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// Walk visits the tree of choices of a capacity, depth first, in run after run: each run
// follows the path to the last open branch.
//
// With sleep sets a step that was tried at a place sleeps in the sibling branches, until a
// step is released that does not commute with the sleeper: a run with the sleeper first
// would differ from a visited run only in the order of commuting steps. A run in which every
// enabled step sleeps is cut. Every class of runs ends exactly once.
type Walk struct {
	Touching
	Naive bool // without sleep sets: every order of steps
	Lost  bool // the peers behaved differently on the same steps

	path  []branching
	begun bool
}

// Restart begins the walk again, with what was learned of the peers.
func (w *Walk) Restart() {
	w.path = nil
	w.begun = false
}

// branching is a place on the path: the enabled steps, the last released step, and the
// sleeping steps.
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

// Next returns the chooser of the next run, from the last place with another awake step, or
// nil at the end of the walk.
func (w *Walk) Next() Chooser {
	for w.begun && !w.Lost && len(w.path) > 0 {
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
	return slices.IndexFunc(b.enabled, func(move move) bool { return !slices.Contains(b.asleep, move) })
}

// choose follows the path, and beyond its end takes the first step that is awake.
func (w *Walk) choose(at int, enabled []gate.Step) int {
	if w.Lost {
		return -1
	}
	if at <= len(w.path) {
		b := w.path[at-1]
		i := slices.IndexFunc(enabled, func(step gate.Step) bool { return step.Hash() == b.enabled[b.chosen].hash })
		w.Lost = i < 0 || len(enabled) != len(b.enabled)
		return i
	}
	b := branching{enabled: make([]move, len(enabled))}
	for i, s := range enabled {
		b.enabled[i] = move{s.Hash(), w.of(s)}
	}
	if at > 1 && !w.Naive { // steps that commute with the step before sleep on
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

// Touching computes the reach of steps at a capacity.
type Touching struct {
	Capacity Capacity
	Split    bool // ack is a step of its own
	Lessons
}

// Lessons are facts about the peers that runs have shown.
type Lessons struct {
	// Recall: ends take back offered frames. A take does not commute then with a step that
	// wakes the end of the writer.
	Recall bool
	// shared: the ends wake each other past the gate.
	shared bool
	// starts is the reach of operations when they began.
	starts map[string]reach
}

// of returns the reach of a step. A close changes both ends, and an operation of an unknown
// end may: these steps touch anything, like every kind that is not listed. Client and server
// are taken to share only the gate, until a run shows otherwise.
func (t *Touching) of(step gate.Step) reach {
	if t.shared {
		return anything
	}
	if step.Flight != nil && step.Flight.Exchange != nil {
		return anything
	}
	switch step.Kind {
	case gate.Ack:
		return senderEnd(step.Dir)
	case gate.Give, gate.EOF:
		return senderEnd(step.Dir.Reverse())
	case gate.Take:
		what, room := c2sTakes, t.Capacity.C2S
		if step.Dir == transport.ServerToClient {
			what, room = s2cTakes, t.Capacity.S2C
		}
		if room == 0 { // hand to hand
			what |= senderEnd(step.Dir.Reverse())
		}
		if !t.Split || t.Recall {
			what |= senderEnd(step.Dir)
		}
		return what
	case gate.Start:
		if what := t.starts[step.What]; what != 0 {
			return what
		}
	}
	return anything
}

// Learn notes which ends used the gate after a step, against the reach taken for the step.
// An operation that began and used no end may touch anything.
func (l *Lessons) Learn(step gate.Step, used [2]bool, taken Touching) {
	what := reach(0)
	if used[0] {
		what |= clientEnd
	}
	if used[1] {
		what |= serverEnd
	}
	if step.Kind != gate.Start {
		l.shared = l.shared || what&^taken.of(step) != 0
		return
	}
	if what == 0 {
		what = anything
	}
	if l.starts == nil {
		l.starts = map[string]reach{}
	}
	l.starts[step.What] = what
}

// Adopt takes in the lessons of a run, and reports whether anything is new.
func (l *Lessons) Adopt(of Lessons) bool {
	news := of.Recall && !l.Recall || of.shared && !l.shared
	l.Recall = l.Recall || of.Recall
	l.shared = l.shared || of.shared
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
func senderEnd(dir transport.Direction) reach {
	if dir == transport.ClientToServer {
		return clientEnd
	}
	return serverEnd
}

// Trail is the contribution of a run to the coverage.
type Trail struct {
	Touching
	class  uint64       // of the trace: equal for runs that differ only in commuting steps
	levels [reaches]int // of the last touching step
	races  []uint64     // pairs of steps, enabled together, that do not commute
}

// Step adds the release of enabled[i].
//
// The level of a step in the Foata normal form is above the highest of the steps before
// with which it does not commute. The sum stands for the form: it does not change with the
// order of the steps within a level.
func (t *Trail) Step(enabled []gate.Step, i int) {
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
			// The number stands for the pair; its lowest bit alone tells which went first.
			low := chosen
			high := other.Hash()
			first := uint64(0)
			if low >= high {
				low, high, first = high, low, 1
			}
			t.races = append(t.races, gate.Scramble(low^bits.RotateLeft64(high, 23))&^1|first)
		}
	}
}

// Coverage says how much of the possible behaviour a search has seen.
type Coverage struct {
	// Classes counts the schedules that differ in more than the order of commuting steps
	// (Mazurkiewicz traces), each capacity for itself.
	Classes int `json:"classes"`
	// Unseen estimates the chance that a further schedule would be of a new class, after
	// Good and Turing: the share of schedules whose class was seen once.
	Unseen float64 `json:"unseen"`
	// Races counts the pairs of steps that were enabled at the same time and do not
	// commute; Reversed the pairs released in both orders.
	Races    int `json:"races"`
	Reversed int `json:"reversed"`
	// Timed counts the schedules in which time passed while frames waited, Fired those in
	// which a timer then made a peer use the transport.
	Timed int `json:"timed,omitempty"`
	Fired int `json:"fired,omitempty"`
}

// Tally gathers the trails of runs.
type Tally struct {
	Classes      map[uint64]bool // whether a class was seen more than once
	Timed, Fired int             // see Coverage

	runs  int
	races map[uint64]uint8 // the orders seen, as bits
}

// NewTally returns the tally of no run.
func NewTally() *Tally { return &Tally{Classes: map[uint64]bool{}, races: map[uint64]uint8{}} }

// Add counts a run.
func (c *Tally) Add(trail *Trail) {
	c.runs++
	class := gate.Scramble(trail.class ^ uint64(trail.Capacity.C2S)<<32 ^ uint64(uint32(trail.Capacity.S2C)))
	_, seen := c.Classes[class]
	c.Classes[class] = seen
	for _, r := range trail.races {
		c.races[r&^1] |= 1 << (r & 1)
	}
}

// Merge adds the runs of another tally, at another capacity.
func (c *Tally) Merge(other *Tally) {
	c.runs += other.runs
	c.Timed += other.Timed
	c.Fired += other.Fired
	maps.Copy(c.Classes, other.Classes)
	for race, orders := range other.races {
		c.races[race] |= orders
	}
}

// Coverage sums up.
func (c *Tally) Coverage() Coverage {
	r := Coverage{Classes: len(c.Classes), Races: len(c.races), Timed: c.Timed, Fired: c.Fired}
	once := 0
	for _, again := range c.Classes {
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
