package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// orderFinder finds pairs of messages in another order in B than in A.
type orderFinder struct{ *findings }

// aroundAnswers finds messages that came before the answer to their call in one session and
// after the answer in the other.
func (f orderFinder) aroundAnswers() {
	found := map[int32]bool{} // of A
	for side, s := range f.both() {
		other := f.both()[1-side]
		for i := range s.list {
			if f.flag.Raised() {
				return
			}
			m := &s.list[i]
			owner := m.owner()
			if m.pair == none || owner == none || m.kind == transport.Response {
				continue
			}
			call := &s.list[owner]
			if call.pair == none || call.reply == none || s.list[call.reply].pair == none {
				continue
			}
			if call.cancelled || other.list[call.pair].cancelled {
				continue // a cancellation and an answer may always cross
			}
			reply := &s.list[call.reply]
			o := &other.list[m.pair]
			otherReply := &other.list[reply.pair]
			if m.stream != reply.stream || o.stream != otherReply.stream {
				continue // two HTTP streams have no order
			}
			isBefore := int32(i) < call.reply
			otherIsBefore := m.pair < reply.pair
			at := [...]int32{int32(i), m.pair}[side]
			if isBefore == otherIsBefore || found[at] {
				continue
			}
			if m.call == none { // only seems to belong to the call: another request stands for another cause
				requests := other.requests[otherReply.dir.Reverse()]
				next, _ := slices.BinarySearch(requests, min(m.pair, reply.pair))
				if next < len(requests) && requests[next] <= max(m.pair, reply.pair) {
					continue
				}
			}
			found[at] = true
			finding := Finding{
				Section: Order, Kind: Swapped, AnyOrder: true, What: f.describe(side, m),
				A: []uint64{m.seq, reply.seq}, B: []uint64{o.seq, otherReply.seq},
			}
			if side == 1 {
				finding.A, finding.B = finding.B, finding.A
			}
			inA, inB := "before", "after"
			if isBefore == (side == 1) {
				inA, inB = "after", "before"
			}
			finding.Text = fmt.Sprintf("came %s %s (#%d) in B, %s it (#%d) in A",
				inB, f.describe(side, reply), finding.B[1], inA, finding.A[1])
			f.add(finding)
		}
	}
}

// withinCalls finds notifications of one call, or of one method without a call, that came in
// another order.
func (f orderFinder) withinCalls() {
	groups := map[group][]int32{}
	for i := range f.a.list {
		if f.flag.Raised() {
			return
		}
		m := &f.a.list[i]
		if m.kind != transport.Notification || m.pair == none {
			continue
		}
		o := &f.b.list[m.pair]
		call, ok := f.inA(f.b, o.owner())
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
		f.eachMoved(list, f.moved)
	}
}

// placesInB returns the places in B of messages of A, and which messages did not move.
func (f orderFinder) placesInB(list []int32) (places []int32, stays []bool) {
	for _, at := range list {
		places = append(places, f.a.list[at].pair)
	}
	return places, longestIncreasing(places)
}

// eachMoved calls do with each message which moved in B, given messages of A in order, and with
// the nearest message which stayed and was passed.
func (f orderFinder) eachMoved(list []int32, do func(moved, passed int32)) {
	places, stays := f.placesInB(list)
	next := make([]int, len(list)+1) // the first message from here on that stays
	next[len(list)] = none
	for i := range slices.Backward(list) {
		next[i] = next[i+1]
		if stays[i] {
			next[i] = i
		}
	}
	last := none // the last message before here that stays
	for i, at := range list {
		if f.flag.Raised() {
			return
		}
		switch after := next[i]; {
		case stays[i]:
			last = i
		case last != none && places[last] > places[i]:
			do(at, list[last])
		case after != none && places[after] < places[i]:
			do(at, list[after])
		}
	}
}

// moved adds the finding for two messages of A that are the other way round in B.
func (f orderFinder) moved(one, other int32) {
	x := &f.a.list[min(one, other)]
	y := &f.a.list[max(one, other)]
	text := fmt.Sprintf("came after %s (#%d) in B, before it (#%d) in A", f.describe(0, y), f.b.list[y.pair].seq, y.seq)
	f.swapped(x, y, 0, text)
}

// swapped adds a finding on two messages of A, or a note if notes, the number of such pairs,
// is not 0.
func (f orderFinder) swapped(x, y *message, notes int, text string) {
	if notes > 1 {
		text += fmt.Sprintf(" (the first of %d)", notes)
	}
	f.add(Finding{
		Section: Order, Kind: Swapped, Note: notes > 0, AnyOrder: x.kind == transport.Notification,
		A: []uint64{x.seq, y.seq}, B: []uint64{f.b.list[x.pair].seq, f.b.list[y.pair].seq},
		What: f.describe(0, x), Text: text,
	})
}

