package shrink

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// cost says which of two candidates is smaller: by frames, room, overlap, then
// bytes.
type cost struct {
	frames, room, overlap, extras, bytes int
	keep                                 []bool
}

func (c *cut) cost(x choice, events []store.Event) cost {
	k := cost{room: room(x.capacity), overlap: c.overlap(c.order(x)), keep: x.keep}
	for _, e := range events {
		switch e.Kind {
		case store.Frame:
			k.frames++
			k.bytes += len(e.Payload)
		case store.Opened, store.Closed:
		default:
			k.extras++
		}
	}
	return k
}

// overlap counts how often a session goes from one group to another, beyond what
// it must.
func (c *cut) overlap(order []int) int {
	changes, groups, before := 0, map[int]bool{}, -1
	for _, f := range order {
		g := c.groupOf[c.partOf[f]]
		if g != before {
			changes++
		}
		groups[g], before = true, g
	}
	return changes - len(groups)
}

// room is a capacity as one number to be brought down.
func room(c replay.Capacity) int {
	const most = 1 << 30
	n := 0
	for _, r := range [...]replay.Room{c.C2S, c.S2C} {
		if r < 0 || r > most {
			r = most
		}
		n += int(r)
	}
	return n
}

func (a cost) compare(b cost) int {
	return cmp.Or(cmp.Compare(a.frames, b.frames), cmp.Compare(a.room, b.room), cmp.Compare(a.overlap, b.overlap),
		cmp.Compare(a.extras, b.extras), cmp.Compare(a.bytes, b.bytes),
		slices.CompareFunc(a.keep, b.keep, func(a, b bool) int { return cmp.Compare(flag(b), flag(a)) }))
}
