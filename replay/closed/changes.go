package closed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
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

// ofQueues returns the size of the notification queue that an end needs: as many notifications as
// pile up, unless the replay hangs for another reason then.
func (c changes) ofQueues(run *closedRun) []string {
	var list []string
	for _, dir := range directions {
		e := run.ends[dir]
		if e.model.kind != notificationQueue || e.debt <= e.model.queue {
			continue
		}
		other := c.with(dir, NotificationQueue(e.debt))
		verdict := "passes"
		if !c.passes(scriptsOf(c.recording, other, c.flag), c.Capacity) {
			verdict = "still hangs for another reason"
		}
		list = append(list, fmt.Sprintf("%s %s up in the %s before the answer; a notification queue of %d %s",
			phrase.Plural(e.debt, "notification"), phrase.Agree(e.debt, "piles", "pile"), dir.Sender(), e.debt, verdict))
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
		return []string{fmt.Sprintf("no buffer of the transport hides it (tried %s)", strings.Join(tried, ", "))}
	}
	if len(c.recording.frames) > searchLimit {
		return []string{fmt.Sprintf("an unbounded buffer passes; the smallest was not searched in %d messages", len(c.recording.frames))}
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
		return fmt.Sprintf("no buffer of %v passes with %s", dir, other)
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if c.passes(both, c.Capacity.with(dir, Room(middle))) {
			high = middle
		} else {
			low = middle
		}
	}
	return fmt.Sprintf("buffer %v=%d passes (the smallest with %s)", dir, high, other)
}

// ofModels returns the ends that pass if they are independent.
func (c changes) ofModels() []string {
	var list []string
	for _, dir := range directions {
		m := c.model(dir)
		if m.kind == independent {
			continue
		}
		other := scriptsOf(c.recording, c.with(dir, Independent), c.flag)
		switch {
		case c.passes(other, Capacity{}):
			list = append(list, fmt.Sprintf("a %s %s (independent) passes with buffer 0", dir.Sender(), without(m)))
		case c.passes(other, c.Capacity):
			list = append(list, fmt.Sprintf("a %s %s (independent) passes with buffer %v", dir.Sender(), without(m), c.Capacity))
		}
	}
	if len(list) == 0 && c.Client.kind != independent && c.Server.kind != independent {
		list = append(list, "neither an independent client nor an independent server alone passes; both together do with any buffer")
	}
	return list
}

// remedy says shortly what mends the hang, what hides it and what does not.
func (c changes) remedy(run *closedRun) string {
	var parts []string
	for _, dir := range directions {
		if release := c.mendedIn(dir); release != "" {
			parts = append(parts, release+" mends it")
		}
		e := run.ends[dir]
		if e.model.kind == notificationQueue && e.debt > e.model.queue && c.passes(scriptsOf(c.recording, c.with(dir, NotificationQueue(e.debt)), c.flag), c.Capacity) {
			parts = append(parts, fmt.Sprintf("a queue of %d hides it", e.debt))
		}
	}
	room := "more room in the transport does not"
	switch {
	case c.passes(scriptsOf(c.recording, c.Setup, c.flag), Capacity{Unbounded, Unbounded}):
		room = "more room in the transport hides it"
	case len(parts) == 0:
		room = "more room in the transport does not help"
	}
	return strings.Join(append(parts, room), "; ")
}

// mendedIn returns the first later release of a side's SDK with which the session passes; "" if
// there is none, or no SDK was named.
func (c changes) mendedIn(dir transport.Direction) string {
	now := c.model(dir).preset
	if now == nil {
		return ""
	}
	at := slices.IndexFunc(presets, func(p Preset) bool { return p.From == now.From && p.SDK == now.SDK && p.End == now.End })
	for _, p := range presets[at+1:] {
		if p.SDK == now.SDK && (p.End == 0 || p.End == dir) && c.passes(scriptsOf(c.recording, c.with(dir, p.Model), c.flag), c.Capacity) {
			return p.SDK + " " + p.From
		}
	}
	return ""
}

func without(model Model) string {
	switch model.kind {
	case notificationQueue:
		return "without a notification queue"
	case blockingHandlers:
		return "that reads while it works"
	}
	return "that reads while it writes"
}
