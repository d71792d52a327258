package shrink

import (
	"fmt"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// Boundary says from which capacity on the bug of a result does not show.
type Boundary struct {
	// Always: it shows at unbounded capacity too.
	Always bool
	// C2S and S2C are the least capacities of one direction that hide it, the other
	// as it is in the result; [replay.Unbounded] where none does.
	C2S, S2C replay.Room
}

// String says it in words: shows at c2s <= 3, not from 4.
func (b Boundary) String() string {
	switch {
	case b.Always:
		return "no transport capacity hides it"
	case b == Boundary{}:
		return "not searched"
	}
	text := ""
	for _, way := range [...]struct {
		dir  transport.Direction
		from replay.Room
	}{{transport.ClientToServer, b.C2S}, {transport.ServerToClient, b.S2C}} {
		if text != "" {
			text += "; "
		}
		if way.from < 0 {
			text += fmt.Sprintf("no capacity of %v alone hides it", way.dir)
		} else {
			text += fmt.Sprintf("shows at %v <= %v, not from %v", way.dir, way.from-1, way.from)
		}
	}
	return text
}

// boundary searches upward from the capacity of a candidate, by halving.
func (s *shrink) boundary(f *found) Boundary {
	shows := func(c replay.Capacity) bool {
		s.tries++
		return s.try(Candidate{Events: f.events, Capacity: c}).Fingerprint == s.want
	}
	if shows(replay.Capacity{C2S: replay.Unbounded, S2C: replay.Unbounded}) {
		return Boundary{Always: true}
	}
	frames := map[transport.Direction]int{}
	for _, i := range s.order(f.choice) {
		frames[s.cut.frames[i].Dir]++
	}
	return Boundary{
		C2S: least(f.capacity.C2S, frames[transport.ClientToServer], func(r replay.Room) bool {
			return shows(replay.Capacity{C2S: r, S2C: f.capacity.S2C})
		}),
		S2C: least(f.capacity.S2C, frames[transport.ServerToClient], func(r replay.Room) bool {
			return shows(replay.Capacity{C2S: f.capacity.C2S, S2C: r})
		}),
	}
}

// least returns the least room above low at which the bug does not show, or
// Unbounded. Room for every frame is as good as any.
func least(low replay.Room, frames int, shows func(replay.Room) bool) replay.Room {
	high := replay.Room(frames)
	if low < 0 || low >= high || shows(high) {
		return replay.Unbounded
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
