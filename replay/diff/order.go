package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

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
			if before == now || told[at] || m.call == none && !isBeside(other, m.pair, reply.pair) {
				continue
			}
			told[at] = true
			f := Finding{
				Section: Order, Kind: Swapped, AnyOrder: true, What: c.what(s, m),
				A: []uint64{m.seq, reply.seq}, B: []uint64{o.seq, r.seq},
			}
			inA, inB := "before", "after"
			if side == 1 {
				f.A, f.B = f.B, f.A
			}
			if before == (side == 1) {
				inA, inB = inB, inA
			}
			f.Text = fmt.Sprintf("came %s %s (#%d) in B, %s it (#%d) in A", inB, c.what(s, reply), f.B[1], inA, f.A[1])
			c.find(f)
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
func isBeside(s *Session, at, reply int32) bool {
	asked := s.asks[s.list[reply].dir.Reverse()]
	next, _ := slices.BinarySearch(asked, min(at, reply))
	return next == len(asked) || asked[next] > max(at, reply)
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
		c.eachMoved(list, c.moved)
	}
}

// placesInB returns where messages of A stand in B, and which of them did not move.
func (c *Comparison) placesInB(list []int32) (places []int32, stays []bool) {
	for _, at := range list {
		places = append(places, c.sides[0].list[at].pair)
	}
	return places, rising(places)
}