// calls finds requests of a direction, and notifications of the client on stdio that concern
// no call, that came in another order. The sender chose their order. Two calls that ran at the
// same time in either session have no order.
func (f orderFinder) calls(dir transport.Direction) {
	var list []int32
	for i := range f.a.list {
		if f.flag.Raised() {
			return
		}
		m := &f.a.list[i]
		isOrdered := m.kind == transport.Request ||
			m.kind == transport.Notification && dir == transport.ClientToServer && m.call == none && m.stream == 0
		if m.dir == dir && m.pair != none && isOrdered {
			list = append(list, int32(i))
		}
	}
	places, stays := f.placesInB(list)
	var still []int32 // indices in list
	for i := range list {
		if stays[i] {
			still = append(still, int32(i))
		}
	}
	for i, at := range list {
		if f.flag.Raised() {
			return
		}
		if stays[i] {
			continue
		}
		if passed := f.passed(list, places, still, i); passed != none {
			f.moved(at, passed)
		}
	}
	slices.Sort(places)
	f.parallel(list, places)
}

// maxPassed is how many passed messages are tried from either end.
const maxPassed = 32

// passed returns a message which stays and was passed by list[i], and which in both sessions
// was over before list[i] began, or began after list[i] was over; or none.
func (f orderFinder) passed(list, places, still []int32, i int) int32 {
	from, _ := slices.BinarySearch(still, int32(i))
	to, _ := slices.BinarySearchFunc(still, places[i], func(k, place int32) int { return int(places[k]) - int(place) })
	low := min(from, to)
	high := max(from, to)
	for n := 0; n < high-low && n < 2*maxPassed; n++ {
		k := still[low+n/2]
		if n%2 == 1 {
			k = still[high-1-n/2]
		}
		first := list[min(int32(i), k)]
		second := list[max(int32(i), k)]
		if isOver(f.a, first, second) && isOver(f.b, f.a.list[second].pair, f.a.list[first].pair) {
			return list[k]
		}
	}
	return none
}

// isOver reports whether a call was over when another began. Notifications of a client on
// stdio are over at once.
func isOver(session *Session, call, next int32) bool {
	if session.list[call].kind == transport.Notification || session.list[next].kind == transport.Notification {
		return call < next
	}
	reply := session.list[call].reply
	return reply != none && reply < next
}

// parallel notes calls, next to each other in both sessions, that ran at the same time in one
// session alone. places are the places in B, sorted.
func (f orderFinder) parallel(list, places []int32) {
	count := 0
	var first [2]int32
	for i := 1; i < len(list); i++ {
		x := list[i-1]
		y := list[i]
		if f.a.list[x].kind != transport.Request || f.a.list[y].kind != transport.Request {
			continue
		}
		at, _ := slices.BinarySearch(places, f.a.list[x].pair)
		if at+1 == len(places) || places[at+1] != f.a.list[y].pair {
			continue
		}
		if isOver(f.a, x, y) == isOver(f.b, f.a.list[x].pair, f.a.list[y].pair) {
			continue
		}
		count++
		if count == 1 {
			first = [2]int32{x, y}
		}
	}
	if count == 0 {
		return
	}
	x := &f.a.list[first[0]]
	y := &f.a.list[first[1]]
	waits, runs := "A", "B"
	if !isOver(f.a, first[0], first[1]) {
		waits, runs = "B", "A"
	}
	text := fmt.Sprintf("and %s: one after the other in %s, at the same time in %s", f.describe(0, y), waits, runs)
	f.swapped(x, y, count, text)
}

// answers notes answers of a direction that overtook each other.
func (f orderFinder) answers(dir transport.Direction) {
	var list []int32
	for i := range f.a.list {
		if f.flag.Raised() {
			return
		}
		if m := &f.a.list[i]; m.isAnswer() && m.pair != none && m.dir == dir {
			list = append(list, int32(i))
		}
	}
	count := 0
	var x, y *message
	f.eachMoved(list, func(moved, passed int32) {
		first := &f.a.list[min(moved, passed)]
		second := &f.a.list[max(moved, passed)]
		if isOver(f.a, first.call, second.call) && isOver(f.b, f.a.list[second.call].pair, f.a.list[first.call].pair) {
			return // the calls moved, and their answers with them
		}
		count++
		if count == 1 {
			x = first
			y = second
		}
	})
	if count > 0 {
		text := fmt.Sprintf("came after %s in B, before it in A; the calls ran at the same time", f.describe(0, y))
		f.swapped(x, y, count, text)
	}
}
