package explore

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// diagnose says why nothing goes on: the category and a sentence, and into waits
// who waits for what. Nothing in the bubble moves meanwhile.
func (r *Run) diagnose() (category, why string) {
	g := r.gate
	for _, op := range r.unfinished() {
		kind, w, reason := g.waitOf(op)
		r.waits = append(r.waits, w...)
		if category == "" {
			category, why = kind, reason
		}
	}
	var all []string
	if g.traced {
		all = snapshot()
	}
	for i := range g.lanes {
		if w, ok := g.lanes[i].readerWait(all); ok {
			r.waits = append(r.waits, w)
		}
	}
	if kind, reason := r.stopped(); kind != "" {
		return kind, reason
	}
	if a, b := &g.lanes[0], &g.lanes[1]; a.blocked() && b.blocked() {
		return HeadOn, fmt.Sprintf("both ends are at a write, and nobody reads: the client writes %s, the server writes %s",
			a.waiting[0].name, b.waiting[0].name)
	}
	return category, why
}

// blocked: a writer waits and no reader does.
func (l *lane) blocked() bool { return len(l.waiting) > 0 && len(l.readers) == 0 }

// waitOf says what one operation waits for and where that is.
func (g *gate) waitOf(op *Operation) (category string, waits []Wait, why string) {
	who := "operation " + op.name
	if before := op.heldBy(); before != nil {
		return "", []Wait{{Who: who, WaitsFor: "operation " + before.name, Why: "it comes after that one"}}, ""
	}
	for i := range g.lanes {
		l := &g.lanes[i]
		for _, f := range l.waiting {
			if f.op == op.name {
				w := Wait{Who: who, WaitsFor: "the Write of " + f.name, Why: l.place(f)}
				return l.behind(), []Wait{w}, l.behindWhy(who, f.name)
			}
		}
	}
	calls := g.callsOf(op)
	for _, c := range calls {
		if c.answer == nil || c.answer.given == 0 {
			category, w, why := g.callWait(who, c)
			return category, []Wait{{Who: who, WaitsFor: "response to " + c.name, Why: "it has not been read"}, w}, why
		}
	}
	if len(calls) == 0 {
		return NeverSent, []Wait{{Who: who, WaitsFor: "something that is not on its way", Why: "no request of it is open, and nothing is in the transport for it"}},
			who + " waits, but has no request open and no frame on its way"
	}
	c := calls[len(calls)-1]
	reader := c.answer.dir.Receiver()
	return LostAnswer, []Wait{{Who: who, WaitsFor: "response to " + c.name,
			Why: fmt.Sprintf("the %s read it at step %d; it did not reach the operation", reader, c.answer.given)}},
		fmt.Sprintf("the %s read the response to %s at step %d, but %s did not get it", reader, c.name, c.answer.given, who)
}

// callsOf returns the requests of an operation; those that nobody signed, where
// it signed none.
func (g *gate) callsOf(op *Operation) []*call {
	var own, unsigned []*call
	for _, c := range g.names.calls {
		switch c.request.op {
		case op.name:
			own = append(own, c)
		case "":
			unsigned = append(unsigned, c)
		}
	}
	if len(own) > 0 {
		return own
	}
	return unsigned
}

// callWait follows an open request: to its response, or to where it stands itself.
func (g *gate) callWait(who string, c *call) (category string, w Wait, why string) {
	f := c.request
	if c.answer != nil {
		f = c.answer
	}
	l := g.lane(f.dir)
	if f.given == 0 {
		return l.behind(), Wait{Who: f.name, Why: l.place(f)}, l.behindWhy(who, f.name)
	}
	w = Wait{Who: "response to " + c.name, Why: fmt.Sprintf("not sent: the %s read the request at step %d", f.dir.Receiver(), f.given)}
	if held := g.held(l); held != nil {
		return Swallowed, w, l.behindWhy("the "+f.dir.Receiver(), held.name)
	}
	if back := g.lane(f.dir.Reverse()); back.blocked() && back.last != nil {
		return Swallowed, w, fmt.Sprintf("the %s's reader took %s at step %d and has not come back; %s is behind it, and %s cannot overtake",
			back.dir.Receiver(), back.last.name, back.last.given, back.waiting[0].name, w.Who)
	}
	return LostAnswer, w, fmt.Sprintf("the %s read %s at step %d, has sent no response, and nothing is on its way to it",
		f.dir.Receiver(), c.name, f.given)
}

// held returns a response that waits behind the frame its reader has not come
// back from, or nil.
func (g *gate) held(l *lane) *flight {
	if len(l.readers) > 0 || l.last == nil {
		return nil
	}
	for _, c := range g.names.calls {
		if a := c.answer; a != nil && a.dir == l.dir && a.given == 0 {
			return a
		}
	}
	return nil
}

func (g *gate) lane(dir transport.Direction) *lane { return &g.lanes[dir-transport.ClientToServer] }

// behind is the category of a frame that stands in the lane.
func (l *lane) behind() string {
	if l.last != nil && len(l.readers) == 0 {
		return Swallowed
	}
	return NeverSent
}

func (l *lane) behindWhy(who, frame string) string {
	reader := l.dir.Receiver()
	if l.last == nil {
		return fmt.Sprintf("%s needs %s, but the %s has never read", who, frame, reader)
	}
	return fmt.Sprintf("the %s's reader took %s at step %d and has not come back; %s needs %s, which is behind it",
		reader, l.last.name, l.last.given, who, frame)
}

// place says where a frame is.
func (l *lane) place(f *flight) string {
	if i := slices.Index(l.queue, f); i >= 0 {
		return fmt.Sprintf("queued in %v, number %d of %d", l.dir, i+1, len(l.queue))
	}
	if slices.Contains(l.waiting, f) {
		return fmt.Sprintf("in the hand of the %s's writer: %v %s", l.dir.Sender(), l.dir, l.full())
	}
	if f.given > 0 {
		return fmt.Sprintf("read by the %s at step %d", l.dir.Receiver(), f.given)
	}
	return "withdrawn: its writer gave up, or an end was closed"
}

func (l *lane) full() string {
	switch {
	case l.cap == 0:
		return "has no waiting reader"
	case len(l.queue) >= l.cap && l.cap > 0:
		return fmt.Sprintf("is full (%d of %d)", len(l.queue), l.cap)
	}
	return "is closed"
}

// readerWait says what a reader that has not come back holds, and where it is
// blocked, if the stacks of all goroutines are given.
func (l *lane) readerWait(all []string) (Wait, bool) {
	who := fmt.Sprintf("%s reader (%v)", l.dir.Receiver(), l.dir)
	switch {
	case len(l.readers) > 0 || l.deafened || l.read:
		return Wait{}, false
	case l.last == nil:
		return Wait{Who: who, Why: "has never read"}, len(l.queue)+len(l.waiting) > 0
	}
	w := Wait{Who: who, Holds: l.last.name, Why: fmt.Sprintf("given at step %d; has not read since", l.last.given)}
	if l.idle != "" {
		w.Why += ": " + l.idle
	}
	if all != nil && l.holder != "" {
		w.BlockedAt = blockedAt(all, l.holder)
	}
	return w, true
}
