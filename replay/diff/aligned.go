package diff

// Pair is a message of A and the message of B that it is paired with, by their events. Seq 0
// stands for no message: the other session alone has one.
type Pair struct{ A, B uint64 }

// Aligned returns every message of both sessions, once, in the order of A. A message of B alone
// stands behind the messages of B before it, as far as these come in the order of A. Call
// Aligned after Report.
func (c *Comparison) Aligned() []Pair {
	var paired []int32 // places in B, in the order of A
	for i := range c.a.list {
		if at := c.a.list[i].pair; at != none {
			paired = append(paired, at)
		}
	}
	inOrder := longestIncreasing(paired)
	list := make([]Pair, 0, len(c.a.list)+len(c.b.list)-len(paired))
	next := 0 // of B
	alone := func(upto int) {
		for ; next < upto; next++ {
			if m := &c.b.list[next]; m.pair == none {
				list = append(list, Pair{B: m.seq})
			}
		}
	}
	n := 0 // pairs so far
	for i := range c.a.list {
		m := &c.a.list[i]
		if m.pair == none {
			list = append(list, Pair{A: m.seq})
			continue
		}
		if inOrder[n] {
			alone(int(m.pair))
		}
		n++
		list = append(list, Pair{m.seq, c.b.list[m.pair].seq})
	}
	alone(len(c.b.list))
	return list
}
