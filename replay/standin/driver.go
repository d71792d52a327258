package standin

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Driver plays the client's half of a recording to a live server. It is a pure machine as
// [Player] is: frames in, frames out; no I/O, no clock, no goroutine. It is not safe for
// concurrent use.
//
// The recording is a list of client frames, which are sent, and of server messages, which
// are waited for. A live message of the server stands for a recorded one: a response for
// the one to the same request, a request for one of its method, a notification for one of
// its method and token. Of the first few that are left it stands for the one that it
// differs from least. The client frames go out in recorded order. Each waits for what the
// recorded client had heard before it:
//
//   - the responses to its own requests, always;
//   - what else the server said, until it cannot be coming any more or Relent ends the
//     wait;
//   - an answer to the server waits for its question, and for what was recorded between
//     the two.
//
// The client frames keep their recorded ids. The live server's ids and progress tokens go
// into the answers, and what the live server made up (a cursor, a task id, a request state,
// whatever looks made up and comes back) takes the place of the recorded one.
//
// A request of the server that was not recorded gets an error; a ping is answered all the
// same.
//
// What is no message is dealt with as [Player] does.
type Driver struct {
	clientFrames []*clientFrame
	serverMsgs   []*serverMsg
	requests     map[mcp.Key][]*request     // own, by id
	expected     map[match.Key][]*serverMsg // what else the recorded server said
	findings     []judged                   // of what nobody recorded
	reached      uint64                     // Seq of the last recorded message that came
	rules        match.Rules
	variables    *match.Variables // what the live server made up
	noises       noises
	without      []string // what Relent passed over

	loose     bool
	ended     bool                    // nothing goes out any more
	first     int                     // loose: client frames before this one were written
	settled   int                     // server messages before this one are all settled
	heard     int                     // server messages that arrived
	missing   int                     // server messages that did not, of those said before the client ended its side
	open      []*request              // sent, not cancelled, and the recorded answer has not come
	next      int                     // client frames before this one were sent, or are answers
	listening uint64                  // to the live HTTP exchange
	due       []*clientFrame          // answers whose question has come
	hangUps   []hangUp                // that are to come
	hangsUp   bool                    // the player of the driver hangs up on streams: later client frames wait for that
	streams   map[uint64]*clientFrame // that were sent, by HTTP exchange
	out       []*clientFrame          // every frame that was returned; nil: not a recorded one
}

// clientFrame is a recorded frame of the client.
type clientFrame struct {
	index    int
	seq      uint64
	frame    transport.Frame
	before   int           // server messages recorded before it
	question *serverMsg    // that it answers, or reports progress of
	gap      time.Duration // since the frame before it
	requests []*request
	edits    []edit         // places where the live server's values belong
	queue    []*serverMsg   // serialized: answers to earlier calls
	needs    []*serverMsg   // loose: must have come
	after    []*clientFrame // loose: must have been written
	sent     bool
	written  bool
	unheld   bool // an answer that waits for nothing but its question
}

// serverMsg is a message of the recorded server.
type serverMsg struct {
	index    int
	seq      uint64
	packed   transport.Packed
	request  *request       // of a response
	answers  []*clientFrame // of a request
	gap      time.Duration  // since the frame before it
	optional bool           // waited for only until Relent
	afterEnd bool           // said when the client had ended its side
	arrived  bool
	skipped  bool
	timedOut bool // passed by Relent
	live     *transport.Message

	owner     *request   // the call that something besides an answer belongs to
	follows   *request   // whose answer came directly before
	came      int        // its place among all that arrived, from 1
	alone     *request   // the only call that was open when it came
	overtaken *serverMsg // by the first of its kind and call that came before it, recorded after it
	on        uint64     // the recorded HTTP exchange
	liveOn    uint64
}

func (t *serverMsg) msg() transport.Message { return t.packed.Message() }

func (t *serverMsg) isSettled() bool { return t.arrived || t.skipped }

// isStray reports whether the server message is an answer that belongs to no request.
func (t *serverMsg) isStray() bool { return t.request == nil && t.msg().Kind() == transport.Response }

