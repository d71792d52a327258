package diff

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// pairing pairs the messages of two sessions.
type pairing struct {
	sides
	seed maphash.Seed
	flag *interrupt.Flag // the messages that are not paired when it is raised stay alone
}

var directions = [...]transport.Direction{transport.ClientToServer, transport.ServerToClient}

// byContent pairs messages that are the same.
func (p *pairing) byContent() {
	for _, dir := range directions {
		p.inPlace(dir, func(s *Session, m *message) label {
			if m.reply == none {
				return label{m.key, 0}
			}
			return label{m.key, s.list[m.reply].content}
		})
		p.inPlace(dir, func(_ *Session, m *message) label { return label{m.key, 0} })
	}
	p.requests(func(message *message) uint64 { return message.key })
	p.others(func(message *message) uint64 { return message.content })
}

// byShape pairs the rest: messages of one shape, then the messages with the least differences.
func (p *pairing) byShape(compare *match.Comparer) {
	var b []byte
	for _, s := range p.both() {
		for i := range s.list {
			m := &s.list[i]
			if p.flag.Raised() {
				return
			}
			if m.pair != none {
				continue
			}
			m.shape = m.content // of a message without a text
			if text, ok := m.text(); ok {
				b = compare.AppendShape(b[:0], text)
				m.shape = maphash.Bytes(p.seed, b)
			}
		}
	}
	shape := func(message *message) uint64 { return message.shape }
	p.requests(shape)
	p.nearest(transport.Request, func(*message) int32 { return none }, p.pairCalls)
	p.others(func(message *message) uint64 { return message.content })
	p.others(shape)
	p.nearest(transport.Notification, (*message).owner, p.pair)
}

// label is what two requests in place have in common: the key, and the content of the answer.
type label [2]uint64

// inPlace pairs the requests of a direction by labels and by places in the sequence of
// requests.
func (p *pairing) inPlace(dir transport.Direction, of func(s *Session, m *message) label) {
	var lists [2][]int32
	var labels [2][]label
	for side, s := range p.both() {
		for i := range s.list {
			if p.flag.Raised() {
				return
			}
			if m := &s.list[i]; m.kind == transport.Request && m.dir == dir && m.pair == none {
				lists[side] = append(lists[side], int32(i))
				labels[side] = append(labels[side], of(s, m))
			}
		}
	}
	patience(p.flag, labels[0], labels[1], func(i, j int) { p.pairCalls(lists[0][i], lists[1][j]) })
}

// requests pairs requests with equal keys in order. If one session has more requests of a key,
// requests with the same answer are paired first, and the others between them.
func (p *pairing) requests(key func(*message) uint64) {
	p.groups(func(session *Session, m *message) (group, bool) {
		return group{hash: key(m), name: m.name, dir: m.dir}, m.kind == transport.Request && m.pair == none
	}, func(as, bs []int32) {
		sameAnswer := func(i, j int) bool { // or neither has an answer
			x := p.a.list[as[i]].reply
			y := p.b.list[bs[j]].reply
			if x == none || y == none {
				return x == y
			}
			return p.a.list[x].content == p.b.list[y].content
		}
		i, j := 0, 0
		between := func(toA, toB int) {
			for i < toA && j < toB {
				p.pairCalls(as[i], bs[j])
				i++
				j++
			}
			i = toA + 1
			j = toB + 1
		}
		if len(as) != len(bs) {
			align(p.flag, len(as), len(bs), sameAnswer, func(x, y int) {
				between(x, y)
				p.pairCalls(as[x], bs[y])
			})
		}
		between(len(as), len(bs))
	})
}

// pairCalls pairs two requests, and their answers.
func (p *pairing) pairCalls(a, b int32) {
	p.pair(a, b)
	x := p.a.list[a].reply
	y := p.b.list[b].reply
	if x != none && y != none {
		p.pair(x, y)
	}
}

func (p *pairing) pair(a, b int32) {
	p.a.list[a].pair = b
	p.b.list[b].pair = a
}

// others pairs messages besides requests and answers, by content: first messages with the same
// call as owner, then messages which name the same call.
func (p *pairing) others(content func(*message) uint64) {
	for _, call := range []func(*message) int32{(*message).owner, func(message *message) int32 { return message.call }} {
		p.groups(func(session *Session, message *message) (group, bool) {
			if message.pair != none || message.kind == transport.Request || message.isAnswer() {
				return group{}, false
			}
			call, ok := p.inA(session, call(message))
			return group{hash: content(message), name: message.name, dir: message.dir, kind: message.kind, call: call}, ok
		}, func(as, bs []int32) {
			for i := range min(len(as), len(bs)) {
				p.pair(as[i], bs[i])
			}
		})
	}
}

