package diff

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// findChanged tells where messages that stand for each other differ. What is made up is
// learned from all of them first.
func (c *Comparison) findChanged() {
	c.eachChanged(func(a, b *message, x, y transport.Message) {
		if a.kind != transport.Notification && a.kind != transport.Invalid {
			c.compare.Learn(a.dir, a.seq, x, y)
		}
	})
	c.eachChanged(c.changed)
	c.findUnread()
	if !c.options.Bytes {
		return
	}
	a, b := c.sides[0], c.sides[1]
	for i := range a.list {
		m := &a.list[i]
		if m.pair == none || b.list[m.pair].content != m.content || b.list[m.pair].bytes == m.bytes {
			continue
		}
		c.find(Finding{
			Section: Bytes, Kind: Changed, A: []uint64{m.seq}, B: []uint64{b.list[m.pair].seq},
			What: c.what(a, m), Text: "spelled otherwise",
		})
	}
}

// eachChanged yields the pairs whose contents differ, with their texts, in the order of A.
func (c *Comparison) eachChanged(do func(a, b *message, x, y transport.Message)) {
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none || c.sides[1].list[a.pair].content == a.content {
			continue
		}
		b := &c.sides[1].list[a.pair]
		x, ok := c.texts[0].message(a)
		y, also := c.texts[1].message(b)
		if ok && also {
			do(a, b, x, y)
		}
	}
}

// changed compares one pair.
func (c *Comparison) changed(a, b *message, x, y transport.Message) {
	compare := c.compare.Compare
	if c.report.Counts[Payload] >= KeptFindings {
		compare = c.compare.Count
	}
	found := compare(a.dir, x, y)
	for _, m := range found.Mapped {
		c.report.Mapped[m.By]++
	}
	if found.Same() {
		return
	}
	s := c.sides[0]
	f := Finding{
		Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(s, a),
		Differences: found.Differences, More: found.More,
	}
	switch method := c.names.list[a.name].method; {
	case method == methodInitialize || method == methodDiscover:
		f.Section = Capabilities
	case method == methodTools && a.kind == transport.Response:
		if f.withoutTools(); len(f.Differences) == 0 && f.More == 0 {
			return
		}
	}
	f.Text = sentence(f.Differences)
	c.find(f)
}

// withoutTools leaves out what the section on tools tells better.
func (f *Finding) withoutTools() {
	var rest []replay.Difference
	for _, d := range f.Differences {
		if !strings.HasPrefix(d.Path, "/result/tools/") {
			rest = append(rest, d)
		}
	}
	if len(rest) < len(f.Differences) {
		f.More = 0 // most likely of the tools too
	}
	f.Differences = rest
}

// sentence tells a change in one line where a result stands against an error.
func sentence(list []replay.Difference) string {
	if len(list) != 2 || list[0].Path != "/result" || list[1].Path != "/error" {
		return ""
	}
	if list[0].Got == "nothing" {
		return "a result in A, an error in B"
	}
	return "an error in A, a result in B"
}

// findUnread counts what differs beyond the texts that are held.
func (c *Comparison) findUnread() {
	for i := range c.sides[0].list {
		a := &c.sides[0].list[i]
		if a.pair == none {
			continue
		}
		b := &c.sides[1].list[a.pair]
		if a.content == b.content || c.hasTexts(a, b) {
			continue
		}
		c.report.Unread++
		c.find(Finding{
			Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: c.what(c.sides[0], a),
			Text: fmt.Sprintf("where, was not looked for: more than %d MiB differ", KeptBytes>>20),
		})
	}
}

func (c *Comparison) hasTexts(a, b *message) bool {
	_, ok := c.texts[0].frames[a.seq]
	_, also := c.texts[1].frames[b.seq]
	return ok && also
}
