package explore

import (
	"fmt"
	"maps"

	"github.com/mcprec/mcprec/replay/phrase"
)

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
	class := scramble(t.class ^ uint64(t.capacity.C2S)<<32 ^ uint64(uint32(t.capacity.S2C)))
	_, seen := c.classes[class]
	c.classes[class] = seen
	for _, r := range t.races {
		if orders, order := c.races[r&^1], uint8(1)<<(r&1); orders&order == 0 {
			c.races[r&^1] = orders | order
		}
	}
}

// merge adds what another has seen, at other capacities.
func (c *coverage) merge(o *coverage) {
	c.runs += o.runs
	maps.Copy(c.classes, o.classes)
	for r, orders := range o.races {
		c.races[r] |= orders
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

func (c Coverage) text() string {
	return fmt.Sprintf("%s, chance of a new one %.2f; %d of %d races seen in both orders",
		phrase.Plural(c.Classes, "trace class"), c.Unseen, c.Reversed, c.Races)
}
