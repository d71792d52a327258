package shrink

import (
	"fmt"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

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
	return wayText(transport.ClientToServer, b.At.C2S, b.C2S) + "; " + wayText(transport.ServerToClient, b.At.S2C, b.S2C)
}

func wayText(dir transport.Direction, at, from replay.Room) string {
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

// boundary is that of a candidate.
func (s *shrink) boundary(f *found) Boundary {
	return FindBoundary(f.capacity, func(c replay.Capacity) bool {
		s.tries++
		return s.try(Candidate{Events: f.events, Capacity: c}).Fingerprint == s.want
	})
}

// least returns the least room above low at which the bug does not show, or
// Unbounded. More than most is as good as that.
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
