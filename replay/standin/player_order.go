package standin

import (
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// playerOrder decides when a server frame may go out: in recorded order, or in any
// order that the specification allows.
type playerOrder struct {
	*script
	open  []*message  // live requests whose recorded answer was not sent
	held  []*ownFrame // not sent, and all client messages before them are below reach
	cued  int         // server frames before this one were sent or are held
	reach int         // all client messages from this one on are pending

	handshake *message // of a reordering player: the request of the handshake, if there is one
}

// arrive notes that a client message has come, and skips the messages that will not come.
func (o *playerOrder) arrive(c *message) {
	if c.answer != nil {
		o.open = append(o.open, c)
	}
	for _, before := range o.messages[min(o.settled, c.index):c.index] {
		before.skipped = before.skipped || before.isSkippedBy(c)
	}
	o.reach = max(o.reach, c.index+1)
	o.settle()
}

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

// release sends the server frames ready to go, in recorded order.
func (o *playerOrder) release(send func(*ownFrame)) {
	for o.cued < len(o.frames) && (o.reorders || o.frames[o.cued].before <= o.reach) {
		o.held = append(o.held, o.frames[o.cued])
		o.cued++
	}
	o.held = slices.DeleteFunc(o.held, func(f *ownFrame) bool {
		if !f.sent && o.mayGo(f) { // withdraw marks frames that will never be sent
			send(f)
		}
		return f.sent
	})
}

// mayGo reports whether everything has happened that a frame waits for. In a reordering player
// a frame of a request that the live client does not make holds up no answer to another.
func (o *playerOrder) mayGo(f *ownFrame) bool {
	if !f.isOwned() {
		return false
	}
	if o.reorders {
		isAhead := func(other *ownFrame) bool { return !other.written && (other.isOwned() || len(other.owners) == 0) }
		return !slices.ContainsFunc(f.needs, (*message).isPending) && !slices.ContainsFunc(f.after, isAhead)
	}
	from := min(max(f.from(), o.settled), f.before)
	return len(o.overlapping(f)) == 0 && !slices.ContainsFunc(o.messages[from:f.before], (*message).isPending)
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
func (o *playerOrder) overlapping(f *ownFrame) []*message {
	var list []*message
	from := f.from()
	for _, c := range o.messages[min(o.settled, from):from] {
		if c.answer != nil && c.isPending() {
			list = append(list, c)
		}
	}
	return list
}

// awaited returns the client messages that a frame waits for besides its own requests.
func (o *playerOrder) awaited(f *ownFrame) []*message {
	if o.reorders {
		return f.needs
	}
	return append(o.overlapping(f), o.messages[f.from():f.before]...)
}

// waiting returns the first recorded of the answers that are held back and may go when the
// client is silent, or has ended.
func (o *playerOrder) waiting(ended bool) *ownFrame {
	o.open = slices.DeleteFunc(o.open, func(c *message) bool { return c.answer.sent })
	var first *ownFrame
	for _, c := range o.open {
		f := c.answer
		if !f.isOwned() || first != nil && first.seq < f.seq {
			continue
		}
		awaited := f.needs
		if !o.reorders {
			awaited = o.messages[f.from():f.before]
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

// giveUp lets a frame wait for no more messages.
func (o *playerOrder) giveUp(f *ownFrame) {
	for _, c := range o.awaited(f) {
		c.skipped = c.skipped || !c.arrived
	}
	o.reach = max(o.reach, f.before)
	o.settle()
}

// allowReorder replaces the recorded order with the order that the specification asks for. ready
// are the client's notifications that it is initialized.
func (o *playerOrder) allowReorder(ready []*message) {
	o.reorders = true
	for _, c := range o.messages {
		if c.msg().Method == mcp.MethodInitialize && c.answer != nil {
			o.handshake = c
			break
		}
	}
	isBound := func(m transport.Message) bool {
		return m.Kind() == transport.Request || m.Method == mcp.NotificationProgress ||
			o.handshake == nil && m.Method == mcp.NotificationMessage
	}
	last := map[string]*ownFrame{} // by order key
	for i, f := range o.frames {
		messages := timeline.MessagesOf(f.frame)
		for _, m := range messages {
			for _, key := range serverOrderKeys(f, m) {
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
			earlier = o.frames[:i]
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
		if o.handshake == nil || f.index <= o.handshake.answer.index || isPing(messages) {
			continue
		}
		f.after = append(f.after, o.handshake.answer)
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

// withdraw lets the frames go unsent that the recorded server had sent for a request when it
// was cancelled. Nothing may be said for a subscription once its cancellation is known, and
// from 2026-07-28 on for any request.
func (o *playerOrder) withdraw(cancellation *message) {
	c := cancellation.cancels
	if !o.reorders || c == nil || c.msg().Method != mcp.MethodListen && o.handshake != nil {
		return
	}
	for _, f := range o.frames {
		if !f.sent && f.before <= cancellation.index && slices.Contains(f.owners, c) {
			f.sent, f.written = true, true
		}
	}
}

// serverOrderKeys names the things that a server's message is about, among which order
// counts. Frames with a key in common keep their order.
func serverOrderKeys(f *ownFrame, m transport.Message) []string {
	var keys []string
	switch {
	case m.Kind() == transport.Request:
		keys = append(keys, "ask "+string(mcp.KeyOf(m.ID)))
	case m.Method == mcp.NotificationCancelled:
		keys = append(keys, "ask "+string(mcp.KeyOf(timeline.CancelledID(m))))
	case m.Method == mcp.NotificationProgress:
		keys = append(keys, "progress "+string(mcp.KeyOf(m.ProgressToken())))
	case m.Method == mcp.NotificationResourceUpdated:
		keys = append(keys, "uri "+timeline.TargetOf(m))
	case m.Kind() == transport.Response:
		for _, c := range f.owners {
			if method := c.msg().Method; c.answer == f && (method == mcp.MethodSubscribe || method == mcp.MethodUnsubscribe) {
				keys = append(keys, "uri "+timeline.TargetOf(c.msg()))
			}
		}
	}
	return append(keys, orderKeys(m)...)
}
