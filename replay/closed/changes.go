package closed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/transport"
)

// searchLimit is the length of a session, in frames, above which no change is searched for by
// many replays.
const searchLimit = 100_000

// capacitiesTried stand for every capacity: if the last, unbounded, hangs, no transport
// capacity hides the hang.
var capacitiesTried = [...]Room{0, 1, 10, 1000, Unbounded}

// changes finds what would change the verdict of a hang, by playing the recording again
// under other setups.
type changes struct {
	recording *Recording
	Setup
	flag *interrupt.Flag // what is found when it is raised means nothing
}

// all lists the changes of the setup that pass, for a run that hangs.
func (c changes) all(hang *closedRun) []string {
	return slices.Concat(c.ofQueues(hang), c.ofCapacities(), c.ofModels())
}

// passes reports whether the scripts come to their end at a capacity.
func (c changes) passes(both scripts, capacity Capacity) bool {
	return play(c.recording, both, capacity, c.flag).done()
}

// ofQueues returns the size of the inner queue that a swallowing end needs: the notification
// debt, unless the replay hangs for another reason then.
func (c changes) ofQueues(run *closedRun) []string {
	var list []string
	for _, dir := range directions {
		e := run.ends[dir]
		if e.model.kind != inbox || e.debt <= e.model.queue {
			continue
		}
		other := c.with(dir, Inbox(e.debt))
		verdict := "passes"
		if !c.passes(scriptsOf(c.recording, other, c.flag), c.Capacity) {
			verdict = "still hangs for another reason"
		}
		list = append(list, fmt.Sprintf("notification debt of the %s: %d (notifications that wait during a call); an inner queue of %d %s", dir.Sender(), e.debt, e.debt, verdict))
	}
	return list
}

// ofCapacities returns the capacities that pass.
func (c changes) ofCapacities() []string {
	both := scriptsOf(c.recording, c.Setup, c.flag)
	if !c.passes(both, Capacity{Unbounded, Unbounded}) {
		var tried []string
		for _, room := range capacitiesTried {
			if !c.passes(both, Capacity{room, room}) {
				tried = append(tried, room.String())
			}
		}
		return []string{fmt.Sprintf("no transport capacity hides it (tried %s)", strings.Join(tried, ", "))}
	}
	if len(c.recording.frames) > searchLimit {
		return []string{fmt.Sprintf("unbounded capacity passes; the smallest was not searched in %d frames", len(c.recording.frames))}
	}
	var list []string
	for _, dir := range directions {
		list = append(list, c.smallest(dir, both))
	}
	return list
}

// smallest finds the least capacity of one direction that passes, by bisection: more capacity
// never hurts. The other direction stays as it is.
func (c changes) smallest(dir transport.Direction, both scripts) string {
	other := fmt.Sprintf("%v=%v", dir.Reverse(), c.Capacity.of(dir.Reverse()))
	low := int(c.Capacity.of(dir))
	high := c.recording.Frames(dir) // hangs at low
	if low < 0 || !c.passes(both, c.Capacity.with(dir, Room(high))) {
		return fmt.Sprintf("no capacity of %v passes with %s", dir, other)
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if c.passes(both, c.Capacity.with(dir, Room(middle))) {
			high = middle
		} else {
			low = middle
		}
	}
	return fmt.Sprintf("capacity %v=%d passes (the smallest with %s)", dir, high, other)
}

// ofModels returns the ends that pass if they are free.
func (c changes) ofModels() []string {
	var list []string
	for _, dir := range directions {
		m := c.model(dir)
		if m.kind == free {
			continue
		}
		other := scriptsOf(c.recording, c.with(dir, Free), c.flag)
		switch {
		case c.passes(other, Capacity{}):
			list = append(list, fmt.Sprintf("a %s %s (free) passes at capacity 0", dir.Sender(), without(m)))
		case c.passes(other, c.Capacity):
			list = append(list, fmt.Sprintf("a %s %s (free) passes at capacity %v", dir.Sender(), without(m), c.Capacity))
		}
	}
	if len(list) == 0 && c.Client.kind != free && c.Server.kind != free {
		list = append(list, "neither a free client nor a free server alone passes; both together do at any capacity")
	}
	return list
}

func without(model Model) string {
	switch model.kind {
	case inbox:
		return "without an inner queue"
	case serial:
		return "that reads while it works"
	}
	return "that reads while it writes"
}