// eachMoved finds which of some messages of A, in their order there, moved in B, and which
// of those that did not is the nearest that one passed, or was passed by.
func (c *Comparison) eachMoved(list []int32, do func(one, by int32)) {
	places, stays := c.placesInB(list)
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

// moved tells of two messages of A that are the other way round in B.
func (c *Comparison) moved(one, by int32) {
	a, b := c.sides[0], c.sides[1]
	x, y := &a.list[min(one, by)], &a.list[max(one, by)]
	c.swapped(x, y, 0, fmt.Sprintf("came after %s (#%d) in B, before it (#%d) in A", c.what(a, y), b.list[y.pair].seq, y.seq))
}

// swapped tells of two messages of A whose order is another in B: by a note of the first
// of so many pairs, or by a finding where notes is 0.
func (c *Comparison) swapped(x, y *message, notes int, text string) {
	if notes > 1 {
		text += fmt.Sprintf(" (the first of %d)", notes)
	}
	b := c.sides[1]
	c.find(Finding{
		Section: Order, Kind: Swapped, Note: notes > 0, AnyOrder: x.kind == transport.Notification,
		A: []uint64{x.seq, y.seq}, B: []uint64{b.list[x.pair].seq, b.list[y.pair].seq},
		What: c.what(c.sides[0], x), Text: text,
	})
}

// findMoved tells of calls, and of what else a caller said, that were made in another
// order. Two that ran at the same time in either session have none. A sender chooses when
// to say a request, and on stdio a client's notification that concerns no call.
func (c *Comparison) findMoved(dir transport.Direction) {
	a := c.sides[0]
	var list []int32
	for i := range a.list {
		m := &a.list[i]
		isTold := m.kind == transport.Notification && dir == transport.ClientToServer && m.call == none && m.stream == 0
		if m.dir == dir && m.pair != none && (m.kind == transport.Request || isTold) {
			list = append(list, int32(i))
		}
	}
	places, stays := c.placesInB(list)
	var still []int32 // indices in list
	for i := range list {
		if stays[i] {
			still = append(still, int32(i))
		}
	}
	for i, at := range list {
		if !stays[i] {
			if by := c.passed(list, places, still, i); by != none {
				c.moved(at, by)
			}
		}
	}
	slices.Sort(places)
	c.findParallel(list, places)
}

// witnesses is how many of those that a call passed are looked at, from either end.
const witnesses = 32

// passed returns one of those that stay which the step passed, and which was over before
// it, or began when it was over, in both sessions.
func (c *Comparison) passed(list, places, still []int32, i int) int32 {
	from, _ := slices.BinarySearch(still, int32(i))
	to, _ := slices.BinarySearchFunc(still, places[i], func(k, place int32) int { return int(places[k]) - int(place) })
	low, high := min(from, to), max(from, to)
	for n := 0; n < high-low && n < 2*witnesses; n++ {
		k := still[low+n/2]
		if n%2 == 1 {
			k = still[high-1-n/2]
		}
		first, second := list[min(int32(i), k)], list[max(int32(i), k)]
		if c.isOver(0, first, second) && c.isOver(1, c.sides[0].list[second].pair, c.sides[0].list[first].pair) {
			return list[k]
		}
	}
	return none
}

// isOver reports whether a step of a session was over when another began. What a client
// tells on stdio goes out in the order in which it is said.
func (c *Comparison) isOver(side int, one, next int32) bool {
	s := c.sides[side]
	x, y := &s.list[one], &s.list[next]
	if x.kind == transport.Notification || y.kind == transport.Notification {
		return one < next
	}
	return x.reply != none && x.reply < next
}

// findParallel notes calls, next to each other in both sessions, of which one waited for
// the other in one session alone. The places are those in B, in its order.
func (c *Comparison) findParallel(list, places []int32) {
	a := c.sides[0]
	count := 0
	var first [2]int32
	for i := 1; i < len(list); i++ {
		x, y := list[i-1], list[i]
		if a.list[x].kind != transport.Request || a.list[y].kind != transport.Request {
			continue
		}
		if at, _ := slices.BinarySearch(places, a.list[x].pair); at+1 == len(places) || places[at+1] != a.list[y].pair {
			continue
		}
		if c.isOver(0, x, y) != c.isOver(1, a.list[x].pair, a.list[y].pair) {
			if count++; count == 1 {
				first = [2]int32{x, y}
			}
		}
	}
	if count == 0 {
		return
	}
	x, y := &a.list[first[0]], &a.list[first[1]]
	waits, runs := "A", "B"
	if !c.isOver(0, first[0], first[1]) {
		waits, runs = runs, waits
	}
	c.swapped(x, y, count, fmt.Sprintf("and %s: one after the other in %s, at the same time in %s", c.what(a, y), waits, runs))
}

// findOvertaken notes answers of one direction's calls that overtook each other.
func (c *Comparison) findOvertaken(dir transport.Direction) {
	a := c.sides[0]
	var list []int32
	for i := range a.list {
		if m := &a.list[i]; m.kind == transport.Response && m.call != none && m.pair != none && m.dir == dir {
			list = append(list, int32(i))
		}
	}
	count := 0
	var x, y *message
	c.eachMoved(list, func(one, by int32) {
		first, second := min(one, by), max(one, by)
		if c.isOver(0, a.list[first].call, a.list[second].call) && c.isOver(1, c.pairOfCall(second), c.pairOfCall(first)) {
			return // the calls moved, and their answers with them
		}
		if count++; count == 1 {
			x, y = &a.list[first], &a.list[second]
		}
	})
	if count > 0 {
		c.swapped(x, y, count, fmt.Sprintf("came after %s in B, before it in A; the calls ran at the same time", c.what(a, y)))
	}
}

// pairOfCall is the call of B that an answer of A stands for one to.
func (c *Comparison) pairOfCall(answer int32) int32 {
	return c.sides[0].list[c.sides[0].list[answer].call].pair
}

// findTools compares the tools that the servers listed, by name.
func (c *Comparison) findTools() {
	a, b := c.sides[0], c.sides[1]
	if a.listed == 0 || b.listed == 0 {
		return // nobody asked
	}
	find := func(kind, name string) {
		c.find(Finding{Section: Tools, Kind: kind, A: []uint64{a.listed}, B: []uint64{b.listed}, What: "tool " + quote(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(a.tools)) {
		if content, has := b.tools[name]; !has {
			find(OnlyInA, name)
		} else if content != a.tools[name] {
			find(Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.tools)) {
		if _, has := a.tools[name]; !has {
			find(OnlyInB, name)
		}
	}
}

// findAround compares what is around the messages: status codes, the exit, standard error.
func (c *Comparison) findAround() {
	a, b := c.sides[0], c.sides[1]
	for i := range a.list {
		m := &a.list[i]
		// Over HTTP+SSE every message is accepted with 202, over Streamable HTTP a
		// request is answered with 200: that is the transport's.
		if m.pair == none || m.dir != transport.ClientToServer || a.legacy != b.legacy {
			continue
		}
		o := &b.list[m.pair]
		was, is := a.status[m.stream], b.status[o.stream]
		if was != 0 && is != 0 && was != is {
			c.find(Finding{
				Section: HTTP, Kind: Changed, A: []uint64{m.seq}, B: []uint64{o.seq}, What: c.what(a, m),
				Text: fmt.Sprintf("status %d in A, %d in B", was, is),
			})
		}
	}
	if a.Exit != "" && b.Exit != "" && a.Exit != b.Exit {
		c.find(Finding{Section: Exit, Kind: Changed, What: "the server's exit", Text: fmt.Sprintf("%s in A, %s in B", a.Exit, b.Exit)})
	}
	onlyA, onlyB := linesBeside(a.said, b.said), linesBeside(b.said, a.said)
	if onlyA+onlyB > 0 {
		c.find(Finding{
			Section: Stderr, Kind: Changed, Note: true, What: "standard error",
			Text: fmt.Sprintf("%s in A, %d in B; %d only in A, %d only in B", phrase.Plural(a.stderr, "line"), b.stderr, onlyA, onlyB),
		})
	}
}

// linesBeside counts the lines that the other side has not.
func linesBeside(said, other map[uint64]int) (n int) {
	for line, times := range said {
		n += max(0, times-other[line])
	}
	return n
}

// side tells what a session is.
func (s *Session) side() Side {
	calls := 0
	for i := range s.list {
		if s.list[i].kind == transport.Request {
			calls++
		}
	}
	return Side{
		ID: string(s.Header.ID), Transport: s.Header.Transport, Events: s.Events, Frames: s.Frames,
		Calls: calls, Lost: s.Lost, Took: int64(s.took),
	}
}

// findAlone tells of what only one session has.
func (c *Comparison) findAlone() {
	for side, s := range c.sides {
		with := map[int32]int{} // of a call: what belongs to it
		for i := range s.list {
			m := &s.list[i]
			if owner := m.owner(); m.pair == none && owner != none && m.kind != transport.Response && s.list[owner].pair == none {
				with[owner]++
			}
		}
		for i := range s.list {
			if s.list[i].pair == none {
				c.alone(side, &s.list[i], with[int32(i)])
			}
		}
	}
}

// alone tells of one message, unless it belongs to a call that is alone itself.
func (c *Comparison) alone(side int, m *message, with int) {
	s := c.sides[side]
	f := Finding{Section: Notifications, Kind: [...]string{OnlyInA, OnlyInB}[side], What: c.what(s, m)}
	own, others := &f.A, &f.B
	if side == 1 {
		own, others = others, own
	}
	*own = []uint64{m.seq}
	owner := m.owner()
	switch {
	case m.kind == transport.Request:
		f.Section = Calls
		var texts []string
		if m.reply != none {
			*own = append(*own, s.list[m.reply].seq)
			texts = append(texts, fmt.Sprintf("answered by #%d", s.list[m.reply].seq))
		}
		if with > 0 {
			texts = append(texts, fmt.Sprintf("with %d more that belong to it", with))
		}
		f.Text = strings.Join(texts, ", ")
	case owner != none && s.list[owner].pair == none && (m.kind == transport.Response || m.kind == transport.Notification):
		return
	case m.kind == transport.Response && m.call != none:
		f.Section = Calls
		other := c.sides[1-side].list[s.list[m.call].pair]
		f.Text = fmt.Sprintf("#%d has none in %s", other.seq, [...]string{"B", "A"}[side])
		*others = []uint64{other.seq}
	case m.kind == transport.Response:
		f.Section = Calls
	case m.kind == transport.Invalid:
		f.Section = Noise
		if text, ok := c.texts[side].message(m); ok {
			f.Text = shorten(string(text.Params))
		}
	case owner != none:
		f.Text = fmt.Sprintf("of #%d %s", s.list[owner].seq, c.what(s, &s.list[owner]))
	}
	c.find(f)
}

// what names a message in words.
func (c *Comparison) what(s *Session, m *message) string {
	name := c.names.list[m.name]
	switch {
	case m.kind == transport.Invalid:
		return fmt.Sprintf("a line of the %s that is no message", m.dir.Sender())
	case m.kind == transport.Response && m.call == none:
		return fmt.Sprintf("an answer of the %s to no request", m.dir.Sender())
	case m.kind == transport.Response:
		return "the answer to " + name.String()
	case m.kind == transport.Request && m.dir == transport.ServerToClient:
		return name.String() + " of the server"
	}
	return name.String()
}
