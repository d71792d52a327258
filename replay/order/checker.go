package order

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rule P9.
var (
	batches = newRule(Rule{"P9", "batches",
		`Batches came with 2025-03-26 and went with 2025-06-18. An end that knows none takes a batch for
broken JSON-RPC, and whoever sent it waits.`,
		`@
> [{"method":"notifications/roots/list_changed"}]`})
	noBatches  = newLaw(law{batches, "there are no batches", Error, pageBase, "Messages", mcp.Revision2025_06_18, newest})
	doubtBatch = newLaw(law{batches, "batches are not described", Warning, pageBase, "Messages", oldest, oldest})
	emptyBatch = newLaw(law{batches, "a batch is not empty", Error, pageBase, "Messages", oldest, newest})
)

// Mark is how many frames an end has received: a point of its own clock.
type Mark int

// Checker judges the frames of one session. Its zero value is not ready: see [New].
type Checker struct {
	violations
	ends          [2]end // by the direction that an end sends in
	handshake     handshake
	tasks         tasks
	subscriptions subscriptions
	logging       logMessages
}

// New returns a checker. The revision is the one that is known beforehand, such
// as a recording's; with "" the session is to name it, and the traffic before
// that is judged by the rules that all revisions share.
func New(revision string) *Checker { return &Checker{violations: violations{revision: revision}} }

// Revision returns the revision that is in force, or "".
func (c *Checker) Revision() string { return c.revision }

// Mark returns how much the end that sends in a direction has received. A caller that
// takes it when a Write begins judges the frame by its sender's knowledge at that time.
func (c *Checker) Mark(dir transport.Direction) Mark { return c.end(dir).clock }

// Requests returns the requests that went in a direction, in their order.
func (c *Checker) Requests(dir transport.Direction) []*Request { return c.end(dir).list }

// Send says that a frame has gone onto the wire. known is the sender's mark when it wrote
// the frame. Send returns the violations; the slice is good until the next call.
func (c *Checker) Send(dir transport.Direction, p Parsed, known Mark) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, p)
	for i := range p.read {
		c.judge(dir, &p.read[i], known, p.Batch)
		c.sent(dir, &p.read[i])
	}
	return c.found
}

// Would returns the violations of a frame if it were sent now. It changes nothing.
func (c *Checker) Would(dir transport.Direction, p Parsed) []Violation {
	found := c.found
	c.found = nil
	c.judgeBatch(dir, p)
	for i := range p.read {
		c.judge(dir, &p.read[i], c.Mark(dir), p.Batch)
	}
	would := c.found
	c.found = found
	return would
}

// Give says that the other end has received a frame that was sent.
func (c *Checker) Give(dir transport.Direction, p Parsed) {
	clock := &c.end(dir.Reverse()).clock
	*clock++
	for i := range p.read {
		c.received(dir, &p.read[i], *clock)
	}
}

// Withdraw says that a Write gave up before its frame went onto the wire: its
// sender may not know, and may cancel the request.
func (c *Checker) Withdraw(dir transport.Direction, p Parsed) {
	e := c.end(dir)
	for i := range p.read {
		if m := &p.read[i]; m.kind == transport.Request {
			if e.withdrawn == nil {
				e.withdrawn = map[mcp.Key]bool{}
			}
			e.withdrawn[m.id] = true
		}
	}
}

// Refuse says that HTTP turned away a frame of an end, as for a login, or that its exchange
// broke before any response. The frame was never taken, and its sender may send it again. A
// request is no longer open, unless a response follows; a request that the frame answered
// is open again. [Parsed.Keys] of the frame is enough.
func (c *Checker) Refuse(dir transport.Direction, p Parsed) {
	for i := range p.read {
		switch m := &p.read[i]; {
		case m.kind == transport.Request:
			c.end(dir).refuse(m)
		case m.kind == transport.Response:
			for req := range c.end(dir.Reverse()).withID(m.id) {
				if req.Answered && req.answerStream == m.stream {
					req.Answered = false
					req.failed = false
					req.asksInput = false
					req.answerReceived = 0
				}
			}
		case m.Method == mcp.NotificationInitialized:
			c.handshake.repeats = true
		case m.Method == mcp.NotificationCancelled:
			if req := c.end(dir).request(m.cancels); req != nil && req.cancelStream == m.stream {
				req.Cancelled = false
				req.cancelReceived = 0
			}
		case m.Method == mcp.NotificationProgress:
			if req := c.end(dir.Reverse()).withToken(m.token); req != nil && req.progressStream == m.stream {
				req.progress = req.progressBefore
			}
		}
	}
}

