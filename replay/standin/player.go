package standin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Player plays the server's half of a recording to a live client. A Player is a pure machine:
// frames in, frames out; no I/O, no clock, no goroutine. It is not safe for concurrent use.
//
// The recording is a list of client messages, to be waited for, and of server frames, to be
// sent. A live request stands for the first remaining client message of the same Key. A server
// frame goes out when everything before the frame has happened, in recorded order among the
// frames free to go:
//
//   - a frame of a request (the response, progress, a frame said while no other request was
//     open) waits for the request, for the client messages recorded between the two, and for
//     earlier requests under way at the time;
//   - any other server frame waits for every earlier client message.
//
// The player does not wait for a client message that will not come, because the live client
// has already said a later message. Where the player cannot know (the recorded client had
// several calls open, the live client has only one at a time) the player waits, and
// GiveUpWaiting ends the wait.
//
// Ids and progress tokens of the live client replace the recorded values, in responses,
// progress and subscription ids. The server's own requests keep the recorded ids; the player
// waits for the client's answers and compares the contents. A value made up by the live client
// (the id of a client's task) replaces the recorded value. A recorded batch goes out as a
// batch when every request in the batch has come; a live batch is taken message by message.
//
// A request without a recorded answer gets an error with the name of the nearest recorded
// request. There are two exceptions: a ping is answered, and so is server/discover, because a
// client may have probed in a separate session. A client of an unrecorded revision gets the
// protocol's own error.
//
// The player does not wait for noise (a stray log line, a blank line), from either end. The
// server's own noise goes out in place, except for blank lines; noise recorded over several
// lines (HTTP) goes out on one.
type Player struct {
	half
	revisions revisions
	requests  map[match.Key][]*message // of the client, each queue in recorded order
	failures  map[match.Key]failedCall // requests without a playable answer
	masked    map[string][]*message    // requests with a masked secret, by method
	inOrder   []*message               // of match.ByOrder: the requests left
	others    map[string][]*message    // notifications by method; stray answers and noise by key
	asked     map[mcp.Key][]*request   // requests of the recorded server that went out, by id: see Driver.answered
	streams   map[uint64]uint64        // recorded exchanges, by live exchange
	open      []*message               // live requests with a recorded answer still to be sent
	held      []*ownFrame              // not sent; every earlier client message is below reach
	cued      int                      // every earlier frame was sent or is held
	reach     int                      // every client message from here on is pending
	handshake *message                 // of a reordering player: the request of the handshake, or nil
}

// NewPlayer returns a Player of the server's half of a session.
func NewPlayer(events []store.Event, rules match.Rules) *Player {
	return newPlayer(loadPlayerScript(events, rules, false), rules)
}

// NewStreamPlayer returns a Player that plays over one stream, such as stdio, whatever the
// recorded transport. A request refused over HTTP, without another answer, gets an error with
// this reason.
func NewStreamPlayer(events []store.Event, rules match.Rules) *Player {
	return newPlayer(loadPlayerScript(events, rules, true), rules)
}

func newPlayer(script *script, rules match.Rules) *Player {
	p := &Player{
		half:      newHalf(script, transport.ClientToServer, rules),
		revisions: revisionsOf(script),
		requests:  map[match.Key][]*message{},
		failures:  map[match.Key]failedCall{},
		masked:    map[string][]*message{},
		others:    map[string][]*message{},
		asked:     map[mcp.Key][]*request{},
		streams:   map[uint64]uint64{},
	}
	p.role = p
	for _, f := range script.failed {
		p.failures[f.key] = f
	}
	for _, c := range script.messages {
		m := c.msg()
		switch m.Kind() {
		case transport.Request:
			if bytes.Contains(m.Params, []byte("[redacted:")) {
				p.masked[m.Method] = append(p.masked[m.Method], c)
			}
			if rules.By == match.ByOrder && !match.MatchedByMethod(m.Method) {
				p.inOrder = append(p.inOrder, c)
			}
			if key, err := rules.Key(m); err == nil {
				p.requests[key] = append(p.requests[key], c)
				c.nth = len(p.requests[key])
			}
		case transport.Notification:
			p.others[m.Method] = append(p.others[m.Method], c)
		case transport.Invalid:
			p.others[noiseMethod] = append(p.others[noiseMethod], c)
		case transport.Response:
			if c.request == nil {
				p.others[strayKey(m)] = append(p.others[strayKey(m)], c)
			}
		}
	}
	return p
}

