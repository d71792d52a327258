package standin

import (
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Loosen lets the driver send its client frames in any order that the specification
// allows a client, as [Player.Loosen] does for a server: its calls side by side,
// however they were recorded.
//
// What stays in order: the handshake before all but pings; an answer after its
// question; a cancellation after its request; a request with a cursor, a task or
// a request state after the answer that brought it; and what names one task, one
// question or one subscribed resource, which for requests means after the answer
// to the one before.
func (d *Driver) Loosen() {
	d.loose = true
	last := map[string]*clientFrame{} // by order key
	brought := map[match.Handle]*serverMsg{}
	heard := 0
	var hello, ready *clientFrame
	for _, l := range d.clientFrames {
		for ; heard < l.before; heard++ {
			for _, s := range match.HandlesIn(d.serverMsgs[heard].msg().Result) {
				if brought[s] == nil {
					brought[s] = d.serverMsgs[heard]
				}
			}
		}
		messages := timeline.MessagesOf(l.frame)
		l.after = slices.DeleteFunc([]*clientFrame{hello, ready}, func(o *clientFrame) bool { return o == nil || isPing(messages) })
		for _, m := range messages {
			switch {
			case m.Method == mcp.MethodInitialize:
				hello = l
			case m.Method == mcp.NotificationInitialized && ready == nil:
				ready = l
			}
			d.addCauses(l, m, last, brought)
		}
		if hello != nil && hello != l && !isPing(messages) {
			l.needs = append(l.needs, d.responses(hello, l.before)...)
		}
	}
}

// addCauses makes the client frame wait for what its message follows from.
func (d *Driver) addCauses(l *clientFrame, m transport.Message, last map[string]*clientFrame, brought map[match.Handle]*serverMsg) {
	for _, s := range match.HandlesIn(m.Params) {
		if t := brought[s]; t != nil {
			l.needs = append(l.needs, t)
		}
	}
	if transport.Member(m.Params, mcp.MemberInputResponses) != nil {
		l.needs = append(l.needs, d.inputRequired(l, m)...)
	}
	for _, key := range d.orderKeys(l, m) {
		if o := last[key]; o != nil && o != l {
			l.after = append(l.after, o)
			if m.Kind() == transport.Request {
				l.needs = append(l.needs, d.responses(o, l.before)...)
			}
		}
		last[key] = l
	}
}

// orderKeys name the things that a message is about, among which order counts.
func (d *Driver) orderKeys(l *clientFrame, m transport.Message) []string {
	var keys []string
	switch {
	case l.question != nil && m.Method != mcp.NotificationCancelled:
		keys = append(keys, "question "+strconv.Itoa(l.question.index))
	case m.Method == mcp.MethodSubscribe || m.Method == mcp.MethodUnsubscribe:
		keys = append(keys, "uri "+timeline.TargetOf(m))
	case m.Method == mcp.NotificationCancelled:
		keys = append(keys, "id "+string(mcp.KeyOf(timeline.CancelledID(m))))
	}
	if m.Kind() == transport.Request {
		keys = append(keys, "id "+string(mcp.KeyOf(m.ID)))
	}
	return append(keys, orderKeysWithin(m)...)
}

// responses are the server messages that answer the requests of a client frame and were
// recorded before a point, but for those that were cancelled.
func (d *Driver) responses(l *clientFrame, before int) []*serverMsg {
	var list []*serverMsg
	for _, m := range timeline.MessagesOf(l.frame) {
		for _, r := range d.requests[mcp.KeyOf(m.ID)] {
			if r.line == l && m.Kind() == transport.Request && r.response != nil && !r.cancelled && r.response.index < before {
				list = append(list, r.response)
			}
		}
	}
	return list
}

// inputRequired returns the last answer before a client frame that asked to make the same
// call again with more input.
func (d *Driver) inputRequired(l *clientFrame, m transport.Message) []*serverMsg {
	for _, t := range slices.Backward(d.serverMsgs[:l.before]) {
		if t.request != nil && t.request.msg().Method == m.Method && timeline.TargetOf(t.request.msg()) == timeline.TargetOf(m) &&
			string(transport.Member(t.msg().Result, mcp.MemberResultType)) == `"input_required"` {
			return []*serverMsg{t}
		}
	}
	return nil
}

// Wrote says that the frame which was returned as number n, counted from 0 over
// all that were, has been taken by the transport, and returns what may be sent
// now. Only a loosened driver needs to know.
func (d *Driver) Wrote(n int) []transport.Frame {
	if !d.loose {
		return nil
	}
	if l := d.out[n]; l != nil {
		l.written = true
	}
	return d.release()
}

// Place says where in the recorded order a frame stands, as [Player.Place] does.
func (d *Driver) Place(n int) (place, first int) {
	for d.first < len(d.clientFrames) && (d.clientFrames[d.first].written || d.clientFrames[d.first].question != nil) {
		d.first++
	}
	if l := d.out[n]; l != nil {
		return l.index, d.first
	}
	return -1, d.first
}

func (d *Driver) releaseLoose() []transport.Frame {
	var out []transport.Frame
	for _, l := range d.clientFrames[d.next:] {
		if !l.sent && d.mayGoLoose(l) {
			out = append(out, d.send(l)...)
		}
	}
	for d.next < len(d.clientFrames) && d.clientFrames[d.next].sent {
		d.next++
	}
	return out
}

// mayGoLoose reports whether a client frame may be sent. An answer to a question that the
// live server does not ask holds up nothing.
func (d *Driver) mayGoLoose(l *clientFrame) bool {
	if l.question != nil && !l.question.arrived || slices.ContainsFunc(l.needs, func(t *serverMsg) bool { return !t.arrived }) {
		return false
	}
	for _, o := range l.after {
		if !o.written && (o.question == nil || o.question.arrived) {
			return false
		}
	}
	return true
}

// OneByOne makes each request wait for the answers to the earlier ones: a live
// server then has one call at a time, and takes the calls in the recorded order
// whatever its own pace is. Call it before Start.
//
// The recorded overlap stays where the recording shows a reason for it: behind a
// call that was cancelled, was never answered or only after the later one, and
// around a subscription, which is open all the time. Where the answer waits for the
// later call in a way that the recording does not show, Relent brings the overlap
// back.
func (d *Driver) OneByOne() {
	var open []*request
	for _, l := range d.clientFrames {
		open = slices.DeleteFunc(open, func(r *request) bool { return r.response.index < l.before })
		for _, r := range open {
			if l.follows(r) {
				l.queue = append(l.queue, r.response)
			}
		}
		for _, r := range l.requests {
			if r.isAwaited() {
				open = append(open, r)
			}
		}
	}
}

// follows reports whether the client frame has requests, and all of them were answered
// after r was.
func (l *clientFrame) follows(r *request) bool {
	for _, own := range l.requests {
		if own.msg().Method == mcp.MethodListen || own.msg().Method == mcp.MethodPing || own.response == nil || own.response.index < r.response.index {
			return false
		}
	}
	return len(l.requests) > 0
}

// isQueued reports whether the client frame waits for the answer to an earlier call.
func (l *clientFrame) isQueued() bool {
	return slices.ContainsFunc(l.queue, func(t *serverMsg) bool { return !t.isSettled() })
}

// lastQueued is the index of the last server message that the client frame is queued
// behind; -1: none.
func (l *clientFrame) lastQueued() int {
	last := -1
	for _, t := range l.queue {
		last = max(last, t.index)
	}
	return last
}
