package diff

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// Comparison is of two sessions, A and B.
type Comparison struct {
	options Options
	names   *names
	sides   [2]*Session
	texts   [2]texts
	digest  *Digester
	compare *replay.Comparer
	report  *Report
}

// New returns a comparison of two sessions that are yet to be folded.
func New(d *Digester, o Options) *Comparison {
	c := &Comparison{options: o, names: newNames(), digest: d}
	for i := range c.sides {
		c.sides[i] = newSession(d.seed, c.names)
	}
	return c
}

// Sides returns the sessions A and B, to apply their events to.
func (c *Comparison) Sides() (a, b *Session) { return c.sides[0], c.sides[1] }

// Match pairs all that can be paired without a text.
func (c *Comparison) Match() {
	for _, s := range c.sides {
		s.close()
	}
	for _, dir := range directions {
		c.matchInPlace(dir, c.callLabel)
		c.matchInPlace(dir, func(_ *Session, m *message) uint64 { return m.key })
	}
	c.matchRequests(func(m *message) uint64 { return m.key }, c.sameAnswer)
	c.matchRest(func(m *message) uint64 { return m.content })
}

var directions = [...]transport.Direction{transport.ClientToServer, transport.ServerToClient}

// callLabel tells requests apart by their keys and answers.
func (c *Comparison) callLabel(s *Session, m *message) uint64 {
	if m.reply == none {
		return m.key
	}
	return c.digest.hash.mix(m.key, s.list[m.reply].content)
}

// matchRequests pairs the requests that have a key in common, in their order. Where there
// are more of them in one session it pairs those that are the same.
func (c *Comparison) matchRequests(key func(*message) uint64, same func(a, b int32) bool) {
	c.groups(func(s *Session, i int32) (group, bool) {
		m := &s.list[i]
		return group{hash: key(m), name: m.name, dir: m.dir}, m.kind == transport.Request && m.pair == none
	}, func(as, bs []int32) {
		if len(as) == len(bs) {
			for i := range as {
				c.pairCalls(as[i], bs[i])
			}
			return
		}
		c.alignCalls(as, bs, same)
	})
}

// alignCalls pairs the calls of two lists that are the same, and between those the others
// in their order.
func (c *Comparison) alignCalls(as, bs []int32, same func(a, b int32) bool) {
	i, j := 0, 0
	between := func(toA, toB int) {
		for ; i < toA && j < toB; i, j = i+1, j+1 {
			c.pairCalls(as[i], bs[j])
		}
		i, j = toA+1, toB+1
	}
	align(len(as), len(bs), func(i, j int) bool { return same(as[i], bs[j]) }, func(x, y int) {
		between(x, y)
		c.pairCalls(as[x], bs[y])
	})
	between(len(as), len(bs))
}

// sameAnswer reports whether two requests had one answer.
func (c *Comparison) sameAnswer(a, b int32) bool {
	x, y := c.sides[0].list[a].reply, c.sides[1].list[b].reply
	if x == none || y == none {
		return x == y
	}
	return c.sides[0].list[x].content == c.sides[1].list[y].content
}

// pairCalls pairs two requests, and their answers.
func (c *Comparison) pairCalls(a, b int32) {
	c.pair(a, b)
	if x, y := c.sides[0].list[a].reply, c.sides[1].list[b].reply; x != none && y != none {
		c.pair(x, y)
	}
}

func (c *Comparison) pair(a, b int32) {
	c.sides[0].list[a].pair, c.sides[1].list[b].pair = b, a
}

// matchRest pairs what is no request and no answer to one: what has one content and
// belongs to one call; then wherever it belongs.
func (c *Comparison) matchRest(content func(*message) uint64) {
	for _, owner := range []func(*message) int32{(*message).owner, func(m *message) int32 { return m.call }} {
		c.groups(func(s *Session, i int32) (group, bool) {
			m := &s.list[i]
			if m.pair != none || m.kind == transport.Request || m.kind == transport.Response && m.call != none {
				return group{}, false
			}
			call, ok := c.inA(s, owner(m))
			return group{hash: content(m), name: m.name, dir: m.dir, kind: m.kind, call: call}, ok
		}, func(as, bs []int32) {
			for i := range min(len(as), len(bs)) {
				c.pair(as[i], bs[i])
			}
		})
	}
}

// inA names a call by its index in A, whichever session it is of; false where it has none.
func (c *Comparison) inA(s *Session, call int32) (int32, bool) {
	if call == none || s == c.sides[0] {
		return call, true
	}
	at := s.list[call].pair
	return at, at != none
}

// group is what messages that may be paired have in common.
type group struct {
	hash uint64
	name int32
	call int32
	dir  transport.Direction
	kind transport.MessageKind
}

func (g group) compare(o group) int {
	return cmp.Or(cmp.Compare(g.hash, o.hash), cmp.Compare(g.name, o.name), cmp.Compare(g.call, o.call),
		cmp.Compare(g.dir, o.dir), cmp.Compare(g.kind, o.kind))
}

// member is a message in its group.
type member struct {
	group
	index int32
}

// groups calls each with the messages of each group that both sessions have, in order.
func (c *Comparison) groups(of func(*Session, int32) (group, bool), each func(as, bs []int32)) {
	var members [2][]member
	for side, s := range c.sides {
		for i := range s.list {
			if g, ok := of(s, int32(i)); ok {
				members[side] = append(members[side], member{g, int32(i)})
			}
		}
		slices.SortFunc(members[side], func(a, b member) int { return cmp.Or(a.compare(b.group), cmp.Compare(a.index, b.index)) })
	}
	as, bs := members[0], members[1]
	for len(as) > 0 && len(bs) > 0 {
		switch order := as[0].compare(bs[0].group); {
		case order < 0:
			as = as[1:]
		case order > 0:
			bs = bs[1:]
		default:
			g := as[0].group
			var one, other []int32
			one, as = take(as, g)
			other, bs = take(bs, g)
			each(one, other)
		}
	}
}

// take cuts off the members of a group.
func take(list []member, g group) (indices []int32, rest []member) {
	for len(list) > 0 && list[0].group == g {
		indices = append(indices, list[0].index)
		list = list[1:]
	}
	return indices, list
}
