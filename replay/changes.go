package replay

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// searchLimit bounds the sessions, in frames, that changes are searched for by
// many replays; longer ones get the few that take one replay each.
const searchLimit = 100_000

// capacitiesTried stand for all: a hang at each of them is a hang that no
// transport capacity hides, for the last is unbounded.
var capacitiesTried = [...]Room{0, 1, 10, 1000, Unbounded}

// passes reports whether the scripts come to their end at a capacity.
func (r *Recording) passes(both scripts, c Capacity) bool { return r.start(both, c).done() }

// changes says what would give another verdict than the hang of p.
func (r *Recording) changes(s Setup, p *play) []string {
	both := r.scripts(s)
	list := r.queueChanges(s, p)
	list = append(list, r.capacityChanges(s.Capacity, both)...)
	list = append(list, r.modelChanges(s)...)
	return list
}

// queueChanges says how large the inner queue of a swallowing end must be: as
// large as its notification debt, unless something else hangs then.
func (r *Recording) queueChanges(s Setup, p *play) []string {
	var list []string
	for _, dir := range directions {
		e := p.ends[dir]
		if e.model.kind != inbox || e.debt <= e.model.queue {
			continue
		}
		other := s.with(dir, Inbox(e.debt))
		verdict := "passes"
		if !r.passes(r.scripts(other), s.Capacity) {
			verdict = "still hangs for another reason"
		}
		list = append(list, fmt.Sprintf("notification debt of the %s: %d; an inner queue of %d %s", dir.Sender(), e.debt, e.debt, verdict))
	}
	return list
}

// capacityChanges says which capacity passes, or that none does.
func (r *Recording) capacityChanges(c Capacity, both scripts) []string {
	if !r.passes(both, Capacity{Unbounded, Unbounded}) {
		var tried []string
		for _, room := range capacitiesTried {
			if !r.passes(both, Capacity{room, room}) {
				tried = append(tried, room.String())
			}
		}
		return []string{fmt.Sprintf("no transport capacity hides it (tried %s)", strings.Join(tried, ", "))}
	}
	if len(r.frames) > searchLimit {
		return []string{fmt.Sprintf("unbounded capacity passes; the smallest was not searched in %d frames", len(r.frames))}
	}
	var list []string
	for _, dir := range directions {
		list = append(list, r.smallest(c, dir, both))
	}
	return list
}

// smallest finds the least capacity of one direction that passes, the other
// staying as it is. More capacity never hurts, so halving finds it.
func (r *Recording) smallest(c Capacity, dir transport.Direction, both scripts) string {
	other := fmt.Sprintf("%v=%v", dir.Reverse(), c.of(dir.Reverse()))
	low, high := int(c.of(dir)), r.Frames(dir) // hangs at low
	if low < 0 || !r.passes(both, c.with(dir, Room(high))) {
		return fmt.Sprintf("no capacity of %v passes with %s", dir, other)
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if r.passes(both, c.with(dir, Room(middle))) {
			high = middle
		} else {
			low = middle
		}
	}
	return fmt.Sprintf("capacity %v=%d passes (the smallest with %s)", dir, high, other)
}

// modelChanges says whether a free end in place of one that is not would pass.
func (r *Recording) modelChanges(s Setup) []string {
	var list []string
	for _, dir := range directions {
		m := s.model(dir)
		if m == Free {
			continue
		}
		other := r.scripts(s.with(dir, Free))
		switch {
		case r.passes(other, Capacity{}):
			list = append(list, fmt.Sprintf("a %s %s (free) passes at capacity 0", dir.Sender(), without(m)))
		case r.passes(other, s.Capacity):
			list = append(list, fmt.Sprintf("a %s %s (free) passes at capacity %v", dir.Sender(), without(m), s.Capacity))
		}
	}
	if len(list) == 0 && s.Client != Free && s.Server != Free {
		list = append(list, "neither a free client nor a free server alone passes; both together do at any capacity")
	}
	return list
}

func without(m Model) string {
	switch m.kind {
	case inbox:
		return "without an inner queue"
	case serial:
		return "that reads while it works"
	}
	return "that reads while it writes"
}
