package explore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// Unbounded is the capacity of a direction that always has room.
const Unbounded = transport.Unbounded

// Capacity is how many frames each direction may queue.
type Capacity struct {
	C2S int `json:"c2s"`
	S2C int `json:"s2c"`
}

// Sweep is the default: hand to hand, one frame, no limit.
var Sweep = []Capacity{{0, 0}, {1, 1}, {Unbounded, Unbounded}}

// sweep is Sweep with the recorded capacity before the last, if it is another.
func sweep(recorded Capacity) []Capacity {
	if slices.Contains(Sweep, recorded) {
		return Sweep
	}
	return slices.Insert(slices.Clone(Sweep), len(Sweep)-1, recorded)
}

// String returns the form of reports: c2s=0 s2c=unbounded.
func (c Capacity) String() string {
	return fmt.Sprintf("c2s=%s s2c=%s", frames(c.C2S), frames(c.S2C))
}

func frames(n int) string {
	if n < 0 {
		return "unbounded"
	}
	return strconv.Itoa(n)
}
