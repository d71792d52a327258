package diff

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

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
			if m := &s.list[i]; m.pair == none {
				c.alone(side, m, with[int32(i)])
			}
		}
	}
}

// alone tells of one message, unless it belongs to a call that is alone itself.
func (c *Comparison) alone(side int, m *message, with int) {
	s := c.sides[side]
	f := Finding{Section: Notifications, Kind: [...]string{OnlyInA, OnlyInB}[side], What: c.what(s, m)}
	seqs := []uint64{m.seq}
	owner := m.owner()
	switch {
	case m.kind == transport.Request:
		f.Section = Calls
		if m.reply != none {
			seqs = append(seqs, s.list[m.reply].seq)
			f.Text = fmt.Sprintf("answered by #%d", seqs[1])
		}
		if with > 0 {
			f.Text = join(f.Text, fmt.Sprintf("with %d more that belong to it", with))
		}
	case owner != none && s.list[owner].pair == none && (m.kind == transport.Response || m.kind == transport.Notification):
		return
	case m.kind == transport.Response && m.call != none:
		f.Section = Calls
		other := c.sides[1-side].list[s.list[m.call].pair]
		f.Text = fmt.Sprintf("#%d has none in %s", other.seq, [...]string{"B", "A"}[side])
		c.place(&f, 1-side, []uint64{other.seq})
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
	c.place(&f, side, seqs)
	c.find(f)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// place puts events into their side of a finding.
func (c *Comparison) place(f *Finding, side int, seqs []uint64) {
	if side == 0 {
		f.A = seqs
	} else {
		f.B = seqs
	}
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
