package explore

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// chain follows who waits for whom, from an operation to the end that nobody
// holds up, or round to a part that it has passed. A link is there only where the
// frames show it.
type chain struct {
	gate   *gate
	parts  []any // passed: *Operation, *call, *lane (its reader)
	links  []string
	cyclic bool
	nested bool   // an end asked within what it was asked
	stuck  bool   // a reader that has not come back is on the way
	ends   string // what becomes of the request at the end of the chain, if it is seen
}

// chainOf follows an operation.
func (g *gate) chainOf(op *Operation) *chain {
	k := &chain{gate: g}
	if op.heldBy() != nil {
		return k
	}
	if c := g.openCall(op); c != nil && c.request.taken > 0 && (c.answer == nil || c.answer.given == 0) {
		k.link(op, "operation "+op.name+" waits for the response to "+c.name)
		k.call(c)
		return k
	}
	for i := range g.lanes {
		for _, f := range g.lanes[i].waiting {
			if g.wrote(op, f) {
				k.link(op, "operation "+op.name+" is at the Write of "+f.name)
				k.reader(&g.lanes[i])
				return k
			}
		}
	}
	return k
}

// openCall is the first request of an operation whose response has not been read;
// else its last request.
func (g *gate) openCall(op *Operation) *call {
	calls, _ := g.callsOf(op)
	for _, c := range calls {
		if c.answer == nil || c.answer.given == 0 {
			return c
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

// link adds a part, and reports false when the chain has passed it already.
func (k *chain) link(part any, text string) bool {
	if slices.Contains(k.parts, part) {
		k.cyclic = true
		return false
	}
	k.parts = append(k.parts, part)
	k.links = append(k.links, text)
	return true
}

// call follows an open request.
func (k *chain) call(c *call) {
	f := c.request
	if c.answer != nil {
		f = c.answer
	}
	l := k.gate.lane(f.dir)
	if f.given == 0 {
		if k.link(c, fmt.Sprintf("%s is %s", f.name, l.place(f))) {
			k.reader(l)
		}
		return
	}
	owes := "the " + f.dir.Receiver() + " owes the response to " + c.name
	back := k.gate.lane(f.dir.Reverse())
	switch inner, write := k.gate.askedSince(back, f.given), k.gate.offeredSince(back, f.given); {
	case l.deafened:
		k.link(c, owes+", and has closed")
	case len(l.readers) == 0 && l.last == f:
		if k.link(c, owes+": its reader has not come back from it") {
			k.reader(l)
		}
	case inner != nil:
		k.nested = true
		if k.link(c, owes+", and has asked "+inner.name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(c, owes+", and is at the Write of "+write.name) {
			k.reader(back)
		}
	default:
		k.debt(c, owes, back.dir)
	}
}

// debt ends a chain at a response that an end owes. Where that end waits for a
// call of its own on the way here, that is what holds it.
func (k *chain) debt(c *call, owes string, dir transport.Direction) {
	for _, part := range k.parts {
		if own, ok := part.(*call); ok && own.request.dir == dir && own.answer == nil && k.gate.within(own) {
			k.link(c, owes+", and waits for the response to "+own.name)
			k.cyclic = true
			return
		}
	}
	worker := placeOf(k.gate.all, k.gate.worker(c))
	reader := "the " + dir.Sender() + "'s reader"
	switch {
	case slices.Contains(k.parts, any(k.gate.lane(dir))):
		k.link(c, owes+", which only the "+dir.Receiver()+"'s reader can read")
		k.cyclic = true
	case worker.at != "":
		k.link(c, owes+": the goroutine that took it up stands at "+worker.String())
		k.ends = fmt.Sprintf("and the goroutine that took it up stands at %v", worker)
	case k.nested && len(k.gate.lane(dir.Reverse()).readers) > 0:
		k.link(c, owes+": "+reader+" is back at its Read, and nobody answers")
		k.ends = "and is back at its Read: it does not answer"
	default:
		k.link(c, owes+", and nothing is on its way")
	}
}

// reader follows a reader that has not come back.
func (k *chain) reader(l *lane) {
	who := "the " + l.dir.Receiver() + "'s reader"
	if l.last == nil {
		k.link(l, who+" has never read")
		return
	}
	if len(l.readers) > 0 {
		return // it waits: something else holds the frame up
	}
	k.stuck = true
	if l.quit {
		k.link(l, fmt.Sprintf("the goroutine that read %s for the %s has ended", l.last.name, l.dir.Receiver()))
		return
	}
	holds := who + " holds " + l.last.name
	back := k.gate.lane(l.dir.Reverse())
	switch inner, write := k.gate.askedSince(back, l.last.given), k.gate.offeredSince(back, l.last.given); {
	case inner != nil:
		if k.link(l, holds+", and has asked "+inner.name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(l, holds+", and is at the Write of "+write.name) {
			k.reader(back)
		}
	case l.idle != "":
		k.link(l, holds+": it "+l.idle)
	case k.self(l) != nil:
		k.link(l, holds+": it is operation "+k.self(l).name)
		k.cyclic = true
	default:
		k.link(l, holds)
	}
}

// self returns the operation on the way here that is the reader itself.
func (k *chain) self(l *lane) *Operation {
	for _, part := range k.parts {
		if op, ok := part.(*Operation); ok && !k.gate.blind && len(l.holder) > 0 && l.holder[0] == op.where {
			return op
		}
	}
	return nil
}

// askedSince is the first open request in the lane that no waiting operation sent,
// and that was written after a step.
func (g *gate) askedSince(l *lane, step int) *call {
	for _, c := range g.names.calls {
		if f := c.request; f.dir == l.dir && !g.awaited[f.op] && f.taken > 0 && f.round >= step &&
			!c.cancelled && !c.listen && (c.answer == nil || c.answer.given == 0) {
			return c
		}
	}
	return nil
}

// offeredSince is the first frame in its writer's hand that no waiting operation
// sent, and that was written after a step.
func (g *gate) offeredSince(l *lane, step int) *flight {
	for _, f := range l.waiting {
		if !g.awaited[f.op] && f.round >= step {
			return f
		}
	}
	return nil
}

// mutual reports whether the chain goes round by open calls alone, one asked
// within another.
func (k *chain) mutual() bool { return k.cyclic && k.nested && !k.stuck }

// mutualWhy tells the call within the call.
func (k *chain) mutualWhy() string {
	calls := k.calls()
	outer, inner := calls[len(calls)-2], calls[len(calls)-1]
	return fmt.Sprintf("each end has read a request of the other and answers neither: the %s read %s at step %d and has asked %s since, which the %s read at step %d",
		outer.request.dir.Receiver(), outer.name, outer.request.given, inner.name, inner.request.dir.Receiver(), inner.request.given)
}

// neglectWhy tells a call within a call that is read and not answered; "" if the
// chain does not end with one.
func (k *chain) neglectWhy() string {
	calls := k.calls()
	if k.ends == "" || k.cyclic || k.stuck {
		return ""
	}
	inner := calls[len(calls)-1]
	why := fmt.Sprintf("the %s read %s at step %d, %s", inner.request.dir.Receiver(), inner.name, inner.request.given, k.ends)
	if len(calls) > 1 {
		outer := calls[len(calls)-2]
		why += fmt.Sprintf(". The %s asked it after it had read %s, at step %d", outer.request.dir.Receiver(), outer.name, outer.request.given)
	}
	return why
}

// better prefers a chain that goes round, then the longer one.
func better(a, b *chain) *chain {
	switch {
	case a == nil, !a.cyclic && b.cyclic, a.cyclic == b.cyclic && len(b.links) > len(a.links):
		return b
	}
	return a
}

// lines are the chain for a report.
func (k *chain) lines() []string {
	if k == nil {
		return nil
	}
	list := slices.Clone(k.links)
	if k.cyclic {
		list[len(list)-1] += "  <- cycle"
	}
	return list
}

// calls are the chain's, in order.
func (k *chain) calls() (list []*call) {
	for _, part := range k.parts {
		if c, ok := part.(*call); ok && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}
