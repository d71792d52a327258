package standin

import (
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// isSkippedBy reports whether the live client, which has said later, will not say c any more
// as the recorded client did.
func (c *message) isSkippedBy(later *message) bool {
	switch c.msg().Kind() {
	case transport.Request:
		// With its answer still open when later was said, the two were under way together
		// and may come in any order.
		return c.answer == nil || c.answer.before <= later.index
	case transport.Response:
		// Its question was not asked, because it belongs to a request that is not coming.
		return c.request == nil || !c.request.frame.sent &&
			slices.ContainsFunc(c.request.frame.owners, func(owner *message) bool { return owner.skipped && !owner.arrived })
	}
	return true
}

// release returns the server frames ready to go, in recorded order.
func (p *Player) release() (out []transport.Frame) {
	for p.cued < len(p.frames) && (p.reorders || p.frames[p.cued].before <= p.reach) {
		p.held = append(p.held, p.frames[p.cued])
		p.cued++
	}
	p.held = slices.DeleteFunc(p.held, func(f *ownFrame) bool {
		if !f.sent && p.mayGo(f) { // withdraw marks frames that will never be sent
			out = append(out, p.send(f)...)
		}
		return f.sent
	})
	return out
}

// mayGo reports whether everything has happened that a frame waits for. In a reordering player
// a frame of a request that the live client does not make holds up no answer to another.
func (p *Player) mayGo(f *ownFrame) bool {
	if !f.isOwned() {
		return false
	}
	if p.reorders {
		isAhead := func(other *ownFrame) bool { return !other.written && (other.isOwned() || len(other.owners) == 0) }
		return !slices.ContainsFunc(f.needs, (*message).isPending) && !slices.ContainsFunc(f.after, isAhead)
	}
	from := min(max(f.from(), p.settled), f.before)
	return len(p.overlapping(f)) == 0 && !slices.ContainsFunc(p.messages[from:f.before], (*message).isPending)
}

// from returns the first client message that the frame waits for in recorded order.
func (f *ownFrame) from() int {
	if len(f.owners) == 0 {
		return 0
	}
	from := f.before
	for _, c := range f.owners {
		from = min(from, c.index+1)
	}
	return from
}

// overlapping returns the requests that were recorded before those that a frame belongs to,
// and may still come. They were under way together, and their frames keep their order
// whichever request comes first.
func (p *Player) overlapping(f *ownFrame) []*message {
	var list []*message
	from := f.from()
	for _, c := range p.messages[min(p.settled, from):from] {
		if c.answer != nil && c.isPending() {
			list = append(list, c)
		}
	}
	return list
}

// awaited returns the client messages that a frame waits for besides its own requests.
func (p *Player) awaited(f *ownFrame) []*message {
	if p.reorders {
		return f.needs
	}
	return append(p.overlapping(f), p.messages[f.from():f.before]...)
}

// waiting returns the first recorded of the answers that are held back and may go when the
// client is silent, or has ended.
func (p *Player) waiting(ended bool) *ownFrame {
	p.open = slices.DeleteFunc(p.open, func(c *message) bool { return c.answer.sent })
	var first *ownFrame
	for _, c := range p.open {
		f := c.answer
		if !f.isOwned() || first != nil && first.seq < f.seq {
			continue
		}
		awaited := f.needs
		if !p.reorders {
			awaited = p.messages[f.from():f.before]
		} else if !slices.ContainsFunc(awaited, (*message).isPending) {
			continue
		}
		// A client may take its time with an answer, but for roots and pings.
		mayTakeTime := func(c *message) bool {
			q := c.request
			return c.isPending() && q != nil && q.frame.sent && q.msg().Method != mcp.MethodListRoots && q.msg().Method != mcp.MethodPing
		}
		if ended || !slices.ContainsFunc(awaited, mayTakeTime) {
			first = f
		}
	}
	return first
}

// AllowReorder lets the player send its server frames in any order that the specification allows a
// server, as soon as their causes have come: Start, Receive and GiveUpWaiting return frames that
// may be sent in any order, and Wrote takes note of the ones that were. Call AllowReorder before
// Start.
//
// Some frames stay in order: a response comes after its request, after the progress and the
// questions of its call and the answers to them; progress of one token keeps its order, and
// so do frames that name one task, one subscription, one elicitation or one subscribed
// resource. Only pings go before the handshake is over.
func (p *Player) AllowReorder() {
	p.reorders = true
	ready := p.others[mcp.NotificationInitialized]
	for _, c := range p.messages {
		if c.msg().Method == mcp.MethodInitialize && c.answer != nil {
			p.handshake = c
			break
		}
	}
	isBound := func(m transport.Message) bool {
		return m.Kind() == transport.Request || m.Method == mcp.NotificationProgress ||
			p.handshake == nil && m.Method == mcp.NotificationMessage
	}
	last := map[string]*ownFrame{} // by order key
	for i, f := range p.frames {
		messages := timeline.MessagesOf(f.frame)
		for _, m := range messages {
			for _, key := range f.orderKeys(m) {
				if before := last[key]; before != nil {
					f.after = append(f.after, before)
				}
				last[key] = f
			}
		}
		// A response goes after the frames of its call. A notification that only happened to be
		// said during the call is not one of them.
		var earlier []*ownFrame
		if f.answers() {
			earlier = p.frames[:i]
		}
		for _, other := range earlier {
			isShared := func(c *message) bool { return c.answer == f && slices.Contains(other.owners, c) }
			if !slices.ContainsFunc(f.owners, isShared) || !slices.ContainsFunc(timeline.MessagesOf(other.frame), isBound) {
				continue
			}
			f.after = append(f.after, other)
			for _, q := range other.requests {
				if q.response != nil && q.response.index < f.before {
					f.needs = append(f.needs, q.response)
				}
			}
		}
		if p.handshake == nil || f.index <= p.handshake.answer.index || isPing(messages) {
			continue
		}
		f.after = append(f.after, p.handshake.answer)
		// A message that the recorded server sent of its own accord, after the client had said
		// that it is ready, waits for that.
		isOwn := func(m transport.Message) bool {
			return m.Kind() != transport.Response && m.Method != mcp.NotificationMessage
		}
		if slices.ContainsFunc(messages, isOwn) && len(ready) > 0 && ready[0].index < f.before {
			f.needs = append(f.needs, ready[0])
		}
	}
}

// giveUp lets a frame wait for no more messages.
func (p *Player) giveUp(f *ownFrame) {
	for _, c := range p.awaited(f) {
		c.skipped = c.skipped || !c.arrived
	}
	p.reach = max(p.reach, f.before)
	p.settle()
}

// withdraw lets the frames go unsent that the recorded server had sent for a request when it
// was cancelled. Nothing may be said for a subscription once its cancellation is known, and
// from 2026-07-28 on for any request.
func (p *Player) withdraw(cancellation *message) {
	c := cancellation.cancels
	if !p.reorders || c == nil || c.msg().Method != mcp.MethodListen && p.handshake != nil {
		return
	}
	for _, f := range p.frames {
		if !f.sent && f.before <= cancellation.index && slices.Contains(f.owners, c) {
			f.sent, f.written = true, true
		}
	}
}
