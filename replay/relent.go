package replay

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// Relent gives up waiting, for the first request that has an answer which waits
// for more to come from the client, and returns what can be sent then. A shell
// calls it when the client has fallen silent. An answer that waits for the
// client's own, to something that a person or a model decides, goes on waiting.
func (p *Player) Relent() []transport.Frame {
	r := p.waiting(false)
	for _, c := range p.awaited(r) {
		if !c.isSettled() {
			c.forgone = true
			p.without = append(p.without, fmt.Sprintf("#%d (%s)", c.seq, c.what()))
		}
	}
	return p.relent(r)
}

// Without says what Relent went on without: #3 (tools/list).
func (p *Player) Without() []string { return slices.Clone(p.without) }

// Waiting reports whether a request of the live client has a recorded answer that
// is held back, so that Relent would send something.
func (p *Player) Waiting() bool { return p.waiting(false) != nil }

// End returns what is held back for requests that have come: the client says no
// more.
func (p *Player) End() []transport.Frame {
	var out []transport.Frame
	for r := p.waiting(true); r != nil; r = p.waiting(true) {
		out = append(out, p.relent(r)...)
	}
	return out
}

func (p *Player) relent(r *reply) []transport.Frame {
	if r == nil {
		return nil
	}
	for _, c := range p.awaited(r) {
		c.passed = c.passed || !c.arrived
	}
	p.settle(r.before)
	return p.release()
}

// awaited are the cues that a reply waits for besides its own.
func (p *Player) awaited(r *reply) []*cue {
	switch {
	case r == nil:
		return nil
	case p.loose:
		return r.needs
	}
	return append(p.abreast(r), p.cues[r.from():r.before]...)
}

// abreast are the requests that were recorded before those that a reply belongs to,
// and may still come: they were under way together, and their replies are kept in
// order whichever comes first.
func (p *Player) abreast(r *reply) []*cue {
	var list []*cue
	from := r.from()
	for _, c := range p.cues[min(p.settled, from):from] {
		if c.answer != nil && !c.isSettled() {
			list = append(list, c)
		}
	}
	return list
}

// waiting returns the first recorded of the answers that are held back, and may
// be given when the client is silent or, if so, has ended.
func (p *Player) waiting(ended bool) *reply {
	p.open = slices.DeleteFunc(p.open, func(c *cue) bool { return c.answer.sent })
	if p.loose {
		return p.waitingLoose(ended)
	}
	var first *reply
	for _, c := range p.open {
		r := c.answer
		if !r.isOwned() || first != nil && first.seq < r.seq {
			continue
		}
		if ended || !slices.ContainsFunc(p.cues[r.from():r.before], (*cue).isPondered) {
			first = r
		}
	}
	return first
}