// what names the server message in words.
func (t *serverMsg) what() string {
	if t.request != nil {
		return "the answer to " + about(t.request.msg())
	}
	if t.isStray() {
		if t.msg().ID == nil {
			return "an answer without an id"
		}
		return "an answer with id " + phrase.Name(string(t.msg().ID))
	}
	return about(t.msg())
}

// request is a request of the recorded client.
type request struct {
	line      *clientFrame
	packed    transport.Packed
	response  *serverMsg // nil: there was none
	cancelled bool       // before its response, if any
	done      bool       // the live server answered
}

func (r *request) msg() transport.Message { return r.packed.Message() }

// isAwaited reports whether the client goes on only when it has the answer.
func (r *request) isAwaited() bool { return r.response != nil && !r.response.optional }

// Start returns what can be sent before the server said anything.
func (d *Driver) Start() []transport.Frame { return d.release() }

// Receive takes a frame of the live server and returns what to send now.
func (d *Driver) Receive(f transport.Frame) []transport.Frame {
	var out []transport.Frame
	d.listening = f.Stream
	messages := timeline.MessagesOf(f)
	if isNoise(f.Bytes, messages) {
		d.noises.add(f, d.reached)
	}
	for _, m := range messages {
		switch m.Kind() {
		case transport.Request:
			out = append(out, d.request(m, f.Stream)...)
		case transport.Response:
			d.response(m, f.Stream)
		case transport.Notification:
			if t := d.pick(serverMsgKey(m), m); t != nil {
				d.arrive(t, m)
			} else {
				d.extra(about(m), fmt.Sprintf("the server's %s was not recorded", about(m)), false)
			}
		}
	}
	return append(out, d.release()...)
}

// response takes a live answer.
func (d *Driver) response(m transport.Message, stream uint64) {
	if l := d.streams[stream]; l != nil { // it went out with the number of the exchange that it was recorded with
		for _, r := range l.requests {
			if !r.done && (mcp.Same(r.msg().ID, m.ID) || isNull(m.ID)) {
				d.answer(r, m)
				return
			}
		}
	}
	if i := slices.IndexFunc(d.open, func(r *request) bool { return isNull(r.response.msg().ID) }); i >= 0 && isNull(m.ID) {
		d.answer(d.open[i], m) // recorded over HTTP, played over a transport without exchanges
		return
	}
	queue := d.requests[mcp.KeyOf(m.ID)]
	i := len(queue) - 1 // the latest open one, as everywhere
	for i >= 0 && (!queue[i].line.sent || queue[i].done) {
		i--
	}
	if t := d.pick(match.Key(strayKey(m)), m); i < 0 && t != nil {
		d.arrive(t, m)
		return
	}
	if i < 0 {
		d.extra("an answer", fmt.Sprintf("an answer with id %s, which no open request of the client has", phrase.Name(string(m.ID))), true)
		return
	}
	d.answer(queue[i], m)
}

// answer takes the live answer to a request.
func (d *Driver) answer(r *request, m transport.Message) {
	r.done = true
	if r.response == nil && !r.cancelled && !d.IsDone() {
		what := "the answer to " + about(r.msg())
		d.extra(what, fmt.Sprintf("%s (#%d) was not recorded", what, r.line.seq), false)
	}
	d.arrive(r.response, m)
}

// request takes a live request and returns the answer where none is recorded.
func (d *Driver) request(m transport.Message, stream uint64) []transport.Frame {
	if t := d.pick(serverMsgKey(m), m); t != nil {
		d.arrive(t, m)
		return nil
	}
	d.out = append(d.out, nil)
	if m.Method == mcp.MethodPing {
		return []transport.Frame{answerTo(m.ID, stream, []byte(`"result":{}`))}
	}
	text := fmt.Sprintf("no recorded answer for the server's %s", phrase.Name(m.Method))
	d.extra(about(m), text, true)
	return []transport.Frame{answerTo(m.ID, stream, missBody(text))}
}

