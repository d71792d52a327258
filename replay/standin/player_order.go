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
	*playerScript
	open    []*clientMsg   // live requests whose recorded answer was not sent
	held    []*serverFrame // not sent, and all client messages before them are below reach
	cued    int            // server frames before this one were sent or are held
	settled int            // no client message before this one is pending
	reach   int            // all client messages from this one on are pending

	reorders  bool
	handshake *clientMsg // of a reordering player: the request of the handshake, if there is one
}

// arrive notes that a client message has come, and skips the messages that will not come.
func (o *playerOrder) arrive(c *clientMsg) {
	if c.answer != nil {
		o.open = append(o.open, c)
	}
	for _, before := range o.clientMsgs[min(o.settled, c.index):c.index] {
		before.skipped = before.skipped || before.isSkippedBy(c)
	}
	o.settle(c.index + 1)
}

// isSkippedBy reports whether the live client, which has said later, will not say c any more
// as the recorded client did.
func (c *clientMsg) isSkippedBy(later *clientMsg) bool {
	switch c.msg().Kind() {
	case transport.Request:
		// With its answer still open when later was said, the two were under way together
		// and may come in any order.
		return c.answer == nil || c.answer.before <= later.index
	case transport.Response:
		// Its question was not asked, because it belongs to a request that is not coming.
		return c.answers == nil || !c.answers.frame.sent &&
			slices.ContainsFunc(c.answers.frame.owners, func(owner *clientMsg) bool { return owner.skipped && !owner.arrived })
	}
	return true
}

// settle moves the bounds after client messages before reach have come or were skipped.
func (o *playerOrder) settle(reach int) {
	o.reach = max(o.reach, reach)
	for o.settled < len(o.clientMsgs) && !o.clientMsgs[o.settled].isPending() {
		o.settled++
	}
}

// release sends the server frames ready to go, in recorded order.
func (o *playerOrder) release(send func(*serverFrame)) {
	for o.cued < len(o.serverFrames) && (o.reorders || o.serverFrames[o.cued].before <= o.reach) {
		o.held = append(o.held, o.serverFrames[o.cued])
		o.cued++
	}
	o.held = slices.DeleteFunc(o.held, func(f *serverFrame) bool {
		if !f.sent && o.mayGo(f) { // withdraw marks frames that will never be sent
			send(f)
		}
		return f.sent
	})
}

// mayGo reports whether everything has happened that a frame waits for. In a reordering player
// a frame of a request that the live client does not make holds up no answer to another.
func (o *playerOrder) mayGo(f *serverFrame) bool {
	if !f.isOwned() {
		return false
	}
	if o.reorders {
		isAhead := func(other *serverFrame) bool { return !other.written && (other.isOwned() || len(other.owners) == 0) }
		return !slices.ContainsFunc(f.needs, (*clientMsg).isPending) && !slices.ContainsFunc(f.after, isAhead)
	}
	from := min(max(f.from(), o.settled), f.before)
	return len(o.overlapping(f)) == 0 && !slices.ContainsFunc(o.clientMsgs[from:f.before], (*clientMsg).isPending)
}

// from returns the first client message that the frame waits for in recorded order.
func (f *serverFrame) from() int {
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
func (o *playerOrder) overlapping(f *serverFrame) []*clientMsg {
	var list []*clientMsg
	from := f.from()
	for _, c := range o.clientMsgs[min(o.settled, from):from] {
		if c.answer != nil && c.isPending() {
			list = append(list, c)
		}
	}
	return list
}

// awaited returns the client messages that a frame waits for besides its own requests.
func (o *playerOrder) awaited(f *serverFrame) []*clientMsg {
	if o.reorders {
		return f.needs
	}
	return append(o.overlapping(f), o.clientMsgs[f.from():f.before]...)
}

// waiting returns the first recorded of the answers that are held back and may go when the
// client is silent, or has ended.
func (o *playerOrder) waiting(ended bool) *serverFrame {
	o.open = slices.DeleteFunc(o.open, func(c *clientMsg) bool { return c.answer.sent })
	var first *serverFrame
	for _, c := range o.open {
		f := c.answer
		if !f.isOwned() || first != nil && first.seq < f.seq {
			continue
		}
		awaited := f.needs
		if !o.reorders {
			awaited = o.clientMsgs[f.from():f.before]
		} else if !slices.ContainsFunc(awaited, (*clientMsg).isPending) {
			continue
		}
		// A client may take its time with an answer, but for roots and pings.
		mayTakeTime := func(c *clientMsg) bool {
			q := c.answers
			return c.isPending() && q != nil && q.frame.sent && q.method != mcp.MethodListRoots && q.method != mcp.MethodPing
		}
		if ended || !slices.ContainsFunc(awaited, mayTakeTime) {
			first = f
		}
	}
	return first
}

// giveUp lets a frame wait for no more messages.
func (o *playerOrder) giveUp(f *serverFrame) {
	for _, c := range o.awaited(f) {
		c.skipped = c.skipped || !c.arrived
	}
	o.settle(f.before)
}

// allowReorder replaces the recorded order with the order that the specification asks for. ready
// are the client's notifications that it is initialized.
func (o *playerOrder) allowReorder(ready []*clientMsg) {
	o.reorders = true
	for _, c := range o.clientMsgs {
		if c.msg().Method == mcp.MethodInitialize && c.answer != nil {
			o.handshake = c
			break
		}
	}
	isBound := func(m transport.Message) bool {
		return m.Kind() == transport.Request || m.Method == mcp.NotificationProgress ||
			o.handshake == nil && m.Method == mcp.NotificationMessage
	}
	last := map[string]*serverFrame{} // by order key
	for i, f := range o.serverFrames {
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
		var earlier []*serverFrame
		if f.answers() {
			earlier = o.serverFrames[:i]
		}
		for _, other := range earlier {
			isShared := func(c *clientMsg) bool { return c.answer == f && slices.Contains(other.owners, c) }
			if !slices.ContainsFunc(f.owners, isShared) || !slices.ContainsFunc(timeline.MessagesOf(other.frame), isBound) {
				continue
			}
			f.after = append(f.after, other)
			for _, q := range other.requests {
				if q.answer != nil && q.answer.index < f.before {
					f.needs = append(f.needs, q.answer)
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
func (o *playerOrder) withdraw(cancellation *clientMsg) {
	c := cancellation.cancels
	if !o.reorders || c == nil || c.msg().Method != mcp.MethodListen && o.handshake != nil {
		return
	}
	for _, f := range o.serverFrames {
		if !f.sent && f.before <= cancellation.index && slices.Contains(f.owners, c) {
			f.sent, f.written = true, true
		}
	}
}

// serverOrderKeys names the things that a server's message is about, among which order
// counts. Frames with a key in common keep their order.
func serverOrderKeys(f *serverFrame, m transport.Message) []string {
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