// Observe judges a frame as a tap between the two ends sees it pass, and says that
// it was sent and received. The sender may not have received all frames that the tap has
// seen. A violation that holds only if the sender had received them is a race that the tap
// cannot decide: it comes as a [Note] with Race set. A certain violation keeps its severity.
//
// A checker that observes keeps the latest few thousand answered requests, and only the
// hashed ids of the requests before them, so that a session may go on for ever. The slice
// is good until the next call.
func (c *Checker) Observe(dir transport.Direction, p Parsed) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, p)
	for i := range p.read {
		m := &p.read[i]
		before := len(c.found)
		c.learn(dir, m)
		c.judge(dir, m, c.Mark(dir), p.Batch)
		if found := c.found; len(found) > before {
			c.found = nil
			c.judge(dir, m, c.end(dir).certain, p.Batch)
			if len(c.found) == 0 {
				for j := before; j < len(found); j++ {
					found[j].Severity = Note
					found[j].Race = true
				}
			}
			c.found = found
		}
		c.sent(dir, m)
	}
	c.Give(dir, p)
	c.end(dir).forget(c.subscriptions.first, c.handshake.request)
	return c.found
}

func (c *Checker) end(dir transport.Direction) *end {
	return &c.ends[(dir-transport.ClientToServer)&1]
}

// judge applies each rule to a message. It changes nothing but the violations found.
func (c *Checker) judge(dir transport.Direction, m *message, known Mark, batch bool) {
	sender, receiver := c.end(dir), c.end(dir.Reverse())
	switch m.kind {
	case transport.Request:
		c.judgeRequest(dir, m, known)
		c.handshake.judge(&c.violations, dir, m, known, batch)
	case transport.Response:
		if req := c.judgeResponse(dir, m, known); req != nil {
			c.tasks.judgeResponse(&c.violations, dir, m, req)
		}
	case transport.Notification:
		c.handshake.judge(&c.violations, dir, m, known, batch)
		switch m.Method {
		case mcp.NotificationProgress:
			receiver.judgeProgress(&c.violations, dir, m, known)
		case mcp.NotificationCancelled:
			sender.judgeCancellation(&c.violations, receiver, dir, m, known)
		case mcp.NotificationMessage:
			c.logging.judge(&c.violations, dir, m, known)
		case mcp.NotificationTaskStatus:
			c.tasks.judgeStatus(&c.violations, dir, m, m.Params)
		default:
			if dir == transport.ServerToClient {
				c.subscriptions.judge(&c.violations, receiver, m, known)
			}
		}
	}
}

// judgeBatch is rule P9.
func (c *Checker) judgeBatch(dir transport.Direction, p Parsed) {
	switch {
	case !p.Batch:
	case len(p.Messages) == 0:
		c.add(emptyBatch, dir, "a batch of no messages")
	case c.revision >= mcp.Revision2025_06_18:
		c.add(noBatches, dir, "a batch of %s", phrase.Plural(len(p.Messages), "message"))
	case c.revision == mcp.Revision2024_11_05:
		c.add(doubtBatch, dir, "a batch of %s", phrase.Plural(len(p.Messages), "message"))
	}
}

// sent keeps the effects of a message on the wire.
func (c *Checker) sent(dir transport.Direction, m *message) {
	switch m.kind {
	case transport.Request:
		c.sentRequest(dir, m)
	case transport.Response:
		c.sentResponse(dir, m)
	case transport.Notification:
		switch m.Method {
		case mcp.NotificationProgress:
			if req := c.end(dir.Reverse()).withToken(m.token); req != nil {
				req.progressBefore = req.progress
				req.progressStream = m.stream
				req.progress = bytes.Clone(transport.Member(m.Params, "progress"))
			}
		case mcp.NotificationCancelled:
			if req := c.end(dir).request(m.cancels); req != nil && !req.Cancelled {
				req.Cancelled = true
				req.cancelStream = m.stream
			}
		case mcp.NotificationInitialized:
			c.handshake.initialized = true
			c.handshake.repeats = false
		case mcp.NotificationAcknowledged:
			if req := c.end(transport.ClientToServer).subscription(m); req != nil {
				req.acknowledged = true
			}
		case mcp.NotificationTaskStatus:
			c.tasks.keepStatus(dir, m.Params)
		}
	}
}

func (c *Checker) sentRequest(dir transport.Direction, m *message) {
	if dir == transport.ClientToServer {
		c.settleByRequest(m)
	}
	req := &Request{
		Dir: dir, ID: bytes.Clone(m.ID), Method: m.Method, stream: m.stream, id: m.id, token: m.token, session: c.handshake.count,
		task: c.hasTasks() && bytes.Contains(m.Params, []byte(`"task"`)) && transport.Member(m.Params, "task") != nil,
	}
	sender := c.end(dir)
	if before := sender.request(m.id); before != nil && !before.Answered {
		req.before = before
	}
	sender.keep(req)
	c.handshake.sentRequest(req, c.stateless())
	if dir == transport.ClientToServer {
		c.subscriptions.sentRequest(req, m)
	}
	if c.stateless() && transport.Member(m.Params, mcp.MemberMeta, mcp.MetaLogLevel) != nil {
		c.logging.open = append(c.logging.open, req)
		req.logIndex = len(c.logging.open)
	}
	if c.hasTasks() {
		c.tasks.sentRequest(req, m)
	}
}

