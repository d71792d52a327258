package diff

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// matchTexts pairs what is left by its text.
func (c *Comparison) matchTexts() {
	var clocks []replay.Clock
	if a, b := c.sides[0], c.sides[1]; a.Header.ID == "" || a.Header.ID != b.Header.ID { // else it is one recording
		for _, s := range c.sides {
			clocks = append(clocks, replay.Clock{From: s.Header.Start, To: s.Header.Start.Add(s.took)})
		}
	}
	c.compare = replay.NewComparer(c.options.Rules, c.said, clocks...)
	c.readShapes()
	c.matchRequests(shapeOf, c.sameAnswer)
	c.matchNearest(func(m *message) bool { return m.kind == transport.Request }, func(*message) int32 { return none }, c.pairCalls)
	c.matchRest(func(m *message) uint64 { return m.content })
	c.matchRest(shapeOf)
	c.matchNearest(func(m *message) bool { return m.kind == transport.Notification }, (*message).owner, c.pair)
}

// readShapes computes the shapes of what is left. What has no text has its content.
func (c *Comparison) readShapes() {
	var b []byte
	for side, s := range c.sides {
		for i := range s.list {
			m := &s.list[i]
			if m.pair != none {
				continue
			}
			m.shape = m.content
			if text, ok := c.texts[side].message(m); ok {
				b = c.compare.AppendShape(b[:0], text)
				m.shape = maphash.Bytes(c.digest.seed, b)
			}
		}
	}
}

func shapeOf(m *message) uint64 { return m.shape }

// comparisons is how many are made of the messages of one name that are left: each with
// those at about its place, at least a few.
const (
	comparisons = 250_000
	aFew        = 4
)

// matchNearest pairs messages of one name that differ, those first that differ least and
// are nearest by their place among what is left; then the others in their order.
func (c *Comparison) matchNearest(is func(*message) bool, owner func(*message) int32, pair func(a, b int32)) {
	c.groups(func(s *Session, i int32) (group, bool) {
		m := &s.list[i]
		if m.pair != none || !is(m) {
			return group{}, false
		}
		call, ok := c.inA(s, owner(m))
		return group{name: m.name, dir: m.dir, call: call}, ok
	}, func(as, bs []int32) {
		used := [2][]bool{make([]bool, len(as)), make([]bool, len(bs))}
		use := func(i, j int) {
			pair(as[i], bs[j])
			used[0][i], used[1][j] = true, true
		}
		for _, n := range c.neighbors(as, bs) {
			if !used[0][n.i] && !used[1][n.j] {
				use(int(n.i), int(n.j))
			}
		}
		j := 0
		for i := range as {
			for j < len(bs) && used[1][j] {
				j++
			}
			if !used[0][i] && j < len(bs) {
				use(i, j)
			}
		}
	})
}

// neighbor is a pair that may be made, and how much it differs.
type neighbor struct{ i, j, distance int32 }

// neighbors compares the messages of two lists that are about as far in theirs.
func (c *Comparison) neighbors(as, bs []int32) (list []neighbor) {
	if len(as) == 1 && len(bs) == 1 {
		return []neighbor{{0, 0, 0}}
	}
	band := len(as) + len(bs)
	if len(as)*len(bs) > comparisons {
		band = max(comparisons/max(len(as), len(bs))/2, aFew)
	}
	x, y := c.sketches(0, as), c.sketches(1, bs)
	for i := range as {
		for j := max(0, i-band); j < min(len(bs), i+band+1); j++ {
			list = append(list, neighbor{int32(i), int32(j), int32(x[i].distance(y[j]))})
		}
	}
	slices.SortFunc(list, func(x, y neighbor) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(max(x.i-x.j, x.j-x.i), max(y.i-y.j, y.j-y.i)), cmp.Compare(x.i+x.j, y.i+y.j))
	})
	return list
}

// sketches are those of some messages; what has no text has an empty one.
func (c *Comparison) sketches(side int, of []int32) []sketch {
	list := make([]sketch, len(of))
	for i, at := range of {
		if text, ok := c.texts[side].message(&c.sides[side].list[at]); ok {
			list[i] = c.digest.hash.sketchOf(text)
		}
	}
	return list
}