// Receive takes a frame of the live client and returns the frames to send now.
func (p *Player) Receive(frame transport.Frame) []transport.Frame {
	var out []transport.Frame
	messages := p.rules.Messages(frame)
	if isNoise(frame.Bytes, messages) {
		if noise := firstLeft(p.others[noiseMethod], (*message).isPending); noise != nil {
			p.arrive(noise, transport.Message{}, frame.Stream)
		} else {
			p.addNoise(frame)
		}
	}
	for _, m := range messages {
		switch m.Kind() {
		case transport.Request:
			out = append(out, p.request(m, frame.Stream)...)
		case transport.Response:
			p.response(m, frame.Stream)
		case transport.Notification:
			c := p.notification(m)
			if c == nil {
				p.extra(about(m), fmt.Sprintf("the client's %s was not recorded", about(m)), false)
				continue
			}
			late := c.skipped
			p.arrive(c, m, frame.Stream)
			if !late {
				p.withdraw(c)
			}
		}
	}
	return append(out, p.release()...)
}

// request takes a live request and returns the answer to an unrecorded request.
func (p *Player) request(message transport.Message, stream uint64) []transport.Frame {
	c, key, err := p.find(message)
	p.otherIDs = p.otherIDs || c == nil || !mcp.Same(c.msg().ID, message.ID)
	if c != nil {
		p.arrive(c, message, stream)
		return nil
	}
	var body []byte
	var revision *revisionError
	failed, hasFailed := p.failures[key]
	hasFailed = hasFailed && err == nil && len(p.requests[key]) == 0
	switch {
	case hasFailed && stream != 0: // the HTTP exchange fails as recorded
		p.streams[stream] = failed.exchange.number
		return nil
	case hasFailed && failed.exchange.namesRequest():
		p.out = append(p.out, nil)
		return []transport.Frame{{Bytes: failed.exchange.saidTo(message.Raw), Stream: stream}}
	case hasFailed:
		body = missBody(failed.why())
	case errors.As(err, &revision):
		p.extra(about(message), err.Error(), true)
		body = revision.body()
	case message.Method == mcp.MethodPing:
		body = []byte(`"result":{}`)
	case message.Method == mcp.MethodDiscover:
		body = p.discover()
	default:
		miss := p.miss(message, key, err)
		p.addExtra(miss, true)
		body = missBody(miss.Text)
	}
	p.out = append(p.out, nil)
	return []transport.Frame{answerTo(message.ID, stream, body)}
}

// Knows reports whether Receive would answer the live request otherwise than with the error of
// an unrecorded request.
func (p *Player) Knows(message transport.Message) bool {
	c, _, _ := p.find(message)
	return c != nil || message.Method == mcp.MethodPing || message.Method == mcp.MethodDiscover
}

// response takes a live answer to a request of the server. Of several requests with the id the
// first counts, as in every index of requests.
func (p *Player) response(m transport.Message, stream uint64) {
	queue := p.asked[mcp.KeyOf(m.ID)]
	if i := slices.IndexFunc(queue, func(request *request) bool { return !request.done }); i >= 0 {
		queue[i].done = true
		if queue[i].response != nil {
			p.arrive(queue[i].response, m, stream)
		}
		return
	}
	if c := firstLeft(p.others[strayKey(m)], nil); c != nil {
		p.arrive(c, m, stream)
		return
	}
	p.extra("an answer", fmt.Sprintf("an answer with id %s, which no request of the server has", phrase.Name(string(m.ID))), true)
}

