package diff

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sort"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// Comparison is of two sessions, A and B.
type Comparison struct {
	options Options
	names   *names
	sides   [2]*Session
	texts   [2]texts
	digest  *Digester
	compare *match.Comparer
	report  *Report
}

// New returns a comparison of two sessions that are yet to be folded.
func New(d *Digester, o Options) *Comparison {
	c := &Comparison{options: o, names: &names{known: map[name]int32{}}, digest: d}
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
		c.matchInPlace(dir, func(s *Session, m *message) uint64 {
			if m.reply == none {
				return m.key
			}
			return c.digest.hash.mix(m.key, s.list[m.reply].content)
		})
		c.matchInPlace(dir, func(_ *Session, m *message) uint64 { return m.key })
	}
	c.matchRequests(func(m *message) uint64 { return m.key })
	c.matchRest(func(m *message) uint64 { return m.content })
}

var directions = [...]transport.Direction{transport.ClientToServer, transport.ServerToClient}

// matchRequests pairs the requests that have a key in common, in their order. Where there
// are more of them in one session it pairs those whose answers are the same, and between
// those the others.
func (c *Comparison) matchRequests(key func(*message) uint64) {
	c.groups(func(s *Session, i int32) (group, bool) {
		m := &s.list[i]
		return group{hash: key(m), name: m.name, dir: m.dir}, m.kind == transport.Request && m.pair == none
	}, func(as, bs []int32) {
		i, j := 0, 0
		between := func(toA, toB int) {
			for ; i < toA && j < toB; i, j = i+1, j+1 {
				c.pairCalls(as[i], bs[j])
			}
			i, j = toA+1, toB+1
		}
		if len(as) != len(bs) {
			align(len(as), len(bs), func(i, j int) bool { return c.sameAnswer(as[i], bs[j]) }, func(x, y int) {
				between(x, y)
				c.pairCalls(as[x], bs[y])
			})
		}
		between(len(as), len(bs))
	})
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

// aligned is how long two lists may be, one times the other, that are aligned at best.
const aligned = 1 << 20

// align pairs the elements of two lists that are in the same order and the same, as many
// as there are, of long lists those at both ends. It yields indices in rising order.
func align(n, m int, same func(i, j int) bool, pair func(i, j int)) {
	from := 0
	for from < min(n, m) && same(from, from) {
		pair(from, from)
		from++
	}
	end := 0
	for end < min(n, m)-from && same(n-1-end, m-1-end) {
		end++
	}
	if rows, columns := n-from-end, m-from-end; rows > 0 && columns > 0 && rows*columns <= aligned {
		alignMiddle(from, rows, columns, same, pair)
	}
	for ; end > 0; end-- {
		pair(n-end, m-end)
	}
}

// alignMiddle finds a longest common subsequence.
func alignMiddle(from, rows, columns int, same func(i, j int) bool, pair func(i, j int)) {
	best := make([]int32, (rows+1)*(columns+1)) // of what is left from i and j on
	at := func(i, j int) *int32 { return &best[i*(columns+1)+j] }
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if same(from+i, from+j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case same(from+i, from+j):
			pair(from+i, from+j)
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
}

// matchTexts pairs what is left by its text: by its shape, then by what differs least.
func (c *Comparison) matchTexts() {
	var clocks []match.Clock
	if a, b := c.sides[0], c.sides[1]; a.Header.ID == "" || a.Header.ID != b.Header.ID { // else it is one recording
		for _, s := range c.sides {
			clocks = append(clocks, match.Clock{From: s.Header.Start, To: s.Header.Start.Add(s.took)})
		}
	}
	c.compare = match.NewComparer(c.options.Rules, c.said, clocks...)
	var b []byte
	for side, s := range c.sides {
		for i := range s.list {
			m := &s.list[i]
			if m.pair != none {
				continue
			}
			m.shape = m.content // of what has no text
			if text, ok := c.texts[side].message(m); ok {
				b = c.compare.AppendShape(b[:0], text)
				m.shape = maphash.Bytes(c.digest.seed, b)
			}
		}
	}
	shape := func(m *message) uint64 { return m.shape }
	c.matchRequests(shape)
	c.matchNearest(func(m *message) bool { return m.kind == transport.Request }, func(*message) int32 { return none }, c.pairCalls)
	c.matchRest(func(m *message) uint64 { return m.content })
	c.matchRest(shape)
	c.matchNearest(func(m *message) bool { return m.kind == transport.Notification }, (*message).owner, c.pair)
}

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

// sketches returns the sketches of messages, empty where there is no text.
func (c *Comparison) sketches(side int, of []int32) []sketch {
	list := make([]sketch, len(of))
	for i, at := range of {
		if text, ok := c.texts[side].message(&c.sides[side].list[at]); ok {
			list[i] = c.digest.hash.sketchOf(text)
		}
	}
	return list
}

// span is a part of two lists of requests.
type span struct{ a0, a1, b0, b1, depth int }

// deepestSpan is how often a part is parted again. Each time costs its length.
const deepestSpan = 8

// matchInPlace pairs the requests of a direction that stand at the same place among all
// of them: those at both ends of the session that have one label, those that have a label
// of their own and did not pass each other, and so on between those. Where calls repeat,
// their neighbours tell which is which.
func (c *Comparison) matchInPlace(dir transport.Direction, label func(s *Session, m *message) uint64) {
	var lists [2][]int32
	var labels [2][]uint64
	for side, s := range c.sides {
		for i := range s.list {
			if m := &s.list[i]; m.kind == transport.Request && m.dir == dir && m.pair == none {
				lists[side] = append(lists[side], int32(i))
				labels[side] = append(labels[side], label(s, m))
			}
		}
	}
	todo := []span{{0, len(lists[0]), 0, len(lists[1]), 0}}
	pair := func(i, j int) { c.pairCalls(lists[0][i], lists[1][j]) }
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for ; s.a0 < s.a1 && s.b0 < s.b1 && labels[0][s.a0] == labels[1][s.b0]; s.a0, s.b0 = s.a0+1, s.b0+1 {
			pair(s.a0, s.b0)
		}
		for ; s.a0 < s.a1 && s.b0 < s.b1 && labels[0][s.a1-1] == labels[1][s.b1-1]; s.a1, s.b1 = s.a1-1, s.b1-1 {
			pair(s.a1-1, s.b1-1)
		}
		if s.a0 == s.a1 || s.b0 == s.b1 || s.depth == deepestSpan {
			continue
		}
		anchors := anchorsOf(s, labels)
		for _, at := range anchors {
			pair(at[0], at[1])
			todo = append(todo, span{s.a0, at[0], s.b0, at[1], s.depth + 1})
			s.a0, s.b0 = at[0]+1, at[1]+1
		}
		if len(anchors) > 0 {
			todo = append(todo, span{s.a0, s.a1, s.b0, s.b1, s.depth + 1})
		}
	}
}

// anchorsOf returns the pairs of a part whose labels are there once on either side, as
// many as did not pass each other.
func anchorsOf(s span, labels [2][]uint64) (anchors [][2]int) {
	type place struct{ times, at [2]int32 }
	places := make(map[uint64]place, s.a1-s.a0)
	count := func(side, from, to int) {
		for i := from; i < to; i++ {
			p := places[labels[side][i]]
			p.times[side]++
			p.at[side] = int32(i)
			places[labels[side][i]] = p
		}
	}
	count(0, s.a0, s.a1)
	count(1, s.b0, s.b1)
	var once [][2]int
	var order []int32
	for i := s.a0; i < s.a1; i++ {
		if p := places[labels[0][i]]; p.times == [2]int32{1, 1} {
			once = append(once, [2]int{i, int(p.at[1])})
			order = append(order, p.at[1])
		}
	}
	for i, stays := range rising(order) {
		if stays {
			anchors = append(anchors, once[i])
		}
	}
	return anchors
}

// rising returns which elements of a list of different numbers are in a longest rising
// part of it. The others moved.
func rising(list []int32) []bool {
	ends := []int{}                  // of the best part of each length, the index of its last
	before := make([]int, len(list)) // in the part that ends here
	for i, n := range list {
		length := sort.Search(len(ends), func(k int) bool { return list[ends[k]] >= n })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	stays := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			stays[i] = true
		}
	}
	return stays
}
