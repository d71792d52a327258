package diff

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// findMoved tells of calls, and of what else a caller said, that were made in another
// order. Two that ran at the same time in either session have none.
func (c *Comparison) findMoved(dir transport.Direction) {
	a := c.sides[0]
	var list []int32
	for i := range a.list {
		if m := &a.list[i]; m.dir == dir && m.pair != none && c.isStep(m) {
			list = append(list, int32(i))
		}
	}
	places := make([]int32, len(list))
	for i, at := range list {
		places[i] = a.list[at].pair
	}
	stays := rising(places)
	var still []int32 // indices in list
	for i := range list {
		if stays[i] {
			still = append(still, int32(i))
		}
	}
	for i, at := range list {
		if !stays[i] {
			if by := c.passed(list, places, still, i); by != none {
				c.swapped(at, by, false)
			}
		}
	}
	slices.Sort(places)
	c.findParallel(list, places)
}

// isStep reports whether a message is one that its sender chose to say then: a request, or
// on stdio a notification of a client that concerns no call.
func (c *Comparison) isStep(m *message) bool {
	if m.kind == transport.Request {
		return true
	}
	return m.kind == transport.Notification && m.dir == transport.ClientToServer && m.call == none && m.stream == 0
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
	c.noteOrder(x, y, count, fmt.Sprintf("and %s: one after the other in %s, at the same time in %s", c.what(a, y), waits, runs))
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
		c.noteOrder(x, y, count, fmt.Sprintf("came after %s in B, before it in A; the calls ran at the same time", c.what(a, y)))
	}
}

// pairOfCall is the call of B that an answer of A stands for one to.
func (c *Comparison) pairOfCall(answer int32) int32 {
	return c.sides[0].list[c.sides[0].list[answer].call].pair
}

// noteOrder notes that two messages of A, and so many more pairs, are otherwise in B.
func (c *Comparison) noteOrder(x, y *message, count int, text string) {
	b := c.sides[1]
	if count > 1 {
		text += fmt.Sprintf(" (the first of %d)", count)
	}
	c.find(Finding{
		Section: Order, Kind: Swapped, Note: true, A: []uint64{x.seq, y.seq}, B: []uint64{b.list[x.pair].seq, b.list[y.pair].seq},
		What: c.what(c.sides[0], x), Text: text,
	})
}