// arrive lets m stand for the client message, and skips the messages ruled out.
func (p *Player) arrive(c *message, m transport.Message, stream uint64) {
	p.half.arrive(c, m, stream)
	if stream != 0 && c.exchange != 0 {
		p.streams[stream] = c.exchange
	}
	if c.answer != nil {
		p.open = append(p.open, c)
	}
	for _, before := range p.messages[min(p.settled, c.index):c.index] {
		isOver := true
		switch before.msg().Kind() {
		case transport.Request:
			// With the answer still open when c was said, the two were under way together and
			// may come in any order.
			isOver = before.answer == nil || before.answer.before <= c.index
		case transport.Response:
			// The question was not asked, because its request is not coming.
			isGone := func(owner *message) bool { return owner.skipped && !owner.arrived }
			isOver = before.request == nil || !before.request.frame.sent && slices.ContainsFunc(before.request.frame.owners, isGone)
		}
		before.skipped = before.skipped || isOver
	}
	p.reach = max(p.reach, c.index+1)
	p.settle()
}

// send returns the server frame with the live client's ids and tokens in it. Progress not
// asked for by the live client is left out.
func (p *Player) send(f *ownFrame) []transport.Frame {
	f.sent = true
	frame := f.frame
	frame.Bytes = p.variables.Substitute(frame.Bytes)
	frame.Stream = 0
	if len(f.owners) > 0 && !f.unasked {
		frame.Stream = f.owners[0].stream
	}
	for _, e := range f.edits {
		value := e.of(*e.request.live)
		if value == nil {
			text := fmt.Sprintf("#%d: %s gave no progress token", f.seq, phrase.Name(e.request.msg().Method))
			p.findings = append(p.findings, notSent(transport.ServerToClient, f.seq, about(timeline.MessagesOf(f.frame)[0]), text))
			f.written = true // no frame waits for this
			return nil
		}
		if !bytes.Equal(value, e.of(e.request.msg())) {
			frame.Bytes, _ = match.Splice(frame.Bytes, value, e.path...)
		}
	}
	for _, q := range f.requests {
		id := mcp.KeyOf(q.msg().ID)
		p.asked[id] = append(p.asked[id], q)
	}
	p.out = append(p.out, f)
	return []transport.Frame{frame}
}

// GiveUpWaiting lets the first answer that waits for more from the client wait no longer, and
// returns the frames to send then. A shell calls GiveUpWaiting when the client has fallen
// silent. The wait goes on for the client's own answer to a question, if a person or a model
// decides.
func (p *Player) GiveUpWaiting() []transport.Frame {
	f := p.waiting(false)
	if f == nil {
		return nil
	}
	for _, c := range p.awaited(f) {
		if c.isPending() {
			c.timedOut = true
			p.without = append(p.without, fmt.Sprintf("#%d (%s)", c.seq, c.what()))
		}
	}
	p.giveUp(f)
	return p.release()
}

// Waiting reports whether the recorded answer to a request of the live client is held back,
// and GiveUpWaiting would send a frame.
func (p *Player) Waiting() bool { return p.waiting(false) != nil }

// End returns the frames held back for requests that have come: the client says no more.
func (p *Player) End() []transport.Frame {
	var out []transport.Frame
	for f := p.waiting(true); f != nil; f = p.waiting(true) {
		p.giveUp(f)
		out = append(out, p.release()...)
	}
	return out
}

// Gap returns the recorded time between frame n, counted as for Wrote, and the latest of its
// causes: the messages of the live client and the sent frames that were recorded before it.
// Gap is to be called when the frame is returned. It is 0 for an unrecorded frame.
func (p *Player) Gap(n int) time.Duration {
	if f := p.out[n]; f != nil {
		return p.gapBefore(f)
	}
	return 0
}

// gapBefore returns the time between a frame and the latest of the earlier messages and frames
// that have come or were sent.
func (p *Player) gapBefore(frame *ownFrame) time.Duration {
	last := p.lastHeard(frame)
	for _, other := range slices.Backward(p.frames[:frame.index]) {
		if other.sent {
			last = max(last, other.at)
			break
		}
	}
	return frame.at - last
}

