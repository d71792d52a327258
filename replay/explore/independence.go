package explore

import (
	"maps"
	"math/bits"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// reach is what a step touches: two steps that touch nothing in common commute.
type reach uint8

const (
	clientEnd reach = 1 << iota // goroutines of the client wake
	serverEnd
	c2sTakes // which writer is taken next in the direction
	s2cTakes
	anything = clientEnd | serverEnd | c2sTakes | s2cTakes
	reaches  = 4
)

// touching tells what steps touch at a capacity.
type touching struct {
	capacity Capacity
	split    bool // ack is a step of its own
	lessons
}

// lessons are what runs have taught of the peers.
type lessons struct {
	// recall: ends take back frames that they have offered, so that a take does not
	// commute with what wakes the writer's end.
	recall bool
	// shared: the ends wake each other past the gate.
	shared bool
	// starts is what operations touched when they began.
	starts map[string]reach
}

// of says what releasing the step touches. A close changes both ends, and so may an
// operation of which it is not known at which end it lives: these touch anything,
// and so does every kind of step that is not listed. The client and the server are
// taken to share nothing but the gate, as long as nothing else is learned.
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

// learn notes which ends used the gate after a step that was taken to touch no more than
// expected. An operation that began and used no end may have done anything.
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

// adopt takes in what a run has taught, and reports whether anything is new.
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

// trail is what a run leaves for the report's coverage.
type trail struct {
	touching
	class  uint64       // of the trace: runs that differ only in steps that commute have the same
	levels [reaches]int // of the last step that touched it
	races  []uint64     // pairs of steps that were enabled together and do not commute, in the order of this run
}

// step adds the release of enabled[i].
//
// The level of a step in the Foata normal form is one above the highest of the
// steps before that it does not commute with. The sum stands for the form: it
// does not change with the order in which steps of one level were released.
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

// race stands for the pair of steps, the same for both orders but for its lowest
// bit, which tells which was first.
func race(first, second uint64) uint64 {
	if first < second {
		return gate.Scramble(first^bits.RotateLeft64(second, 23)) &^ 1
	}
	return gate.Scramble(second^bits.RotateLeft64(first, 23)) | 1
}

// Coverage says how much of what can happen a search has seen.
type Coverage struct {
	// Classes is how many schedules differ in more than the order of steps that
	// commute (Mazurkiewicz traces), each capacity for itself.
	Classes int `json:"classes"`
	// Unseen estimates the chance that one more schedule would be of a new class,
	// after Good and Turing: the share of schedules whose class was seen once.
	Unseen float64 `json:"unseen"`
	// Races is how many pairs of steps were enabled at the same time and do not
	// commute; Reversed how many of them were released in both orders.
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

// merge adds the coverage of runs at another capacity.
func (c *coverage) merge(other *coverage) {
	c.runs += other.runs
	maps.Copy(c.classes, other.classes)
	for race, orders := range other.races {
		c.races[race] |= orders
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