// inA returns the index in A of a call of either session; false if A has no such call.
func (x sides) inA(session *Session, call int32) (int32, bool) {
	if call == none || session == x.a {
		return call, true
	}
	at := session.list[call].pair
	return at, at != none
}

// maxCompared is roughly how many pairs of messages of one name are compared: each message with
// at least minNeighbors messages at about the same place.
const (
	maxCompared  = 250_000
	minNeighbors = 4
)

// nearest pairs different messages of one kind and name: first the pairs with the least
// differences, at equal differences the nearest by place; then the others in order.
func (p *pairing) nearest(kind transport.MessageKind, owner func(*message) int32, pair func(a, b int32)) {
	p.groups(func(session *Session, message *message) (group, bool) {
		if message.pair != none || message.kind != kind {
			return group{}, false
		}
		call, ok := p.inA(session, owner(message))
		return group{name: message.name, dir: message.dir, call: call}, ok
	}, func(as, bs []int32) {
		usedA := make([]bool, len(as))
		usedB := make([]bool, len(bs))
		use := func(i, j int) {
			pair(as[i], bs[j])
			usedA[i] = true
			usedB[j] = true
		}
		type candidate struct{ i, j, distance int }
		var candidates []candidate
		if len(as)+len(bs) > 2 { // else there is no choice
			band := len(as) + len(bs)
			if len(as)*len(bs) > maxCompared {
				band = max(maxCompared/max(len(as), len(bs))/2, minNeighbors)
			}
			scalarsA := p.scalars(p.a, as)
			scalarsB := p.scalars(p.b, bs)
			for i := range as {
				if p.flag.Raised() {
					return
				}
				for j := max(0, i-band); j < min(len(bs), i+band+1); j++ {
					candidates = append(candidates, candidate{i, j, distance(scalarsA[i], scalarsB[j])})
				}
			}
			slices.SortFunc(candidates, func(x, y candidate) int {
				return cmp.Or(
					cmp.Compare(x.distance, y.distance),
					cmp.Compare(max(x.i-x.j, x.j-x.i), max(y.i-y.j, y.j-y.i)),
					cmp.Compare(x.i+x.j, y.i+y.j))
			})
		}
		for _, n := range candidates {
			if p.flag.Raised() {
				return
			}
			if !usedA[n.i] && !usedB[n.j] {
				use(n.i, n.j)
			}
		}
		j := 0
		for i := range as {
			for j < len(bs) && usedB[j] {
				j++
			}
			if !usedA[i] && j < len(bs) {
				use(i, j)
			}
		}
	})
}

// keptScalars is how many scalars of a message are compared.
const keptScalars = 100

// scalars returns the hashes of the scalars of messages, each with its place, in rising order; of a
// message without a text none.
func (p *pairing) scalars(s *Session, indices []int32) [][]uint64 {
	lists := make([][]uint64, len(indices))
	for i, at := range indices {
		if p.flag.Raised() {
			return lists
		}
		text, _ := s.list[at].text()
		match.Scalars(text, func(scalar []byte) { lists[i] = append(lists[i], maphash.Bytes(p.seed, scalar)) })
		slices.Sort(lists[i])
		lists[i] = slices.Clip(lists[i][:min(len(lists[i]), keptScalars)])
	}
	return lists
}

// distance counts the elements in only one of two rising lists.
func distance(a, b []uint64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
			n++
		default:
			b = b[1:]
			n++
		}
	}
	return n + len(a) + len(b)
}

// group has the common properties of messages which may be paired.
type group struct {
	hash uint64
	name int32
	call int32
	dir  transport.Direction
	kind transport.MessageKind
}

// groups calls each with the indices of every group that both sessions have, in order. of
// returns the group of a message, false if the message takes no part.
func (p *pairing) groups(of func(*Session, *message) (group, bool), each func(as, bs []int32)) {
	found := map[group]*[2][]int32{}
	var order []group
	for side, s := range p.both() {
		for i := range s.list {
			if p.flag.Raised() {
				return
			}
			g, ok := of(s, &s.list[i])
			if !ok {
				continue
			}
			if found[g] == nil {
				found[g] = &[2][]int32{}
				order = append(order, g)
			}
			found[g][side] = append(found[g][side], int32(i))
		}
	}
	for _, g := range order {
		if p.flag.Raised() {
			return
		}
		if x := found[g]; len(x[0]) > 0 && len(x[1]) > 0 {
			each(x[0], x[1])
		}
	}
}

