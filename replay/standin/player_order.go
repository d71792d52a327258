package standin

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// release returns the server frames ready to go, in recorded order.
func (p *Player) release() (out []transport.Frame) {
	for p.cued < len(p.frames) && (p.reorders || p.frames[p.cued].before <= p.reach) {
		p.held = append(p.held, p.frames[p.cued])
		p.cued++
	}
	// In a reordering player a frame of a request not made by the live client holds up no answer
	// to another.
	isAhead := func(f *ownFrame) bool { return !f.written && (f.isOwned() || len(f.owners) == 0) }
	p.held = slices.DeleteFunc(p.held, func(f *ownFrame) bool {
		if f.sent || !f.isOwned() {
			return f.sent // withdraw marks frames never to be sent
		}
		awaited := f.needs
		if !p.reorders {
			awaited = p.messages[min(max(f.from(), p.settled), f.before):f.before]
		}
		if !slices.ContainsFunc(awaited, (*message).isPending) &&
			(p.reorders && !slices.ContainsFunc(f.after, isAhead) || !p.reorders && len(p.overlapping(f)) == 0) {
			out = append(out, p.send(f)...)
		}
		return f.sent
	})
	return out
}

// from returns the first client message awaited by the frame in recorded order.
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

// overlapping returns the requests recorded before a frame's own requests that may still come.
// The requests were under way together, and the frames keep the recorded order whichever
// request comes first.
func (p *Player) overlapping(frame *ownFrame) []*message {
	var list []*message
	from := frame.from()
	for _, c := range p.messages[min(p.settled, from):from] {
		if c.answer != nil && c.isPending() {
			list = append(list, c)
		}
	}
	return list
}

// awaited returns the client messages awaited by a frame besides the frame's own requests.
func (p *Player) awaited(frame *ownFrame) []*message {
	if p.reorders {
		return frame.needs
	}
	return append(p.overlapping(frame), p.messages[frame.from():frame.before]...)
}

// waiting returns the first recorded of the answers held back and free to go when the client
// is silent, or has ended.
func (p *Player) waiting(ended bool) *ownFrame {
	p.open = slices.DeleteFunc(p.open, func(message *message) bool { return message.answer.sent })
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
		// A client may be slow to answer, but for roots and pings.
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

// AllowReorder lets the player send the server frames in any order allowed to a server by the
// specification, as soon as the causes have come: Start, Receive and GiveUpWaiting return
// frames to send in any order, and Wrote takes note of the sent frames. Call AllowReorder
// before Start.
//
// Some frames stay in order: a response comes after the request, the progress and the
// questions of the call, and the answers to these; a question to a person or a model waits for
// the calls that were open then; progress of one token keeps the recorded order, and so do
// frames about the same task, subscription, elicitation or subscribed resource. Only pings go
// before the handshake is over.
func (p *Player) AllowReorder() {
	p.reorders = true
	ready := p.others[mcp.NotificationInitialized]
	for _, c := range p.messages {
		if c.msg().Method == mcp.MethodInitialize && c.answer != nil {
			p.handshake = c
			break
		}
	}
	isBound := func(message transport.Message) bool {
		return message.Kind() == transport.Request || message.Method == mcp.NotificationProgress ||
			p.handshake == nil && message.Method == mcp.NotificationMessage
	}
	last := map[string]*ownFrame{} // by order key
	for i, f := range p.frames {
		messages := p.rules.Messages(f.frame)
		for _, m := range messages {
			for _, key := range f.orderKeys(m) {
				if before := last[key]; before != nil {
					f.after = append(f.after, before)
				}
				last[key] = f
			}
		}
		f.needs = append(f.needs, f.within...)
		// A response goes after the frames of its call. A notification that only happened to
		// be said during the call is not among these.
		var earlier []*ownFrame
		if f.answers() {
			earlier = p.frames[:i]
		}
		for _, other := range earlier {
			isShared := func(message *message) bool { return message.answer == f && slices.Contains(other.owners, message) }
			if !slices.ContainsFunc(f.owners, isShared) || !slices.ContainsFunc(p.rules.Messages(other.frame), isBound) {
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
		isOwn := func(message transport.Message) bool {
			return message.Kind() != transport.Response && message.Method != mcp.NotificationMessage
		}
		if slices.ContainsFunc(messages, isOwn) && len(ready) > 0 && ready[0].index < f.before {
			f.needs = append(f.needs, ready[0])
		}
	}
}

// giveUp lets a frame wait for no more messages.
func (p *Player) giveUp(frame *ownFrame) {
	for _, c := range p.awaited(frame) {
		c.skipped = c.skipped || !c.arrived
	}
	p.reach = max(p.reach, frame.before)
	p.settle()
}

// withdraw leaves unsent the frames for a cancelled request recorded before the cancellation.
// No frame may be sent for a subscription once the cancellation is known, and from 2026-07-28
// on for any request.
func (p *Player) withdraw(cancellation *message) {
	c := cancellation.cancels
	if !p.reorders || c == nil || c.msg().Method != mcp.MethodListen && p.handshake != nil {
		return
	}
	for _, f := range p.frames {
		if !f.sent && f.before <= cancellation.index && slices.Contains(f.owners, c) {
			f.sent = true
			f.written = true
		}
	}
}
