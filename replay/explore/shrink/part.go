package shrink

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// part is what is kept or dropped as one: a request with its response, the
// handshake, or a single notification.
type part struct {
	frames []int // indices into the cut's frames, rising
	needs  []need
}

// need lists parts of which one must be kept for another to be legal.
type need struct {
	any    []int
	inside bool // it happens inside of them: they are one group
}

// cut is a session taken apart.
type cut struct {
	opened []store.Event // the header, if there is one
	frames []store.Event
	extras []store.Event // no frames, but they may matter to who plays: eof, delivered, …
	closed store.Event   // its end, if it was sealed

	parts     []part
	partOf    []int   // frame → part
	handshake int     // a part, or -1
	groups    [][]int // parts that hang together, by their first frame
	groupOf   []int   // part → group
}

// take takes a session apart. Of a fragment the handshake may go by itself.
func take(events []store.Event, fragment bool) *cut {
	c := &cut{handshake: -1}
	for _, e := range events {
		switch e.Kind {
		case store.Opened:
			c.opened = append(c.opened, e)
		case store.Frame:
			c.frames = append(c.frames, e)
		case store.Closed:
			c.closed = e
		case store.Stderr, store.Note, store.Lost:
		default:
			c.extras = append(c.extras, e)
		}
	}
	c.link()
	if c.handshake >= 0 && !fragment {
		for i := range c.parts {
			if i != c.handshake {
				c.parts[i].needs = append(c.parts[i].needs, need{any: []int{c.handshake}})
			}
		}
	}
	c.group()
	return c
}

// group unites the parts that happen inside one another.
func (c *cut) group() {
	u := newUnion(len(c.parts))
	for i, p := range c.parts {
		for _, n := range p.needs {
			for _, of := range n.any {
				if n.inside {
					u.join(i, of)
				}
			}
		}
	}
	c.groupOf = make([]int, len(c.parts))
	number := map[int]int{}
	for i := range c.parts {
		g, ok := number[u.root(i)]
		if !ok {
			g = len(c.groups)
			number[u.root(i)] = g
			c.groups = append(c.groups, nil)
		}
		c.groups[g] = append(c.groups[g], i)
		c.groupOf[i] = g
	}
}

// lower drops the parts whose needs are not kept, until what is left is
// down-closed.
func (c *cut) lower(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			if keep[i] && !p.stands(keep) {
				keep[i], changed = false, true
			}
		}
	}
}

// raise adds what the kept parts need, the first of each alternative.
func (c *cut) raise(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			for _, n := range p.needs {
				if keep[i] && !n.met(keep) {
					keep[n.any[0]], changed = true, true
				}
			}
		}
	}
}

func (p part) stands(keep []bool) bool {
	return !slices.ContainsFunc(p.needs, func(n need) bool { return !n.met(keep) })
}

func (n need) met(keep []bool) bool {
	return slices.ContainsFunc(n.any, func(i int) bool { return keep[i] })
}

// merge makes one part of those that were joined: a batch has messages of several.
func (c *cut) merge(u *union) {
	index := make([]int, len(c.parts)) // old → new
	var parts []part
	number := map[int]int{}
	for i := range c.parts {
		n, ok := number[u.root(i)]
		if !ok {
			n = len(parts)
			number[u.root(i)] = n
			parts = append(parts, part{})
		}
		index[i] = n
		parts[n].frames = append(parts[n].frames, c.parts[i].frames...)
		parts[n].needs = append(parts[n].needs, c.parts[i].needs...)
	}
	c.parts = parts
	c.renumber(index)
}

// sort brings the parts into the order of their first frames.
func (c *cut) sort() {
	order := make([]int, len(c.parts))
	for i := range c.parts {
		order[i] = i
		slices.Sort(c.parts[i].frames)
		c.parts[i].frames = slices.Compact(c.parts[i].frames)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.parts[a].frames[0], c.parts[b].frames[0])
	})
	index := make([]int, len(order))
	parts := make([]part, len(order))
	for to, from := range order {
		index[from] = to
		parts[to] = c.parts[from]
	}
	c.parts = parts
	c.renumber(index)
	c.partOf = make([]int, len(c.frames))
	for i, p := range c.parts {
		for _, f := range p.frames {
			c.partOf[f] = i
		}
	}
}

// renumber takes the needs to the new numbers of their parts, and forgets what a
// part would need of itself.
func (c *cut) renumber(index []int) {
	for i := range c.parts {
		var needs []need
		for _, n := range c.parts[i].needs {
			var list []int
			for _, old := range n.any {
				list = append(list, index[old])
			}
			if !slices.Contains(list, i) {
				slices.Sort(list)
				needs = append(needs, need{slices.Compact(list), n.inside})
			}
		}
		c.parts[i].needs = needs
	}
	if c.handshake >= 0 {
		c.handshake = index[c.handshake]
	}
}

// union finds which numbers hang together.
type union struct{ up []int }

func newUnion(n int) *union {
	u := &union{up: make([]int, n)}
	for i := range u.up {
		u.up[i] = i
	}
	return u
}

func (u *union) root(i int) int {
	for u.up[i] != i {
		u.up[i] = u.up[u.up[i]]
		i = u.up[i]
	}
	return i
}

// join unites two; the lower number stands for both.
func (u *union) join(a, b int) {
	a, b = u.root(a), u.root(b)
	u.up[max(a, b)] = min(a, b)
}
