package diff

import "github.com/mcprec/mcprec/transport"

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
		s := trim(todo[len(todo)-1], labels, pair)
		todo = todo[:len(todo)-1]
		if s.a0 == s.a1 || s.b0 == s.b1 || s.depth == deepestSpan {
			continue
		}
		anchors := anchorsOf(s, labels)
		if len(anchors) == 0 {
			continue
		}
		from := s
		for _, at := range anchors {
			pair(at[0], at[1])
			todo = append(todo, span{from.a0, at[0], from.b0, at[1], s.depth + 1})
			from.a0, from.b0 = at[0]+1, at[1]+1
		}
		todo = append(todo, span{from.a0, s.a1, from.b0, s.b1, s.depth + 1})
	}
}

// trim pairs what is the same at both ends of a part, and returns the rest.
func trim(s span, labels [2][]uint64, pair func(i, j int)) span {
	for s.a0 < s.a1 && s.b0 < s.b1 && labels[0][s.a0] == labels[1][s.b0] {
		pair(s.a0, s.b0)
		s.a0, s.b0 = s.a0+1, s.b0+1
	}
	for s.a0 < s.a1 && s.b0 < s.b1 && labels[0][s.a1-1] == labels[1][s.b1-1] {
		s.a1, s.b1 = s.a1-1, s.b1-1
		pair(s.a1, s.b1)
	}
	return s
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
