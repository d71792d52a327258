package explore

import "slices"

// late is eager with some steps put off: each of them waits for as long as
// anything else can go on, and among themselves they go in a given order. With no
// step put off it is eager; with all steps of a run put off, in their order, it is
// that run. So every schedule shrinks toward eager, one step after the other.
type late struct {
	rank  map[uint32]int // by hash of the step: its place in the order
	order []uint32
	since map[uint32]int  // the step at which it was enabled first
	past  map[uint32]bool // steps that were passed over by others
}

func newLate(order []uint32) *late {
	l := &late{rank: map[uint32]int{}, order: order, since: map[uint32]int{}, past: map[uint32]bool{}}
	for i, h := range order {
		l.rank[h] = i
	}
	return l
}

// choose is the Chooser.
func (l *late) choose(at int, enabled []Step) int {
	best, rank := -1, len(l.order)
	for i, s := range enabled {
		h := uint32(s.Hash())
		place, off := l.rank[h]
		if off && l.since[h] == 0 {
			l.since[h] = at
		}
		switch {
		case !off && rank >= 0:
			best, rank = i, -1
		case off && place < rank:
			best, rank = i, place
		}
	}
	for _, s := range enabled[:best] {
		l.past[uint32(s.Hash())] = true
	}
	return best
}

// holds are the put-off steps as a token has them: those that were enabled up to
// a step, in their order.
func (l *late) holds(upto int) []Choice {
	var list []Choice
	for _, h := range l.order {
		if at := l.since[h]; at > 0 && at <= upto {
			list = append(list, Choice{Step: at, Hash: h})
		}
	}
	return list
}

// passed leaves of the order what was passed over.
func (l *late) passed() []uint32 {
	return slices.DeleteFunc(slices.Clone(l.order), func(h uint32) bool { return !l.past[h] })
}