// arrive lets m stand for the server message, and passes over the notifications that the
// recorded server had sent before it.
func (d *Driver) arrive(t *serverMsg, m transport.Message) {
	if t == nil {
		return
	}
	t.arrived, t.live, t.liveOn = true, &m, d.listening
	d.reached = max(d.reached, t.seq)
	if m.Kind() != transport.Notification { // not of those: they may be of other calls
		d.variables.Learn(t.msg(), m, t.index)
	}
	d.heard++
	if !t.afterEnd && !t.timedOut {
		d.missing--
	}
	t.came = d.heard
	if len(d.open) == 1 {
		t.alone = d.open[0]
	}
	switch m.Kind() {
	case transport.Request:
		d.due = append(d.due, t.answers...)
	case transport.Response:
		d.open = slices.DeleteFunc(d.open, func(r *request) bool { return r == t.request })
	}
	upto := t.index
	if m.Kind() == transport.Notification && t.index >= d.horizon() {
		upto = d.settled // it came early, by a timer: nothing is passed over
	}
	for _, before := range d.serverMsgs[min(d.settled, upto):upto] {
		before.skipped = before.skipped || before.msg().Kind() == transport.Notification || before.isStray()
	}
	d.settle()
}

func (d *Driver) settle() {
	for d.settled < len(d.serverMsgs) && d.serverMsgs[d.settled].isSettled() {
		d.settled++
	}
}

// End says that the client has ended its side: nothing goes out any more.
func (d *Driver) End() { d.ended = true }

// release returns the client frames that may go out.
func (d *Driver) release() []transport.Frame {
	if d.ended {
		return nil
	}
	if d.loose {
		return d.releaseLoose()
	}
	var out []transport.Frame
	for l := d.sendable(); l != nil && !d.ended; l = d.sendable() {
		out = append(out, d.send(l)...)
	}
	d.due = slices.DeleteFunc(d.due, func(l *clientFrame) bool { return l.sent })
	return out
}

// sendable returns the first recorded of the client frames that may go out: the next that
// answers nothing, or an answer.
func (d *Driver) sendable() *clientFrame {
	first := d.nextClientFrame()
	if first != nil && (d.settled < first.before || first.isQueued() || d.isBehindHangUp(first)) {
		first = nil
	}
	for _, l := range d.due {
		if !l.sent && (first == nil || l.index < first.index) && d.mayAnswer(l) {
			first = l
		}
	}
	return first
}

// nextClientFrame returns the next client frame that answers nothing.
func (d *Driver) nextClientFrame() *clientFrame {
	for ; d.next < len(d.clientFrames); d.next++ {
		if l := d.clientFrames[d.next]; l.question == nil && !l.sent {
			return l
		}
	}
	return nil
}

// mayAnswer reports whether what was recorded between the question and its
// answer is done.
func (d *Driver) mayAnswer(l *clientFrame) bool {
	if l.unheld {
		return true
	}
	if next := d.nextClientFrame(); next != nil && next.index < l.index && next.isQueued() {
		return true // the recorded overlap is not kept: the two would wait for each other
	}
	for _, t := range d.serverMsgs[l.question.index:l.before] {
		if !t.isSettled() {
			return false
		}
	}
	for _, b := range slices.Backward(d.clientFrames[:l.index]) {
		if b.before <= l.question.index { // said before the question
			return true
		}
		if b.question == nil && !b.sent {
			return false
		}
	}
	return true
}

// send returns the client frame with the live server's values in it.
func (d *Driver) send(l *clientFrame) []transport.Frame {
	f := l.frame
	f.Bytes = d.variables.Substitute(f.Bytes)
	for _, e := range l.edits {
		if e.question.live == nil {
			continue
		}
		if value := e.of(*e.question.live); value != nil {
			f.Bytes, _ = match.Splice(f.Bytes, value, e.path...)
		}
	}
	l.sent = true
	d.out = append(d.out, l)
	if f.Stream != 0 {
		d.streams[f.Stream] = l
	}
	for _, r := range l.requests {
		if r.isAwaited() {
			d.open = append(d.open, r)
		}
	}
	return []transport.Frame{f}
}

// Said reports whether all was returned that answers nothing.
func (d *Driver) Said() bool {
	return !slices.ContainsFunc(d.clientFrames[d.next:], func(l *clientFrame) bool { return l.question == nil && !l.sent })
}

