package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// findOrder compares the order of what both sessions have.
func (c *Comparison) findOrder() {
	c.findMisplaced()
	c.findShuffled()
	for _, dir := range directions {
		c.findMoved(dir)
		c.findOvertaken(dir)
	}
}

// findMisplaced tells of what came on the other side of the answer to its call: before it
// in one session, after it in the other.
func (c *Comparison) findMisplaced() {
	told := map[int32]bool{} // of A
	for side, s := range c.sides {
		other := c.sides[1-side]
		for i := range s.list {
			m, owner := &s.list[i], s.list[i].owner()
			if m.pair == none || owner == none || m.kind == transport.Response || !c.hasAnswers(s, other, owner) {
				continue
			}
			reply := &s.list[s.list[owner].reply]
			o, r := &other.list[m.pair], &other.list[reply.pair]
			if m.stream != reply.stream || o.stream != r.stream {
				continue // two HTTP streams have no order
			}
			before, now := int32(i) < s.list[owner].reply, m.pair < reply.pair
			at := [...]int32{int32(i), m.pair}[side]
			if before == now || told[at] || m.call == none && !c.isBeside(other, m.pair, reply.pair) {
				continue
			}
			told[at] = true
			c.misplaced(side, m, reply, before)
		}
	}
}

// hasAnswers reports whether a call is in both sessions, answered, and not cancelled: a
// cancellation and an answer may always cross.
func (c *Comparison) hasAnswers(s, other *Session, call int32) bool {
	m := &s.list[call]
	return m.pair != none && m.reply != none && s.list[m.reply].pair != none && !m.cancelled && !other.list[m.pair].cancelled
}

// isBeside reports whether nothing of the caller's is between a message and the answer
// that it seems to belong to. What comes elsewhere altogether has other reasons.
func (c *Comparison) isBeside(s *Session, at, reply int32) bool {
	asked := s.asks[s.list[reply].dir.Reverse()]
	next, _ := slices.BinarySearch(asked, min(at, reply))
	return next == len(asked) || asked[next] > max(at, reply)
}

// misplaced tells of one.
func (c *Comparison) misplaced(side int, m, reply *message, before bool) {
	s, other := c.sides[side], c.sides[1-side]
	o, r := &other.list[m.pair], &other.list[reply.pair]
	a, b, inA := [2]uint64{m.seq, reply.seq}, [2]uint64{o.seq, r.seq}, before
	if side == 1 {
		a, b, inA = b, a, !before
	}
	how, was := "after", "before"
	if !inA {
		how, was = was, how
	}
	c.find(Finding{
		Section: Order, Kind: Swapped, AnyOrder: true, A: a[:], B: b[:], What: c.what(s, m),
		Text: fmt.Sprintf("came %s %s (#%d) in B, %s it (#%d) in A", how, c.what(s, reply), b[1], was, a[1]),
	})
}

// findShuffled tells of notifications of one call, or of one method where there is no
// call, that came in another order.
func (c *Comparison) findShuffled() {
	a, b := c.sides[0], c.sides[1]
	groups := map[group][]int32{}
	for i := range a.list {
		m := &a.list[i]
		if m.kind != transport.Notification || m.pair == none {
			continue
		}
		o := &b.list[m.pair]
		call, ok := c.inA(b, o.owner())
		if !ok || call != m.owner() {
			continue
		}
		g := group{hash: m.stream<<32 ^ o.stream, call: call, dir: m.dir, name: none}
		if call == none {
			g.name = m.name
		}
		groups[g] = append(groups[g], int32(i))
	}
	var lists [][]int32
	for _, list := range groups {
		if len(list) > 1 {
			lists = append(lists, list)
		}
	}
	slices.SortFunc(lists, func(x, y []int32) int { return cmp.Compare(x[0], y[0]) })
	for _, list := range lists {
		c.eachMoved(list, func(one, by int32) { c.swapped(one, by, false) })
	}
}

// eachMoved finds which of some messages of A, in their order there, moved in B, and which
// of those that did not is the nearest that one passed, or was passed by.
func (c *Comparison) eachMoved(list []int32, do func(one, by int32)) {
	a := c.sides[0]
	places := make([]int32, len(list))
	for i, at := range list {
		places[i] = a.list[at].pair
	}
	stays := rising(places)
	next := make([]int, len(list)+1) // the first from it on that stays
	next[len(list)] = none
	for i := range slices.Backward(list) {
		if next[i] = next[i+1]; stays[i] {
			next[i] = i
		}
	}
	last := none // the last before it that stays
	for i, at := range list {
		if stays[i] {
			last = i
			continue
		}
		if last != none && places[last] > places[i] {
			do(at, list[last])
			continue
		}
		if k := next[i]; k != none && places[k] < places[i] {
			do(at, list[k])
		}
	}
}

// swapped tells of two messages of A that are the other way round in B.
func (c *Comparison) swapped(one, by int32, note bool) {
	a, b := c.sides[0], c.sides[1]
	first, second := min(one, by), max(one, by)
	x, y := &a.list[first], &a.list[second]
	c.find(Finding{
		Section: Order, Kind: Swapped, Note: note, AnyOrder: x.kind == transport.Notification, A: []uint64{x.seq, y.seq}, B: []uint64{b.list[x.pair].seq, b.list[y.pair].seq},
		What: c.what(a, x), Text: fmt.Sprintf("came after %s (#%d) in B, before it (#%d) in A", c.what(a, y), b.list[y.pair].seq, y.seq),
	})
}
