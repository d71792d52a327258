package shrink

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
)

// choice describes a candidate.
type choice struct {
	keep     []bool // by part; a kept part has its needs
	alone    []bool // by group: the group's frames stand together
	extras   bool
	capacity closed.Capacity
}

func (x choice) clone() choice {
	x.keep, x.alone = slices.Clone(x.keep), slices.Clone(x.alone)
	return x
}

// only returns the choice with just these parts.
func (x choice) only(parts []int) choice {
	x = x.clone()
	clear(x.keep)
	for _, p := range parts {
		x.keep[p] = true
	}
	return x
}

// parts lists the kept parts.
func (x choice) parts() []int {
	var list []int
	for p, keep := range x.keep {
		if keep {
			list = append(list, p)
		}
	}
	return list
}

// key tells choices apart: no choice is tried twice.
func (x choice) key() string {
	var b []byte
	for _, list := range [][]bool{x.keep, x.alone, {x.extras}} {
		for _, v := range list {
			b = append(b, flag(v))
		}
	}
	return string(fmt.Append(b, x.capacity))
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// order returns the kept frames in the candidate's order: as recorded, but a group that
// stands alone stands together, from its first frame.
func (c *cut) order(choice choice) []int {
	var list []int
	done := map[int]bool{}
	for f, p := range c.partOf {
		g := c.groupOf[p]
		switch {
		case !choice.keep[p] || done[g]:
		case !choice.alone[g]:
			list = append(list, f)
		default:
			done[g] = true
			from := len(list)
			for _, p := range c.groups[g] {
				if choice.keep[p] {
					list = append(list, c.parts[p].frames...)
				}
			}
			slices.Sort(list[from:])
		}
	}
	return list
}

// ordered reports whether the needs of a part stand before the part wherever the recording
// has that order. Within a group the recorded order is kept.
func (c *cut) ordered(choice choice, order []int) bool {
	at := make(map[int]int, len(order))
	for i, f := range order {
		at[f] = i
	}
	for i, p := range c.parts {
		for _, n := range p.needs {
			if !choice.keep[i] || n.inside {
				continue
			}
			met, recorded := false, false
			for _, other := range n.any {
				frames := c.parts[other].frames
				last := frames[len(frames)-1]
				recorded = recorded || last < p.frames[0]
				met = met || choice.keep[other] && at[last] < at[p.frames[0]]
			}
			if recorded && !met {
				return false
			}
		}
	}
	return true
}

// overlap counts how often a session goes from one group to another, beyond the necessary.
func (c *cut) overlap(order []int) int {
	changes := 0
	groups := map[int]bool{}
	before := -1
	for _, f := range order {
		g := c.groupOf[c.partOf[f]]
		if g != before {
			changes++
		}
		groups[g] = true
		before = g
	}
	return changes - len(groups)
}

// cost orders candidates: by frames, room, overlap, other events, then bytes.
type cost struct {
	frames, room, overlap, extras, bytes int
}

// costOf returns the cost of a choice and its events.
func (c *cut) costOf(choice choice, events []store.Event) cost {
	const most = 1 << 30 // for an unbounded room
	k := cost{overlap: c.overlap(c.order(choice))}
	for _, r := range [...]closed.Room{choice.capacity.C2S, choice.capacity.S2C} {
		if r < 0 || r > most {
			r = most
		}
		k.room += int(r)
	}
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

// size is how many frames the parts have.
func (c *cut) size(parts []int) int {
	n := 0
	for _, p := range parts {
		n += len(c.parts[p].frames)
	}
	return n
}

// build writes the candidate's session, and returns from which frame each of its Seqs is.
func (c *cut) build(choice choice) (events []store.Event, from map[uint64]int) {
	from = map[uint64]int{}
	seqs := map[uint64]uint64{} // old → new, of frames
	var times []time.Duration
	add := func(event store.Event) {
		event.Seq = uint64(len(events) + 1)
		times = append(times, event.At)
		events = append(events, event)
	}
	for _, e := range c.opened {
		add(e)
	}
	extras := c.extras
	if !choice.extras {
		extras = nil
	}
	addExtras := func(before uint64) {
		for ; len(extras) > 0 && extras[0].Seq < before; extras = extras[1:] {
			e := extras[0]
			if e.Kind == store.Delivered { // names the last delivered frame that is left
				info, err := store.DecodePayload[store.DeliveredInfo](e)
				upto := uint64(0)
				for old, seq := range seqs {
					if old <= info.Upto {
						upto = max(upto, seq)
					}
				}
				if err != nil || upto == 0 {
					continue
				}
				info.Upto = upto
				e.Payload = store.EncodePayload(info)
			}
			add(e)
		}
	}
	for _, f := range c.order(choice) {
		e := c.frames[f]
		addExtras(e.Seq)
		seq := uint64(len(events) + 1)
		seqs[e.Seq] = seq
		from[seq] = f
		add(e)
	}
	addExtras(math.MaxUint64)
	if c.closed.Kind != "" {
		info := store.ClosedInfo{Frames: uint64(len(from))}
		add(store.Event{Kind: store.Closed, At: c.closed.At, Payload: store.EncodePayload(info)})
	}
	slices.Sort(times)
	for i := range events {
		events[i].At = times[i]
	}
	return events, from
}