// maxTable is the largest table of a longest common subsequence: rows times columns.
const maxTable = 1 << 20

// align pairs equal elements of two lists of n and m elements in the order of both: those at
// both ends, and between them a longest common subsequence unless its table is too large. It
// calls pair with rising indices. If the flag is raised it pairs no more.
func align(flag *interrupt.Flag, n, m int, same func(i, j int) bool, pair func(i, j int)) {
	from := 0
	for from < min(n, m) && same(from, from) && !flag.Raised() {
		pair(from, from)
		from++
	}
	end := 0
	for end < min(n, m)-from && same(n-1-end, m-1-end) {
		end++
	}
	rows := n - from - end
	columns := m - from - end
	if rows > 0 && columns > 0 && rows*columns <= maxTable {
		longest := make([]int32, (rows+1)*(columns+1)) // the length of one from i and j on
		at := func(i, j int) *int32 { return &longest[i*(columns+1)+j] }
		for i := rows - 1; i >= 0; i-- {
			for j := columns - 1; j >= 0; j-- {
				if flag.Raised() {
					return
				}
				if same(from+i, from+j) {
					*at(i, j) = *at(i+1, j+1) + 1
				} else {
					*at(i, j) = max(*at(i+1, j), *at(i, j+1))
				}
			}
		}
		i, j := 0, 0
		for i < rows && j < columns {
			switch {
			case same(from+i, from+j):
				pair(from+i, from+j)
				i++
				j++
			case *at(i+1, j) >= *at(i, j+1):
				i++
			default:
				j++
			}
		}
	}
	for ; end > 0; end-- {
		pair(n-end, m-end)
	}
}

// span is a part of two lists: from a0 to a1, and from b0 to b1.
type span struct{ a0, a1, b0, b1, depth int }

// maxDepth is how often patience splits a part again. Each time costs the part's length.
const maxDepth = 8

// patience pairs elements of two lists by labels, as patience diff does: equal labels at both
// ends, then labels which each list has only once, in the order of both (the anchors), and again
// between the anchors. Where labels repeat, the neighbours decide. If the flag is raised it pairs no more.
func patience(flag *interrupt.Flag, a, b []label, pair func(i, j int)) {
	todo := []span{{0, len(a), 0, len(b), 0}}
	for len(todo) > 0 && !flag.Raised() {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for s.a0 < s.a1 && s.b0 < s.b1 && a[s.a0] == b[s.b0] {
			pair(s.a0, s.b0)
			s.a0++
			s.b0++
		}
		for s.a0 < s.a1 && s.b0 < s.b1 && a[s.a1-1] == b[s.b1-1] {
			s.a1--
			s.b1--
			pair(s.a1, s.b1)
		}
		if s.a0 == s.a1 || s.b0 == s.b1 || s.depth == maxDepth {
			continue
		}
		type place struct{ times, at [2]int32 }
		places := make(map[label]place, s.a1-s.a0)
		for side, labels := range [2][]label{a[s.a0:s.a1], b[s.b0:s.b1]} {
			for i, label := range labels {
				if flag.Raised() {
					return
				}
				p := places[label]
				p.times[side]++
				p.at[side] = int32(i)
				places[label] = p
			}
		}
		var once, order []int32 // indices in a and in b
		for i := s.a0; i < s.a1; i++ {
			if p := places[a[i]]; p.times == [2]int32{1, 1} {
				once = append(once, int32(i))
				order = append(order, int32(s.b0)+p.at[1])
			}
		}
		from := s
		for n, isAnchor := range longestIncreasing(order) {
			if !isAnchor {
				continue
			}
			i := int(once[n])
			j := int(order[n])
			pair(i, j)
			todo = append(todo, span{from.a0, i, from.b0, j, s.depth + 1})
			from.a0 = i + 1
			from.b0 = j + 1
		}
		if len(order) > 0 {
			todo = append(todo, span{from.a0, s.a1, from.b0, s.b1, s.depth + 1})
		}
	}
}

// longestIncreasing reports which elements of a list of different numbers are in a longest
// increasing subsequence of the list. The others moved.
func longestIncreasing(list []int32) []bool {
	var ends []int                     // by length - 1: the index of the least last element
	previous := make([]int, len(list)) // the element before in the subsequence that ends here
	for i, n := range list {
		length, _ := slices.BinarySearchFunc(ends, n, func(end int, n int32) int { return int(list[end]) - int(n) })
		previous[i] = -1
		if length > 0 {
			previous[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	isIn := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			isIn[i] = true
		}
	}
	return isIn
}