// lastHeard returns the recorded time of the last message before a frame that has come.
func (p *Player) lastHeard(frame *ownFrame) time.Duration {
	for _, c := range slices.Backward(p.messages[:frame.before]) {
		if c.arrived {
			return c.at
		}
	}
	return 0
}

// apart is Gap for [Apart]: the time between a response and the first of the notifications
// directly before, without any other frame or message between; 0 for other frames.
func (p *Player) apart(n int) (gap time.Duration) {
	f := p.out[n]
	if f == nil || !f.answers() {
		return 0
	}
	since := p.lastHeard(f)
	for _, other := range slices.Backward(p.frames[:f.index]) {
		if !other.sent {
			continue
		}
		if other.answers() || len(other.requests) > 0 || other.at < since {
			break
		}
		gap = f.at - other.at
	}
	return gap
}

// Overtaken reports whether frame n, counted as for Wrote, belongs to no request and the live
// client has said already a message recorded after it: the recorded moment of the frame is
// over.
func (p *Player) Overtaken(n int) bool {
	f := p.out[n]
	return f != nil && len(f.owners) == 0 && f.before < p.reach
}

// judge returns the verdicts on the client messages, and on the answers that were not sent.
// Missing noise and an answer not asked for have no verdict.
func (p *Player) judge() (list []judged) {
	for _, c := range p.messages {
		j := judged{seq: c.seq, StepVerdict: match.StepVerdict{Seq: c.seq, Dir: p.dir, What: c.what(), Result: match.Missing}}
		switch {
		case c.arrived:
			j.compared(p.compare(c), "")
			if c.msg().Method == mcp.MethodInitialize && c.answer != nil {
				was, _ := transport.Text(transport.Member(c.msg().Params, mcp.MemberProtocolVersion))
				is, _ := transport.Text(transport.Member(c.live.Params, mcp.MemberProtocolVersion))
				if was != is {
					j.Text = fmt.Sprintf("#%d, %s: the client speaks %s, the recorded one %s; it got the recorded answer", c.seq, j.What,
						cmp.Or(phrase.Name(is), "no revision"), cmp.Or(phrase.Name(was), "no revision"))
				}
			}
		case c.msg().Kind() == transport.Request:
			j.fault = true
			j.Text = fmt.Sprintf("#%d %s was not asked", c.seq, j.What)
		case c.request != nil:
			if !c.request.frame.sent || c.request.done {
				continue
			}
			j.fault = c.timedOut
			j.Text = fmt.Sprintf("#%d, %s, was not given", c.seq, j.What)
		case c.msg().Kind() != transport.Notification:
			continue
		default:
			j.Text = fmt.Sprintf("#%d %s did not come", c.seq, j.What)
		}
		list = append(list, j)
		if c.arrived && c.answer != nil && !c.answer.sent {
			what := "the answer to " + about(c.msg())
			text := fmt.Sprintf("#%d, %s, was still waiting for the client", c.answer.seq, what)
			list = append(list, notSent(transport.ServerToClient, c.answer.seq, what, text))
		}
	}
	return list
}

// compare compares a client message with the live message.
func (p *Player) compare(c *message) match.Comparison {
	rules := p.rulesFor(c)
	result := rules.Compare(c.msg(), *c.live, p.variables)
	was := c.msg().ProgressToken()
	is := c.live.ProgressToken()
	if c.msg().Method == mcp.NotificationProgress && !mcp.Same(was, is) && !rules.Ignores([]string{"params", mcp.MemberProgressToken}) {
		result.Differences = append(result.Differences, match.Difference{
			Path: "/params/progressToken", Want: phrase.Name(string(was)), Got: cmp.Or(phrase.Name(string(is)), "nothing"),
		})
	}
	switch {
	case c.msg().Kind() != transport.Request || match.MatchedByMethod(c.msg().Method):
		return result
	case rules.Match != nil:
		return result.AsMapped("matcher")
	case rules.By == match.ByMethod || rules.By == match.ByOrder:
		return result.AsMapped(rules.By.String())
	}
	return result
}
