package standin

import (
	"slices"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// driverOrder decides when a client frame may go out, and when the client hangs up: in
// recorded order, or in any order that the specification allows.
type driverOrder struct {
	*script
	ended   bool        // no frame goes out any more
	next    int         // client frames before this one were sent, or are answers
	due     []*ownFrame // answers whose question has come
	places  []hangUp    // where the client is still to hang up
	hangsUp bool        // the shell hangs up: later client frames wait for that
}

// arrive notes that a server message has come, and skips the notifications that the recorded
// server had sent before it.
func (o *driverOrder) arrive(s *message) {
	kind := s.live.Kind()
	if kind == transport.Request {
		o.due = append(o.due, s.answers...)
	}
	upto := s.index
	if kind == transport.Notification && s.index >= o.horizon() {
		upto = o.settled // it came early, by a timer: nothing is skipped
	}
	for _, before := range o.messages[min(o.settled, upto):upto] {
		before.skipped = before.skipped || before.msg().Kind() == transport.Notification || before.isStray()
	}
	o.settle()
}

// horizon is the first server message that cannot come before the client says more.
func (o *driverOrder) horizon() int {
	if !o.reorders {
		if f := o.nextFrame(); f != nil {
			return max(f.before, 1+f.lastQueued())
		}
	}
	return len(o.messages)
}

// release sends the client frames ready to go.
func (o *driverOrder) release(send func(*ownFrame)) {
	switch {
	case o.ended:
	case o.reorders:
		// An answer to a question that the live server does not ask holds up nothing.
		isMissing := func(s *message) bool { return !s.arrived }
		isAhead := func(f *ownFrame) bool { return !f.written && (f.question == nil || f.question.arrived) }
		for _, f := range o.frames[o.next:] {
			isAsked := f.question == nil || f.question.arrived
			if !f.sent && isAsked && !slices.ContainsFunc(f.needs, isMissing) && !slices.ContainsFunc(f.after, isAhead) {
				send(f)
			}
		}
		for o.next < len(o.frames) && o.frames[o.next].sent {
			o.next++
		}
	default:
		for f := o.sendable(); f != nil; f = o.sendable() {
			send(f)
		}
		o.due = slices.DeleteFunc(o.due, func(f *ownFrame) bool { return f.sent })
	}
}

// sendable returns the first recorded of the client frames that may go out: the next frame
// that answers nothing, or an answer.
func (o *driverOrder) sendable() *ownFrame {
	first := o.nextFrame()
	if first != nil {
		isAhead := func(h hangUp) bool { return h.frames <= first.index && o.isReached(h) }
		if o.settled < first.before || first.isQueued() || o.hangsUp && slices.ContainsFunc(o.places, isAhead) {
			first = nil
		}
	}
	for _, f := range o.due {
		if !f.sent && (first == nil || f.index < first.index) && o.mayAnswer(f) {
			first = f
		}
	}
	return first
}

// nextFrame returns the next client frame that answers nothing. It is not for a reordering
// driver.
func (o *driverOrder) nextFrame() *ownFrame {
	for ; o.next < len(o.frames); o.next++ {
		if f := o.frames[o.next]; f.question == nil && !f.sent {
			return f
		}
	}
	return nil
}

// mayAnswer reports whether everything recorded between the question and its answer has
// happened.
func (o *driverOrder) mayAnswer(f *ownFrame) bool {
	if f.unheld {
		return true
	}
	if next := o.nextFrame(); next != nil && next.index < f.index && next.isQueued() {
		return true // the recorded overlap is not kept: the two would wait for each other
	}
	if slices.ContainsFunc(o.messages[f.question.index:f.before], (*message).isPending) {
		return false
	}
	for _, earlier := range slices.Backward(o.frames[:f.index]) {
		if earlier.before <= f.question.index { // sent before the question
			return true
		}
		if earlier.question == nil && !earlier.sent {
			return false
		}
	}
	return true
}

// held returns the first client frame that waits for nothing but messages that may never
// come.
func (o *driverOrder) held() *ownFrame {
	if o.ended || o.reorders {
		return nil
	}
	if i := slices.IndexFunc(o.due, func(f *ownFrame) bool { return !f.sent }); i >= 0 {
		return o.due[i]
	}
	f := o.nextFrame()
	isAwaited := func(s *message) bool { return s.isPending() && !s.optional }
	if f == nil || slices.ContainsFunc(o.messages[o.settled:max(o.settled, f.before)], isAwaited) {
		return nil
	}
	return f
}

// defaultPatience is how long a live end must be silent before a shell gives up waiting for
// the next recorded message. It runs only while a frame is held back, and costs nothing where
// the live end does as the recorded one did.
const defaultPatience = 500 * time.Millisecond

// queuePatience is the patience with a call that waits for the answer to an earlier one,
// because calls are made one by one. A call may take its time; to be wrong costs a moment, or
// two calls meet as they did in the recording.
const queuePatience = 4 * defaultPatience

// patience returns how long to wait, in silence, for messages that may never come: longer
// where the recorded server took its time. A message that came by a timer then comes by one
// now.
func (o *driverOrder) patience() time.Duration {
	f := o.held()
	switch unheard := o.unheard(); {
	case len(unheard) > 0:
		return defaultPatience + 2*o.longestSilence(unheard[0].index, 1+unheard[len(unheard)-1].index)
	case f == nil:
		return defaultPatience + 2*o.longestSilence(0, len(o.messages))
	case f.question == nil && f.before <= o.settled && f.isQueued(): // a busy server may be about to answer
		return queuePatience + 2*o.longestSilence(o.settled, 1+f.lastQueued())
	}
	return defaultPatience + 2*o.longestSilence(o.settled, f.before)
}

// longestSilence returns the longest time that the recorded server was silent before one of
// the messages from a place up to another that have not come.
func (o *driverOrder) longestSilence(from, upto int) (longest time.Duration) {
	for _, s := range o.messages[min(from, upto):upto] {
		if !s.arrived && !s.timedOut && !s.afterEnd {
			longest = max(longest, s.gap)
		}
	}
	return longest
}

// isReached reports whether the session has come to the place of the hang-up.
func (o *driverOrder) isReached(h hangUp) bool {
	return o.settled >= h.messages && !slices.ContainsFunc(o.frames[:h.frames], func(f *ownFrame) bool { return !f.sent })
}

// mayCome reports whether the client waits for the message before it hangs up. The message
// may have been skipped: two HTTP streams have no order, and a message on the other stream
// does not show that nothing more comes on this one.
func (s *message) mayCome() bool { return !s.arrived && !s.timedOut }

// unheard returns the messages that may still come on the exchanges on which the client hangs
// up next.
func (o *driverOrder) unheard() (list []*message) {
	if !o.hangsUp || o.ended {
		return nil
	}
	for _, h := range o.places {
		if !o.isReached(h) {
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

// oneByOne puts each request in a queue behind the answers to the earlier ones.
func (o *driverOrder) oneByOne() {
	var open []*request
	for _, f := range o.frames {
		open = slices.DeleteFunc(open, func(r *request) bool { return r.response.index < f.before })
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

// allowReorder replaces the recorded order with the order that the specification asks for.
func (o *driverOrder) allowReorder() {
	o.reorders = true
	last := map[string]*ownFrame{} // by order key
	brought := map[match.Handle]*message{}
	heard := 0
	var hello, ready *ownFrame
	for _, f := range o.frames {
		for ; heard < f.before; heard++ {
			for _, handle := range match.HandlesIn(o.messages[heard].msg().Result) {
				if brought[handle] == nil {
					brought[handle] = o.messages[heard]
				}
			}
		}
		messages := timeline.MessagesOf(f.frame)
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
			if transport.Member(m.Params, mcp.MemberInputResponses) != nil { // the last answer that asked for them
				for _, s := range slices.Backward(o.messages[:f.before]) {
					if s.request != nil && s.request.msg().Method == m.Method && timeline.TargetOf(s.request.msg()) == timeline.TargetOf(m) &&
						string(transport.Member(s.msg().Result, mcp.MemberResultType)) == `"input_required"` {
						f.needs = append(f.needs, s)
						break
					}
				}
			}
			for _, key := range clientOrderKeys(f, m) {
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

// responses returns the answers to the frame's requests that were recorded before a place,
// except for requests that were cancelled.
func (f *ownFrame) responses(before int) []*message {
	var list []*message
	for _, r := range f.requests {
		if r.response != nil && !r.cancelled && r.response.index < before {
			list = append(list, r.response)
		}
	}
	return list
}

// clientOrderKeys names the things that a client's message is about, among which order
// counts.
func clientOrderKeys(f *ownFrame, m transport.Message) []string {
	var keys []string
	switch {
	case f.question != nil && m.Method != mcp.NotificationCancelled:
		keys = append(keys, "question "+strconv.Itoa(f.question.index))
	case m.Method == mcp.MethodSubscribe || m.Method == mcp.MethodUnsubscribe:
		keys = append(keys, "uri "+timeline.TargetOf(m))
	case m.Method == mcp.NotificationCancelled:
		keys = append(keys, "id "+string(mcp.KeyOf(timeline.CancelledID(m))))
	}
	if m.Kind() == transport.Request {
		keys = append(keys, "id "+string(mcp.KeyOf(m.ID)))
	}
	return append(keys, orderKeys(m)...)
}

// driverMatcher finds the recorded message that a live message of the server stands for,
// unless it is the response to a request.
type driverMatcher struct {
	rules     match.Rules
	variables *match.Variables
	order     *driverOrder
	expected  map[match.Key][]*message // each queue in recorded order
	preferID  bool                     // takes the request with the live id
}

// serverMsgKey is the key of the messages that a live message of the server may stand for.
func serverMsgKey(m transport.Message) match.Key {
	if m.Method == mcp.NotificationProgress {
		return match.Key(m.Method + " " + string(mcp.KeyOf(m.ProgressToken())))
	}
	return match.Key(m.Method)
}

func newDriverMatcher(order *driverOrder, rules match.Rules, variables *match.Variables) driverMatcher {
	d := driverMatcher{rules: rules, variables: variables, order: order, expected: map[match.Key][]*message{}}
	for _, s := range order.messages {
		key := serverMsgKey(s.msg())
		if s.isStray() {
			key = match.Key(strayKey(s.msg()))
		}
		if s.request == nil {
			d.expected[key] = append(d.expected[key], s)
		}
	}
	return d
}

// pick returns the recorded message that a live one stands for: of those with the key that
// are left, among the first few, the message that it differs from least. A reordering driver,
// which keeps the recorded ids, takes the request with the same id.
func (d *driverMatcher) pick(key match.Key, m transport.Message) *message {
	queue := left(d.expected[key], func(s *message) bool { return s.arrived })
	d.expected[key] = queue
	if d.preferID && m.Kind() == transport.Request {
		for _, s := range queue {
			if !s.arrived && mcp.Same(s.msg().ID, m.ID) {
				return s
			}
		}
	}
	picked, equal := d.nearest(queue[:min(len(queue), lookahead)], m)
	if !equal || picked.owner == nil || picked.msg().Kind() != transport.Notification {
		return picked
	}
	for _, earlier := range queue[:slices.Index(queue, picked)] { // of its kind and call
		if !earlier.arrived && earlier.overtaken == nil && earlier.owner == picked.owner && earlier.exchange == picked.exchange {
			earlier.overtaken = picked
		}
	}
	return picked
}

// nearest returns the recorded message that a live one differs from least, and whether the
// two are equal. A notification stands for a message beyond the horizon only if they are.
func (d *driverMatcher) nearest(queue []*message, m transport.Message) (nearest *message, equal bool) {
	least, horizon := 0, d.order.horizon()
	for _, s := range queue {
		if s.arrived {
			continue
		}
		n := d.rules.Compare(s.msg(), m, d.variables).Count()
		if n == 0 {
			return s, true
		}
		if m.Kind() == transport.Notification && s.index >= horizon {
			continue
		}
		if nearest == nil || n < least {
			nearest, least = s, n
		}
	}
	return nearest, false
}