// Findings returns the verdicts so far on messages of the live server that were not
// recorded.
func (d *Driver) Findings() []match.StepVerdict { return grave(d.findings) }

// IsDone reports whether the client has said all and has heard every answer that
// the recorded one had. What else the recorded server said may still come.
func (d *Driver) IsDone() bool { return len(d.open) == 0 && d.Said() }

// IsHeard reports whether all has come that the recorded server had said before
// the client ended its side.
// What was passed over because later things came first may still come.
func (d *Driver) IsHeard() bool { return d.missing == 0 }

// Pending says who waits for what: the calls that the live server has not
// answered, and the first of the client's frames that is held back.
func (d *Driver) Pending() []string {
	var list []string
	for _, r := range d.open {
		list = append(list, fmt.Sprintf("the client waits for the answer to #%d %s (id %s)", r.line.seq, about(r.msg()), phrase.Name(string(r.msg().ID))))
	}
	if d.loose {
		return list
	}
	l := d.nextClientFrame()
	if l == nil {
		return list
	}
	for _, t := range d.serverMsgs[min(d.settled, l.before):l.before] {
		if !t.isSettled() {
			return append(list, fmt.Sprintf("#%d %s was not sent: it waits for %s, recorded as #%d", l.seq, l.what(), t.what(), t.seq))
		}
	}
	return append(list, fmt.Sprintf("#%d %s was not sent: it waits for its turn", l.seq, l.what()))
}

// what names a client frame.
func (l *clientFrame) what() string {
	messages := timeline.MessagesOf(l.frame)
	if len(messages) == 0 {
		return "(not a message)"
	}
	return about(messages[0])
}

// about names a request or notification and what it is about.
func about(m transport.Message) string {
	if name := timeline.TargetOf(m); name != "" {
		return phrase.Name(m.Method) + " " + phrase.Name(name)
	}
	return phrase.Name(m.Method)
}

// Gap returns how long after the frame before it the one was recorded that was
// returned as number n, counted from 0 over all that were; 0 for one that was not
// recorded.
func (d *Driver) Gap(n int) time.Duration {
	if l := d.out[n]; l != nil {
		return l.gap
	}
	return 0
}

// pick returns the server message that a live request or notification stands for: of those
// of its kind that are left, among the first few, the one that it differs from least. Of a
// loosened driver, which keeps the recorded ids, it is the one with the same id.
func (d *Driver) pick(key match.Key, m transport.Message) *serverMsg {
	queue := left(d.expected[key], func(t *serverMsg) bool { return t.arrived })
	d.expected[key] = queue
	if d.loose && m.Kind() == transport.Request {
		for _, t := range queue {
			if !t.arrived && mcp.Same(t.msg().ID, m.ID) {
				return t
			}
		}
	}
	t, equal := d.nearest(queue[:min(len(queue), lookahead)], m)
	if !equal || t.owner == nil || t.msg().Kind() != transport.Notification {
		return t
	}
	for _, other := range queue[:slices.Index(queue, t)] { // of its kind and call, and recorded before it
		if !other.arrived && other.overtaken == nil && other.owner == t.owner && other.on == t.on {
			other.overtaken = t
		}
	}
	return t
}

// nearest returns the server message that a live message differs from least, and whether it
// does not differ at all.
func (d *Driver) nearest(queue []*serverMsg, m transport.Message) (nearest *serverMsg, equal bool) {
	least, horizon := 0, d.horizon()
	for _, t := range queue {
		if t.arrived {
			continue
		}
		n := d.rules.Compare(t.msg(), m, d.variables).Count()
		if n == 0 {
			return t, true
		}
		if m.Kind() == transport.Notification && t.index >= horizon {
			continue
		}
		if nearest == nil || n < least {
			nearest, least = t, n
		}
	}
	return nearest, false
}

// horizon bounds the server messages that may come before the client says any more: what
// was recorded later is not what a notification stands for, unless it equals that.
func (d *Driver) horizon() int {
	if d.loose { // which begins with next, answers and all
		return len(d.serverMsgs)
	}
	l := d.nextClientFrame()
	if l == nil {
		return len(d.serverMsgs)
	}
	return max(l.before, 1+l.lastQueued())
}
