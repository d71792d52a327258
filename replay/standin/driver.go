package standin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Driver plays the client's half of a recording to a live server. Like [Player] it is a pure
// machine: frames in, frames out; no I/O, no clock, no goroutine. It is not safe for
// concurrent use.
//
// The recording is a list of client frames, to be sent, and of server messages, to be waited
// for. A live message of the server stands for a recorded message: a response for the response
// to the same request, a request for a request of the same method, a notification for a
// notification of the same method and token. Of the first few candidates the most similar
// counts. The client frames go out in recorded order. Each waits for the messages heard before
// by the recorded client:
//
//   - the responses to the client's requests, always;
//   - the other messages of the server, until later messages rule them out or GiveUpWaiting
//     ends the wait;
//   - an answer to the server waits for its question, and for the messages recorded between
//     the two.
//
// The client frames keep the recorded ids. The live server's ids and progress tokens go into
// the answers. A value made up by the live server (a cursor, a task id, a request state, any
// value that looks made up and comes back) takes the place of the recorded value.
//
// An unrecorded request of the server gets an error; a ping is answered. The driver treats
// noise as a Player does.
type Driver struct {
	half
	requests map[mcp.Key][]*request   // of the recorded client, by id, said or not: see answered
	expected map[match.Key][]*message // requests, notifications and stray answers of the server, in recorded order
	open     []*request               // sent, not cancelled, and the recorded answer has not come
	streams  map[uint64]*ownFrame     // sent frames, by HTTP exchange
	heard    int                      // server messages that arrived
	missing  int                      // server messages still to come, except for messages after the client's end
	next     int                      // every earlier frame was sent or is an answer
	due      []*ownFrame              // answers to questions that have come
	places   []hangUp                 // where the client is still to hang up
	answers  []*request               // that the messages of the last received frame have answered; nil: not an answer
	hangsUp  bool                     // the shell hangs up: later frames wait
	ended    bool                     // no frame goes out any more
}

