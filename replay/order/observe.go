package order

import (
	"hash/maphash"

	"github.com/mcprec/mcprec/transport"
)

// Observe judges a frame as a tap between the two ends sees it pass, and says that
// it was sent and given. What a tap has seen its sender may not have had yet: a
// violation that holds only if the sender had it already is a race that the tap
// cannot decide, and comes as a [Note] with Race set. What is certain stays.
//
// A checker that observes keeps of answered requests the latest few thousand, and
// of those before no more than that there was one with the id, so that a session
// may go on for ever. The slice is good until the next call.
func (c *Checker) Observe(dir transport.Direction, p Parsed) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, p)
	for i := range p.read {
		m, before := &p.read[i], len(c.found)
		c.learns(dir, m)
		c.judge(dir, m, c.Mark(dir), p.Batch)
		if len(c.found) > before && !c.certain(dir, m, p.Batch) {
			for j := before; j < len(c.found); j++ {
				c.found[j].Severity, c.found[j].Race = Note, true
			}
		}
		c.sent(dir, m)
	}
	c.Give(dir, p)
	c.forget(c.end(dir))
	return c.found
}

// certain reports whether a message breaks something also if its sender had been
// given no more than is certain.
func (c *Checker) certain(dir transport.Direction, m *message, batch bool) bool {
	found := c.found
	c.found = nil
	c.judge(dir, m, c.end(dir).least, batch)
	breaks := len(c.found) > 0
	c.found = found
	return breaks
}

// OneSender reports whether a violation is of the order of two frames of one sender:
// it is none where they may have overtaken each other, as on two HTTP streams.
func (v Violation) OneSender() bool {
	switch v.Title {
	case lawProgressEnds.title, lawProgressRises.title, lawCancelOwn.title:
		return true
	}
	return false
}

// NeedsBeginning reports whether a violation rests on what came before: where the recording
// begins in the middle, it shows nothing.
func (v Violation) NeedsBeginning() bool {
	switch v.Title {
	case lawAnswer.title, lawToken.title, lawCancelOwn.title, lawSubscribed.title, lawUpdated.title, lawLogLevel.title:
		return true
	}
	return false
}

// learns keeps what a message shows its sender to have received: what it is about.
func (c *Checker) learns(dir transport.Direction, m *message) {
	var x *Exchange
	switch {
	case m.kind == transport.Response:
		x = c.end(dir.Reverse()).answeredBy(m)
	case m.Method == methodProgress:
		x = c.end(dir.Reverse()).withToken(m.token)
	case m.Method == methodInitialized && dir == transport.ClientToServer:
		if h := c.handshake.request; h != nil {
			c.end(dir).least = max(c.end(dir).least, h.answerGiven)
		}
	case dir == transport.ServerToClient && c.stateless():
		x = c.subscription(m)
	}
	if x != nil && x.Dir != dir {
		c.end(dir).least = max(c.end(dir).least, x.given)
	}
}

// remembered is how many answered requests of an end are kept whole.
const remembered = 4096

// forget drops the answered requests of an end but for the latest, when they have
// become many.
func (c *Checker) forget(e *end) {
	if len(e.list) < 2*max(remembered, e.swept) {
		return
	}
	kept := e.list[:0]
	for i, x := range e.list {
		if i >= len(e.list)-remembered || !x.over() || x == c.subscribe || x == c.handshake.request {
			kept = append(kept, x)
			continue
		}
		e.drop(x)
	}
	clear(e.list[len(kept):])
	e.list, e.swept = kept, len(kept)
}

// over reports whether nothing more may come of a request.
func (x *Exchange) over() bool { return x.refused || x.Answered && (!x.task || x.ended) }

func (e *end) drop(x *Exchange) {
	e.past.add(x.id)
	if e.requests[x.id] == x {
		delete(e.requests, x.id)
	}
	if x.token != "" {
		e.pastTokens.add(x.token)
		if e.tokens[x.token] == x {
			delete(e.tokens, x.token)
		}
	}
}

// past is a set of texts, by their hash.
type past[T ~string] map[uint64]struct{}

var pastSeed = maphash.MakeSeed()

func (p past[T]) has(key T) bool {
	if len(p) == 0 {
		return false
	}
	_, ok := p[maphash.String(pastSeed, string(key))]
	return ok
}

func (p *past[T]) add(key T) {
	if *p == nil {
		*p = past[T]{}
	}
	(*p)[maphash.String(pastSeed, string(key))] = struct{}{}
}
