package diff

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

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
		content, has := b.tools[name]
		switch {
		case !has:
			find(OnlyInA, name)
		case content != a.tools[name]:
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
