package explore

import (
	"math/bits"

	"github.com/mcprec/mcprec/replay/explore/gate"
)

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
