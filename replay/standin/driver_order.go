package standin

import (
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// horizon is the first server message that cannot come before the client says more.
func (d *Driver) horizon() int {
	if !d.reorders {
		if f := d.nextFrame(); f != nil {
			return max(f.before, 1+f.lastQueued())
		}
	}
	return len(d.messages)
}

// release returns the client frames ready to go.
func (d *Driver) release() (out []transport.Frame) {
	switch {
	case d.ended:
	case d.reorders:
		// An answer to a question not asked by the live server holds up no frame.
		isMissing := func(message *message) bool { return !message.arrived }
		isAsked := func(frame *ownFrame) bool { return frame.question == nil || frame.question.arrived }
		isAhead := func(frame *ownFrame) bool { return !frame.written && isAsked(frame) }
		for _, f := range d.frames[d.next:] {
			if !f.sent && isAsked(f) && !slices.ContainsFunc(f.needs, isMissing) && !slices.ContainsFunc(f.after, isAhead) {
				out = append(out, d.send(f))
			}
		}
		for d.next < len(d.frames) && d.frames[d.next].sent {
			d.next++
		}
	default:
		for f := d.sendable(); f != nil; f = d.sendable() {
			out = append(out, d.send(f))
		}
		d.due = slices.DeleteFunc(d.due, func(frame *ownFrame) bool { return frame.sent })
	}
	return out
}

// sendable returns the first recorded of the client frames free to go: the next frame that is
// no answer, or an answer.
func (d *Driver) sendable() *ownFrame {
	first := d.nextFrame()
	if first != nil {
		isAhead := func(place hangUp) bool { return place.frames <= first.index && d.isReached(place) }
		if d.settled < first.before || first.isQueued() || d.hangsUp && slices.ContainsFunc(d.places, isAhead) {
			first = nil
		}
	}
	for _, f := range d.due {
		if !f.sent && (first == nil || f.index < first.index) && d.mayAnswer(f) {
			first = f
		}
	}
	return first
}

// nextFrame returns the next client frame apart from answers. It is not for a reordering
// driver.
func (d *Driver) nextFrame() *ownFrame {
	for ; d.next < len(d.frames); d.next++ {
		if f := d.frames[d.next]; f.question == nil && !f.sent {
			return f
		}
	}
	return nil
}

// mayAnswer reports whether everything recorded between the question and its answer has
// happened.
func (d *Driver) mayAnswer(frame *ownFrame) bool {
	if frame.unheld {
		return true
	}
	if next := d.nextFrame(); next != nil && next.index < frame.index && next.isQueued() {
		return true // the recorded overlap is not kept: the two would wait for each other
	}
	if slices.ContainsFunc(d.messages[frame.question.index:frame.before], (*message).isPending) {
		return false
	}
	for _, earlier := range slices.Backward(d.frames[:frame.index]) {
		if earlier.before <= frame.question.index { // sent before the question
			return true
		}
		if earlier.question == nil && !earlier.sent {
			return false
		}
	}
	return true
}

// held returns the first client frame held back only by messages that may never come.
func (d *Driver) held() *ownFrame {
	if d.ended || d.reorders {
		return nil
	}
	if i := slices.IndexFunc(d.due, func(frame *ownFrame) bool { return !frame.sent }); i >= 0 {
		return d.due[i]
	}
	f := d.nextFrame()
	isAwaited := func(message *message) bool { return message.isPending() && !message.optional }
	if f == nil || slices.ContainsFunc(d.messages[d.settled:max(d.settled, f.before)], isAwaited) {
		return nil
	}
	return f
}

// queuePatience is the patience with a call queued behind an earlier call by OneByOne. A call
// may take long; a wrong guess costs a moment, or two calls meet as in the recording.
const queuePatience = 4 * defaultPatience

// patience returns how long to wait, in silence, for messages that may never come: longer
// where the recorded server was slow. A message that came by a timer then comes by a timer
// now.
func (d *Driver) patience() time.Duration {
	f := d.held()
	switch unheard := d.unheard(); {
	case len(unheard) > 0:
		return defaultPatience + 2*d.longestSilence(unheard[0].index, 1+unheard[len(unheard)-1].index)
	case f == nil:
		return defaultPatience + 2*d.longestSilence(0, len(d.messages))
	case f.question == nil && f.before <= d.settled && f.isQueued(): // a busy server may be about to answer
		return queuePatience + 2*d.longestSilence(d.settled, 1+f.lastQueued())
	}
	return defaultPatience + 2*d.longestSilence(d.settled, f.before)
}

// longestSilence returns the longest recorded silence before a message, over the messages from
// a place up to another that are still to come.
func (d *Driver) longestSilence(from, upto int) (longest time.Duration) {
	for _, s := range d.messages[min(from, upto):upto] {
		if !s.arrived && !s.timedOut && !s.afterEnd {
			longest = max(longest, s.gap)
		}
	}
	return longest
}

// isReached reports whether the session has come to the place of the hang-up.
func (d *Driver) isReached(h hangUp) bool {
	return d.settled >= h.messages && !slices.ContainsFunc(d.frames[:h.frames], func(f *ownFrame) bool { return !f.sent })
}

// unheard returns the messages that may still come on the exchanges on which the client hangs
// up next.
func (d *Driver) unheard() (list []*message) {
	if !d.hangsUp || d.ended {
		return nil
	}
	for _, h := range d.places {
		if !d.isReached(h) {
			continue
		}
		for _, s := range h.on {
			if s.mayCome() && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// isQueued reports whether the frame waits for the answer to an earlier call.
func (f *ownFrame) isQueued() bool { return slices.ContainsFunc(f.queue, (*message).isPending) }

// lastQueued is the index of the last server message in the frame's queue; -1: none.
func (f *ownFrame) lastQueued() int {
	last := -1
	for _, s := range f.queue {
		last = max(last, s.index)
	}
	return last
}

// AllowReorder lets the driver send the client frames in any order allowed to a client by the
// specification, as [Player.AllowReorder] does for a server: calls side by side, however
// recorded.
//
// Some frames stay in order: the handshake goes before everything but pings, an answer after
// the question, a cancellation after the request; a request with a cursor, a task or a request
// state goes after the answer with the value. Frames about the same task, question or
// subscribed resource keep the recorded order, and a request among them waits for the answer
// to the request before.
func (d *Driver) AllowReorder() {
	d.reorders = true
	last := map[string]*ownFrame{} // by order key
	brought := map[match.Handle]*message{}
	heard := 0
	var hello, ready *ownFrame
	for _, f := range d.frames {
		for ; heard < f.before; heard++ {
			for _, handle := range match.HandlesIn(d.messages[heard].msg().Result) {
				if brought[handle] == nil {
					brought[handle] = d.messages[heard]
				}
			}
		}
		messages := d.rules.Messages(f.frame)
		f.after = slices.DeleteFunc([]*ownFrame{hello, ready}, func(other *ownFrame) bool { return other == nil || isPing(messages) })
		for _, m := range messages {
			switch {
			case m.Method == mcp.MethodInitialize:
				hello = f
			case m.Method == mcp.NotificationInitialized && ready == nil:
				ready = f
			}
			for _, handle := range match.HandlesIn(m.Params) {
				if s := brought[handle]; s != nil {
					f.needs = append(f.needs, s)
				}
			}
			if transport.Member(m.Params, mcp.MemberInputResponses) != nil { // the last answer that asked for input
				for _, s := range slices.Backward(d.messages[:f.before]) {
					if s.request != nil && s.request.msg().Method == m.Method && timeline.TargetOf(s.request.msg()) == timeline.TargetOf(m) &&
						string(transport.Member(s.msg().Result, mcp.MemberResultType)) == `"input_required"` {
						f.needs = append(f.needs, s)
						break
					}
				}
			}
			for _, key := range f.orderKeys(m) {
				if before := last[key]; before != nil && before != f {
					f.after = append(f.after, before)
					if m.Kind() == transport.Request {
						f.needs = append(f.needs, before.responses(f.before)...)
					}
				}
				last[key] = f
			}
		}
		if hello != nil && hello != f && !isPing(messages) {
			f.needs = append(f.needs, hello.responses(f.before)...)
		}
	}
}

// Needs returns the events of the client's frames whose answers the client frame of an event waits for, in a
// driver that may send in another order.
func (d *Driver) Needs(seq uint64) (needed []uint64) {
	for _, f := range d.frames {
		if f.seq != seq {
			continue
		}
		for _, s := range f.needs {
			if s.request != nil {
				needed = append(needed, s.request.frame.seq)
			}
		}
	}
	return needed
}

// OneByOne makes each request wait for the answers to the earlier requests: a live server then
// has a single call at a time, and takes the calls in the recorded order at any pace. Call
// OneByOne before Start.
//
// The recorded overlap stays where the recording shows a reason: behind a call that was
// cancelled, never answered or answered after the later call, and around a subscription, which
// is always open. If an answer waits for the later call without such a sign, GiveUpWaiting
// brings the overlap back.
func (d *Driver) OneByOne() {
	var open []*request
	for _, f := range d.frames {
		open = slices.DeleteFunc(open, func(request *request) bool { return request.response.index < f.before })
		for _, r := range open {
			wasBeside := func(own *request) bool { // answered before r was, or open all the time
				method := own.msg().Method
				return method == mcp.MethodListen || method == mcp.MethodPing || own.response == nil || own.response.index < r.response.index
			}
			if len(f.requests) > 0 && !slices.ContainsFunc(f.requests, wasBeside) {
				f.queue = append(f.queue, r.response)
			}
		}
		for _, r := range f.requests {
			if r.isAwaited() {
				open = append(open, r)
			}
		}
	}
}

// responses returns the answers to the frame's requests recorded before a place, except for
// cancelled requests.
func (f *ownFrame) responses(before int) []*message {
	var list []*message
	for _, r := range f.requests {
		if r.response != nil && !r.cancelled && r.response.index < before {
			list = append(list, r.response)
		}
	}
	return list
}

// serverMsgKey is the key of the candidates for a live message of the server.
func serverMsgKey(message transport.Message) match.Key {
	if message.Method == mcp.NotificationProgress {
		return match.Key(message.Method + " " + string(mcp.KeyOf(message.ProgressToken())))
	}
	return match.Key(message.Method)
}

// pick returns the recorded message for a live message: of the first few candidates with the
// key, the most similar. A reordering driver takes the request with the same id, as long as the
// server keeps the recorded ids.
func (d *Driver) pick(key match.Key, m transport.Message) *message {
	queue := left(d.expected[key], func(message *message) bool { return message.arrived })
	d.expected[key] = queue
	if d.reorders && !d.otherIDs && m.Kind() == transport.Request {
		if s := firstLeft(queue, func(message *message) bool { return mcp.Same(message.msg().ID, m.ID) }); s != nil {
			return s
		}
	}
	picked, equal := d.nearest(queue[:min(len(queue), lookahead)], m)
	if !equal || picked.owner == nil || picked.msg().Kind() != transport.Notification {
		return picked
	}
	for _, earlier := range queue[:slices.Index(queue, picked)] { // of the same kind and call
		if !earlier.arrived && earlier.overtaken == nil && earlier.owner == picked.owner && earlier.exchange == picked.exchange {
			earlier.overtaken = picked
		}
	}
	return picked
}

// nearest returns the recorded message most similar to a live message, and whether the two are
// equal. A notification stands for a message beyond the horizon only if equal.
func (d *Driver) nearest(queue []*message, message transport.Message) (nearest *message, equal bool) {
	least := 0
	horizon := d.horizon()
	for _, s := range queue {
		if s.arrived {
			continue
		}
		n := d.rulesFor(s).Compare(s.msg(), message, d.variables).Count()
		if n == 0 {
			return s, true
		}
		if message.Kind() == transport.Notification && s.index >= horizon {
			continue
		}
		if nearest == nil || n < least {
			nearest, least = s, n
		}
	}
	return nearest, false
}
