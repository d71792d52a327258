package hang

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// chain goes from a waiting operation to the part that holds it up, and on to a part that
// waits for nothing, or round the cycle. The frames show every link.
type chain struct {
	*diagnosis
	parts  []any // passed: *Operation, *gate.Call, *gate.Lane (its reader)
	links  []string
	cyclic bool
	nested bool     // an end sent a request while it handled a request
	stuck  bool     // a reader that has not come back is on the way
	ends   string   // the fate of the request at the end of the chain, if it is seen
	closed []string // what closing ends on the way owe, and wait for
}

// chainOf follows an operation.
func (d *diagnosis) chainOf(op *Operation) *chain {
	k := &chain{diagnosis: d}
	if op.After != "" || op.Missing != "" {
		return k
	}
	if c := d.openCall(op); c != nil && c.Request.Taken > 0 && c.Open() {
		k.link(op, "operation "+op.Name+" waits for the response to "+c.Name)
		k.call(c)
		return k
	}
	for _, l := range d.Gate.Live() {
		for _, f := range l.Waiting {
			if d.wrote(op, f) {
				k.link(op, "operation "+op.Name+" is at the Write of "+f.Name)
				k.reader(l)
				return k
			}
		}
	}
	if c, ok := closerIn(d.all.Find(op.Goroutine)); ok {
		k.link(op, "operation "+op.Name+" is in "+c.function)
		if own := d.awaitedBy(&c); own != nil {
			k.call(own)
		} else if listen := d.listenAt(c.dir); listen != nil {
			k.debt(listen, "the "+c.dir.Sender()+" owes the response to "+listen.Name, c.dir)
		} else if h, ok := d.handlerAt(c.dir); ok {
			k.link(h.Goroutine, "a handler of the "+c.dir.Sender()+" has not returned: "+h.Place.At)
		}
	}
	return k
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
func (k *chain) call(call *gate.Call) {
	f := call.Request
	if call.Response != nil && !call.Response.Withdrawn {
		f = call.Response
	}
	l := f.Lane
	if f.Given == 0 {
		if k.link(call, fmt.Sprintf("%s is %s", f.Name, l.Where(f))) {
			k.reader(l)
		}
		return
	}
	if how := call.Forgone(); how != "" {
		k.link(call, fmt.Sprintf("the %s read %s, and %s", f.Dir.Receiver(), call.Name, how))
		return
	}
	owes := "the " + f.Dir.Receiver() + " owes the response to " + call.Name
	back := f.Lane.Back
	switch inner, write := k.askedSince(back, f.Given), k.offeredSince(back, f.Given); {
	case l.Deafened:
		k.link(call, owes+", and has closed")
	case l.Readers() == 0 && l.Last == f:
		if k.link(call, owes+": its reader has not come back from it") {
			k.reader(l)
		}
	case inner != nil:
		k.nested = true
		if k.link(call, owes+", and has asked "+inner.Name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(call, owes+", and is at the Write of "+write.Name) {
			k.reader(back)
		}
	default:
		k.debt(call, owes, back.Dir)
	}
}

// debt ends a chain at an owed response. An open call of the owing end, on the way here, may
// hold the response up.
func (k *chain) debt(call *gate.Call, owes string, dir transport.Direction) {
	if p := k.pool; p != nil && call == p.next {
		if k.link(call, fmt.Sprintf("%s: no handler has begun for it, and %d stand at %v", owes, len(p.calls), p.place)) {
			k.call(p.calls[0])
		}
		return
	}
	within := func(own *gate.Call) bool { // the handler waits for the call: the writer is no operation, and still stands there
		if k.blind {
			return true
		}
		g := k.all.Find(own.Request.Writer.ID)
		return g.Text != "" && !k.awaited[own.Request.Op] && !k.Tracer.operates(g.ID) && !g.Reading() && !g.Writing()
	}
	for _, part := range k.parts {
		if own, ok := part.(*gate.Call); ok && own.Request.Dir == dir && own.Response == nil && within(own) {
			k.link(call, owes+", and waits for the response to "+own.Name)
			k.cyclic = true
			return
		}
	}
	worker := k.all.Place(k.worker(call))
	closing := k.closing(dir)
	switch {
	case slices.Contains(k.parts, any(call.Request.Lane.Back)):
		k.link(call, owes+", which only the "+dir.Receiver()+"'s reader can read")
		k.cyclic = true
	case worker.At != "":
		k.link(call, owes+": the goroutine that took it up is blocked at "+worker.String())
		k.ends = fmt.Sprintf("and the goroutine that took it up is blocked at %v", worker)
	case closing != nil:
		if k.link(call, owes+", and "+closing.String()) {
			k.throughClose(call, closing)
		}
	case k.nested && call.Request.Lane.Readers() > 0:
		k.link(call, owes+": the "+dir.Sender()+"'s reader is back at its Read, and nobody answers")
		k.ends = "and is back at its Read: it does not answer"
	default:
		k.link(call, owes+", and nothing is on its way")
	}
}

// throughClose follows a closing end that owes a response to a call: Close waits for the end's own
// calls.
func (k *chain) throughClose(call *gate.Call, closing *closer) {
	end := closing.dir.Sender()
	text := fmt.Sprintf("the %s read %s at step %d and has not answered it", end, call.Name, call.Request.Given)
	if k.handlerReturned(call) {
		text = fmt.Sprintf("the %s read %s at step %d, and its handler has returned, but no response was written",
			end, call.Name, call.Request.Given)
	}
	text += fmt.Sprintf("; the %s's end %v", end, closing)
	own := k.awaitedBy(closing)
	if own == nil {
		k.closed = append(k.closed, text)
		return
	}
	k.closed = append(k.closed, text+", and that waits for the response to "+own.Name)
	if k.link(closing, fmt.Sprintf("the %s's Close waits for the response to %s", end, own.Name)) {
		k.call(own)
	}
}

// reader follows a reader that has not come back.
func (k *chain) reader(lane *gate.Lane) {
	who := "the " + lane.Dir.Receiver() + "'s reader"
	if lane.Last == nil {
		k.link(lane, who+" has never read")
		return
	}
	if lane.Readers() > 0 {
		return // the reader is not the cause
	}
	k.stuck = true
	if k.hasEnded(lane) {
		k.link(lane, fmt.Sprintf("the goroutine that read %s for the %s has ended", lane.Last.Name, lane.Dir.Receiver()))
		return
	}
	holds := who + " holds " + lane.Last.Name
	back := lane.Back
	self := slices.IndexFunc(k.parts, func(part any) bool { // an operation on the way here that is the reader
		op, ok := part.(*Operation)
		return ok && !k.blind && lane.Holder.ID != 0 && lane.Holder.ID == op.Goroutine
	})
	switch inner, write := k.askedSince(back, lane.Last.Given), k.offeredSince(back, lane.Last.Given); {
	case inner != nil:
		if k.link(lane, holds+", and has asked "+inner.Name+" since") {
			k.call(inner)
		}
	case write != nil:
		if k.link(lane, holds+", and is at the Write of "+write.Name) {
			k.reader(back)
		}
	case lane.Idle != "":
		k.link(lane, holds+": it "+lane.Idle)
	case self >= 0:
		k.link(lane, holds+": it is operation "+k.parts[self].(*Operation).Name)
		k.cyclic = true
	default:
		k.link(lane, holds)
	}
}

// askedSince is the first open request in the lane written after a step, and not by a
// waiting operation.
func (d *diagnosis) askedSince(lane *gate.Lane, step int) *gate.Call {
	for _, c := range d.Gate.Names.Calls {
		f := c.Request
		if f.Dir == lane.Dir && !d.awaited[f.Op] && f.Taken > 0 && f.Round >= step && !c.Cancelled && !c.Listen && c.Open() {
			return c
		}
	}
	return nil
}

// offeredSince is the first frame in its writer's hand written after a step, and not by a
// waiting operation.
func (d *diagnosis) offeredSince(lane *gate.Lane, step int) *gate.Flight {
	for _, f := range lane.Waiting {
		if !d.awaited[f.Op] && f.Round >= step {
			return f
		}
	}
	return nil
}

// mutual reports whether the chain goes round by open calls alone, one asked
// within another.
func (k *chain) mutual() bool { return k.cyclic && k.nested && !k.stuck && len(k.closed) == 0 }

// calls are the chain's, in order.
func (k *chain) calls() (list []*gate.Call) {
	for _, part := range k.parts {
		if c, ok := part.(*gate.Call); ok && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}