func (c *Checker) sentResponse(dir transport.Direction, m *message) {
	req := c.end(dir.Reverse()).answeredBy(m)
	if req == nil || req.Answered {
		return
	}
	req.Answered = true
	req.refused = false
	req.failed = m.Result == nil
	req.answerStream = m.stream
	req.asksInput = c.stateless() && text(transport.Member(m.Result, mcp.MemberResultType)) == "input_required"
	switch { // the revision that both agree on
	case req.Dir != transport.ClientToServer || req.failed:
	case req.Method == mcp.MethodInitialize:
		if v := text(transport.Member(m.Result, mcp.MemberProtocolVersion)); v != "" {
			c.revision = v
		}
	case req.Method == mcp.MethodDiscover && c.handshake.request == nil:
		c.revision = max(c.revision, mcp.Revision2026_07_28)
	}
	c.logging.answered(req)
	c.tasks.sentResponse(dir, m, req)
}

// settleByRequest finds the revision that a client's request names. One that only asks
// for the server's revisions settles nothing before the answer.
func (c *Checker) settleByRequest(m *message) {
	switch v := m.version; {
	case m.Method == mcp.MethodInitialize:
		c.revision = lastHandshake
		if named := text(transport.Member(m.Params, mcp.MemberProtocolVersion)); named < mcp.Revision2026_07_28 {
			c.revision = named
		}
	case v >= mcp.Revision2026_07_28 && m.Method != mcp.MethodDiscover:
		c.revision = v
	}
}

// received keeps when an end received a message, on its own clock.
func (c *Checker) received(dir transport.Direction, m *message, at Mark) {
	switch {
	case m.kind == transport.Request:
		if req := c.end(dir).request(m.id); req != nil && req.received == 0 {
			req.received = at
		}
	case m.kind == transport.Response:
		if req := c.end(dir.Reverse()).awaits(m); req != nil {
			req.answerReceived = at
		}
	case m.kind != transport.Notification:
	case m.Method == mcp.NotificationCancelled:
		if req := c.end(dir).request(m.cancels); req != nil && req.cancelReceived == 0 {
			req.cancelReceived = at
		}
	case m.Method == mcp.NotificationInitialized && c.handshake.initializedReceived == 0:
		c.handshake.initializedReceived = at
	}
}

// learn notes which request a message's sender must have received to send it.
func (c *Checker) learn(dir transport.Direction, m *message) {
	var req *Request
	switch {
	case m.kind == transport.Response:
		req = c.end(dir.Reverse()).answeredBy(m)
	case m.Method == mcp.NotificationProgress:
		req = c.end(dir.Reverse()).withToken(m.token)
	case m.Method == mcp.NotificationInitialized && dir == transport.ClientToServer:
		if initialize := c.handshake.request; initialize != nil {
			c.end(dir).certain = max(c.end(dir).certain, initialize.answerReceived)
		}
	case dir == transport.ServerToClient && c.stateless():
		req = c.end(transport.ClientToServer).subscription(m)
	}
	if req != nil && req.Dir != dir {
		c.end(dir).certain = max(c.end(dir).certain, req.received)
	}
}

// Parsed is a frame as a checker reads it. [Parse] makes it once for all its users; it is
// never changed. Messages is nil for a frame that is not JSON.
type Parsed struct {
	Messages []transport.Message
	Batch    bool
	read     []message
}

// message is a message with the members that several rules read.
type message struct {
	transport.Message
	kind          transport.MessageKind
	stream        uint64 // the HTTP exchange; 0 on a pipe
	id            mcp.Key
	progressToken json.RawMessage
	token         mcp.Key         // of progressToken
	cancelled     json.RawMessage // the id of the request that it cancels
	cancels       mcp.Key         // of cancelled
	version       string          // the revision that a request of a stateless session names
}

// Parse reads a frame.
func Parse(f transport.Frame) Parsed {
	messages, err := f.Messages()
	if err != nil {
		return Parsed{}
	}
	p := Parsed{Messages: messages, Batch: bytes.TrimLeft(f.Bytes, " \t\r\n")[0] == '['}
	p.read = make([]message, len(messages))
	for i, m := range messages {
		r := message{Message: m, kind: m.Kind(), stream: f.Stream, id: mcp.KeyOf(m.ID)}
		if r.kind == transport.Request || r.kind == transport.Notification {
			r.progressToken = m.ProgressToken()
			r.token = mcp.KeyOf(r.progressToken)
			if m.Method == mcp.NotificationCancelled {
				r.cancelled = transport.Member(m.Params, mcp.MemberRequestID)
				r.cancels = mcp.KeyOf(r.cancelled)
			}
			if bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
				r.version = text(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
			}
		}
		p.read[i] = r
	}
	return p
}

// Keys returns the part of a frame that [Checker.Refuse] reads; it shares no bytes with it.
func (p Parsed) Keys() Parsed {
	keys := Parsed{read: make([]message, len(p.read))}
	for i, m := range p.read {
		keys.read[i] = message{
			Message: transport.Message{Method: strings.Clone(m.Method)},
			kind:    m.kind, stream: m.stream, id: m.id, token: m.token, cancels: m.cancels,
		}
	}
	return keys
}

// text returns the text of a JSON string, "" of any other value.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