// NewDriver returns a Driver of the client's half of a session.
func NewDriver(events []store.Event, rules match.Rules) *Driver {
	script := loadDriverScript(events, rules)
	d := &Driver{
		half:     newHalf(script, transport.ServerToClient, rules),
		requests: map[mcp.Key][]*request{},
		expected: map[match.Key][]*message{},
		streams:  map[uint64]*ownFrame{},
		places:   script.hangUps,
	}
	d.role = d
	for _, f := range script.frames {
		for _, r := range f.requests {
			id := mcp.KeyOf(r.msg().ID)
			d.requests[id] = append(d.requests[id], r)
		}
	}
	for _, s := range script.messages {
		if !s.afterEnd {
			d.missing++
		}
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

// Receive takes a frame of the live server and returns the frames to send now.
func (d *Driver) Receive(frame transport.Frame) []transport.Frame {
	var out []transport.Frame
	messages := d.rules.Messages(frame)
	if isNoise(frame.Bytes, messages) {
		d.addNoise(frame)
	}
	d.answers = slices.Grow(d.answers[:0], len(messages))[:len(messages)]
	clear(d.answers)
	for i, m := range messages {
		switch m.Kind() {
		case transport.Request:
			out = append(out, d.request(m, frame.Stream)...)
		case transport.Response:
			d.answers[i] = d.response(m, frame.Stream)
		case transport.Notification:
			if s := d.pick(serverMsgKey(m), m); s != nil {
				d.arrive(s, m, frame.Stream)
			} else {
				d.extra(about(m), fmt.Sprintf("the server's %s was not recorded", about(m)), false)
			}
		}
	}
	return append(out, d.release()...)
}

// Request is a request of the recorded client.
type Request struct {
	Seq    uint64 // of its frame
	Number int    // among the requests of the frame, from 0
}

// Answered returns the request that message number i of the last received frame has answered. It reports false
// for another message, and for an answer to no request.
func (d *Driver) Answered(i int) (request Request, isAnswer bool) {
	r := d.answers[i]
	if r == nil {
		return Request{}, false
	}
	return Request{r.frame.seq, slices.Index(r.frame.requests, r)}, true
}

// response takes a live answer. It returns the answered request, or nil.
func (d *Driver) response(m transport.Message, stream uint64) *request {
	if r := d.answered(m, stream); r != nil {
		r.done = true
		if r.response == nil && !r.cancelled && !d.IsDone() {
			what := "the answer to " + about(r.msg())
			d.extra(what, fmt.Sprintf("%s (#%d) was not recorded", what, r.frame.seq), false)
		}
		if r.response != nil {
			d.arrive(r.response, m, stream)
		}
		return r
	}
	if s := d.pick(match.Key(strayKey(m)), m); s != nil {
		d.arrive(s, m, stream)
		return nil
	}
	d.extra("an answer", fmt.Sprintf("an answer with id %s, which no open request of the client has", phrase.Name(string(m.ID))), true)
	return nil
}

// answered returns the request of a live response; nil if no request fits. Of several with the id it is the one
// that the recording answers first, else the latest.
//
// This pairing is no index of the open requests of a session, which a timeline.Model is. It finds the place in the
// plan that a live answer stands for: the Model paired the recorded requests with their recorded answers when the
// plan was loaded, and a request of the plan is there, with its recorded answer, before it is said.
func (d *Driver) answered(message transport.Message, stream uint64) *request {
	if f := d.streams[stream]; f != nil { // sent with the number of the recorded exchange
		for _, r := range f.requests {
			if !r.done && (mcp.Same(r.msg().ID, message.ID) || isNull(message.ID)) {
				return r
			}
		}
	}
	if isNull(message.ID) { // recorded over HTTP, played over a transport without exchanges
		if i := slices.IndexFunc(d.open, func(request *request) bool { return isNull(request.response.msg().ID) }); i >= 0 {
			return d.open[i]
		}
	}
	withID := d.requests[mcp.KeyOf(message.ID)]
	var first *request
	for _, r := range withID {
		isOpen := r.frame.sent && !r.done && r.response != nil && !r.cancelled
		if isOpen && (first == nil || r.response.index < first.response.index) {
			first = r
		}
	}
	if first != nil {
		return first
	}
	for _, r := range slices.Backward(withID) {
		if r.frame.sent && !r.done {
			return r
		}
	}
	id := mcp.KeyOf(message.ID)
	for _, r := range slices.Backward(d.requests[id.Retyped()]) { // "7" for 7, as the recorded server had it
		if r.frame.sent && !r.done && r.response != nil && mcp.KeyOf(r.response.msg().ID) == id {
			return r
		}
	}
	return nil
}

// request takes a live request and returns the answer to an unrecorded request.
func (d *Driver) request(message transport.Message, stream uint64) []transport.Frame {
	s := d.pick(serverMsgKey(message), message)
	d.otherIDs = d.otherIDs || s == nil || !mcp.Same(s.msg().ID, message.ID)
	if s != nil {
		d.arrive(s, message, stream)
		return nil
	}
	d.out = append(d.out, nil)
	if message.Method == mcp.MethodPing {
		return []transport.Frame{answerTo(message.ID, stream, []byte(`"result":{}`))}
	}
	text := fmt.Sprintf("no recorded answer for the server's %s", phrase.Name(message.Method))
	d.extra(about(message), text, true)
	return []transport.Frame{answerTo(message.ID, stream, missBody(text))}
}

// arrive lets m stand for the server message, and skips the earlier recorded notifications.
func (d *Driver) arrive(s *message, m transport.Message, stream uint64) {
	d.half.arrive(s, m, stream)
	d.heard++
	if !s.afterEnd && !s.timedOut {
		d.missing--
	}
	s.came = d.heard
	if len(d.open) == 1 {
		s.alone = d.open[0]
	}
	if m.Kind() == transport.Response {
		d.open = slices.DeleteFunc(d.open, func(request *request) bool { return request == s.request })
	}
	kind := s.live.Kind()
	if kind == transport.Request {
		d.due = append(d.due, s.answers...)
	}
	upto := s.index
	if kind == transport.Notification && s.index >= d.horizon() {
		upto = d.settled // early, by a timer: no message is skipped
	}
	for _, before := range d.messages[min(d.settled, upto):upto] {
		before.skipped = before.skipped || before.msg().Kind() == transport.Notification || before.isStray()
	}
	d.settle()
}

// End says that the client has ended: no frame goes out any more.
func (d *Driver) End() { d.ended = true }

// send returns the client frame with the live server's values in it.
func (d *Driver) send(ownFrame *ownFrame) transport.Frame {
	frame := ownFrame.frame
	frame.Bytes = d.variables.Substitute(frame.Bytes)
	for _, e := range ownFrame.edits {
		if e.request.live == nil {
			continue
		}
		if value := e.of(*e.request.live); value != nil {
			frame.Bytes, _ = match.Splice(frame.Bytes, value, e.path...)
		}
	}
	ownFrame.sent = true
	d.out = append(d.out, ownFrame)
	if frame.Stream != 0 {
		d.streams[frame.Stream] = ownFrame
	}
	for _, r := range ownFrame.requests {
		if r.isAwaited() {
			d.open = append(d.open, r)
		}
	}
	return frame
}

// Said reports whether every frame was returned, apart from answers.
func (d *Driver) Said() bool {
	isLeft := func(frame *ownFrame) bool { return frame.question == nil && !frame.sent }
	return !slices.ContainsFunc(d.frames[d.next:], isLeft)
}

// IsDone reports whether the client has said everything and has heard every recorded answer.
// Other messages of the recorded server may still come.
func (d *Driver) IsDone() bool { return len(d.open) == 0 && d.Said() }

// IsHeard reports whether every message has come that was recorded before the client's end.
func (d *Driver) IsHeard() bool { return d.missing == 0 }

// Pending lists the calls without an answer from the live server, and the first of the
// client's frames held back, with the awaited message.
func (d *Driver) Pending() []string {
	var list []string
	for _, r := range d.open {
		list = append(list, fmt.Sprintf("the client waits for the answer to #%d %s (id %s)", r.frame.seq, about(r.msg()), phrase.Name(string(r.msg().ID))))
	}
	if d.reorders {
		return list
	}
	f := d.nextFrame()
	if f == nil {
		return list
	}
	for _, s := range d.messages[min(d.settled, f.before):f.before] {
		if s.isPending() {
			return append(list, fmt.Sprintf("#%d %s was not sent: it waits for %s, recorded as #%d", f.seq, f.what(), s.what(), s.seq))
		}
	}
	return append(list, fmt.Sprintf("#%d %s was not sent: it waits for its turn", f.seq, f.what()))
}

// Gap returns the recorded time between frame n, counted as for Wrote, and the frame before. Gap
// is 0 for an unrecorded frame.
func (d *Driver) Gap(n int) time.Duration {
	if f := d.out[n]; f != nil {
		return f.gap
	}
	return 0
}

// Waiting reports whether GiveUpWaiting would let the session go on: to a client frame, or to a
// place where the client hangs up.
func (d *Driver) Waiting() bool { return d.held() != nil || len(d.unheard()) > 0 }

// GiveUpWaiting lets the first client frame or hang-up held back wait no longer for messages
// that may never come, and returns the frames to send then. The wait for a response goes on,
// unless the request was cancelled.
func (d *Driver) GiveUpWaiting() []transport.Frame {
	if unheard := d.unheard(); len(unheard) > 0 {
		for _, s := range unheard {
			d.giveUpOn(s)
		}
		return d.release()
	}
	f := d.held()
	if f == nil {
		return nil
	}
	if f.question == nil && f.before <= d.settled { // as recorded, beside the calls in front of the queue
		for _, s := range f.queue {
			if s.isPending() {
				d.without = append(d.without, fmt.Sprintf("#%d (%s; #%d was sent beside that call, as recorded)", s.seq, s.what(), f.seq))
			}
		}
		f.queue = nil
		return d.release()
	}
	f.unheld = true
	from := d.settled
	if f.question != nil {
		from = f.question.index
	}
	for _, s := range d.messages[min(from, f.before):f.before] {
		switch {
		case !s.isPending():
		case f.question == nil:
			d.giveUpOn(s)
		default:
			d.noteWithout(s)
		}
	}
	d.settle()
	return d.release()
}

// giveUpOn lets the client wait for the message no more.
func (d *Driver) giveUpOn(message *message) {
	d.noteWithout(message)
	message.skipped = true
	message.timedOut = true
	if !message.afterEnd {
		d.missing--
	}
}

func (d *Driver) noteWithout(message *message) {
	d.without = append(d.without, fmt.Sprintf("#%d (%s)", message.seq, message.what()))
}

// HangUpForGood lets the driver hang up where the recorded client ended an exchange for good. Where
// the client came back to the stream the driver does nothing. Call it before Start, and
// [Driver.AfterHangUps] after a hang-up.
func (d *Driver) HangUpForGood() {
	d.hangsUp = true
	d.places = slices.DeleteFunc(slices.Clone(d.places), func(place hangUp) bool { return place.resumed })
}

// AfterHangUps returns the frames to send after the hang-ups that HangUps has returned.
func (d *Driver) AfterHangUps() []transport.Frame { return d.release() }

// HangUps returns the exchanges on which the client is to hang up now, when everything
// recorded before was said and heard. Each is returned once.
func (d *Driver) HangUps() (exchanges []uint64) {
	d.places = slices.DeleteFunc(d.places, func(place hangUp) bool {
		due := d.isReached(place) && !slices.ContainsFunc(place.on, (*message).mayCome)
		if due {
			exchanges = append(exchanges, place.exchange)
		}
		return due
	})
	return exchanges
}

// Unsent lists the notifications of the recorded server that have not come, as in #3 (notifications/progress).
// A cancellation depends on the time, and progress of a call that was not made, or was called off, need not come.
func (d *Driver) Unsent() (notices []string) {
	for _, s := range d.messages {
		call := s.owner
		isDue := call == nil || call.frame.sent && !call.cancelled
		if m := s.msg(); !s.arrived && isDue && m.Kind() == transport.Notification && m.Method != mcp.NotificationCancelled {
			notices = append(notices, fmt.Sprintf("#%d (%s)", s.seq, s.what()))
		}
	}
	return notices
}

// Placeholders lists the messages with placeholders of masked secrets, other than secrets
// given before by the recorded server. Without the values the live server gets the
// placeholders, and may answer otherwise than to the secrets.
func (d *Driver) Placeholders() (messages []string) {
	masks := d.masks()
	for _, f := range d.frames {
		if len(masks[f]) > 0 {
			messages = append(messages, fmt.Sprintf("#%d %s holds %s", f.seq, f.what(), strings.Join(masks[f], ", ")))
		}
	}
	return messages
}

// masks returns the placeholders of each frame that has some.
func (d *Driver) masks() map[*ownFrame][]string {
	found := map[*ownFrame][]string{}
	given := map[string]bool{}
	heard := 0
	for _, f := range d.frames {
		for ; heard < f.before; heard++ {
			for _, mask := range match.Masks(d.messages[heard].msg().Raw) {
				given[string(mask)] = true
			}
		}
		for _, mask := range match.Masks(f.frame.Bytes) {
			if !given[string(mask)] && !slices.Contains(found[f], string(mask)) {
				found[f] = append(found[f], string(mask))
			}
		}
	}
	return found
}

// judge returns the verdicts on the server messages, and on the client frames that were not
// sent. An answer not asked for, or called off, has no verdict.
func (d *Driver) judge() (list []judged) {
	masks := d.masks()
	for _, s := range d.messages {
		j := judged{seq: s.seq, StepVerdict: match.StepVerdict{Seq: s.seq, Dir: d.dir, What: s.what(), Result: match.Missing}}
		j.Call = s.about()
		if s.request != nil {
			j.Masked = masks[s.request.frame]
		}
		switch {
		case s.arrived:
			c := d.rulesFor(s).Compare(s.msg(), *s.live, d.variables)
			if s.msg().Kind() == transport.Request && (d.rules.By == match.ByMethod || d.rules.By == match.ByOrder) {
				c = c.AsMapped(d.rules.By.String())
			}
			order := s.misplaced()
			// A message with differences may stand for another; two HTTP streams have no
			// order.
			if o := s.overtaken; order == "" && c.Same() && o != nil && s.stream == o.stream {
				order = fmt.Sprintf("came after #%d, %s; recorded before it", o.seq, o.what())
			}
			if order != "" && d.rules.AnyOrder {
				c.Mapped = append(c.Mapped, match.Mapping{By: "order", Got: order})
				order = ""
			}
			j.compared(c, order)
			j.fault = s.request != nil && !c.Same()
		case s.request != nil && (!s.request.frame.sent || s.request.cancelled): // a cancelled request needs no answer
			continue
		case s.request != nil || s.isStray():
			j.fault = true
			j.Text = fmt.Sprintf("#%d, %s, did not come", s.seq, j.What)
		case s.msg().Kind() == transport.Request:
			j.fault = true
			j.Text = fmt.Sprintf("#%d %s was not asked", s.seq, j.What)
		default:
			j.Text = fmt.Sprintf("#%d %s did not come", s.seq, j.What)
		}
		list = append(list, j)
	}
	for _, f := range d.frames {
		if !f.sent && (f.question == nil || f.question.arrived) {
			text := fmt.Sprintf("#%d %s was still waiting for the server", f.seq, f.what())
			list = append(list, notSent(transport.ClientToServer, f.seq, f.what(), text))
		}
	}
	return list
}

// misplaced says on which side of the call's answer the live message came, if the recorded
// message was on the other side.
func (s *message) misplaced() string {
	r := s.owner
	if r == nil {
		r = s.follows
	}
	if s.came == 0 || r == nil || r.cancelled || r.response == nil || r.response.came == 0 {
		return ""
	}
	if s.exchange != r.response.exchange || s.stream != r.response.stream {
		return "" // two HTTP streams have no order
	}
	before, live := s.index < r.response.index, s.came < r.response.came
	if before == live || s.owner == nil && s.alone != r {
		return ""
	}
	how, was := "after", "before"
	if live {
		how, was = was, how
	}
	return fmt.Sprintf("came %s #%d, %s; recorded %s it", how, r.response.seq, r.response.what(), was)
}
