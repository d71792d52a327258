package order

import (
	"bytes"
	"cmp"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rule P9.
var (
	noBatches        = newLaw(law{"P9", "there are no batches", Error, pageBase, "Messages", mcp.NoBatches})
	unspecifiedBatch = newLaw(law{"P9", "batches are not described", Warning, pageBase, "Messages", mcp.BatchesUnspecified})
	emptyBatch       = newLaw(law{"P9", "a batch is not empty", Error, pageBase, "Messages", mcp.Always})
)

// Checker judges the frames of a session. [New] makes it.
type Checker struct {
	violations
	protocol      transport.Protocol // of the session; P4 is for MCP alone
	ends          [2]end             // by the direction of sending
	handshake     handshake
	tasks         tasks
	subscriptions subscriptions
	logging       logMessages
}

// New returns a checker. The revision is known beforehand, as a recording's, or "": then
// the session names the revision, and earlier frames are judged by the rules common to every
// revision.
func New(revision string) *Checker { return &Checker{violations: violations{revision: revision}} }

// Revision returns the revision in force, or "".
func (c *Checker) Revision() string { return c.revision }

// Mark returns the clock of the end with this direction of sending. A mark taken when a Write
// begins stands for the sender's knowledge at the time.
func (c *Checker) Mark(dir transport.Direction) Mark { return c.end(dir).clock }

// Requests returns the requests of a direction, in order.
func (c *Checker) Requests(dir transport.Direction) []*Request { return c.end(dir).list }

// Send puts a frame onto the wire. known is the sender's mark at the beginning of the Write.
// Send returns the violations; the slice is good until the next call.
func (c *Checker) Send(dir transport.Direction, parsed Parsed, known Mark) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, parsed)
	for i := range parsed.read {
		c.judge(dir, &parsed.read[i], known, parsed.Batch)
		c.sent(dir, &parsed.read[i])
	}
	return c.found
}

// Would returns the violations of sending a frame now. It changes nothing.
func (c *Checker) Would(dir transport.Direction, parsed Parsed) []Violation {
	found := c.found
	c.found = nil
	c.judgeBatch(dir, parsed)
	for i := range parsed.read {
		c.judge(dir, &parsed.read[i], c.Mark(dir), parsed.Batch)
	}
	would := c.found
	c.found = found
	return would
}

// Give notes the receipt of a frame by the other end.
func (c *Checker) Give(dir transport.Direction, parsed Parsed) {
	clock := &c.end(dir.Reverse()).clock
	*clock++
	for i := range parsed.read {
		c.received(dir, &parsed.read[i], *clock)
	}
}

// Withdraw notes a Write that gave up before the frame went onto the wire: the sender may not
// know, and may cancel the request.
func (c *Checker) Withdraw(dir transport.Direction, parsed Parsed) {
	e := c.end(dir)
	for i := range parsed.read {
		if m := &parsed.read[i]; m.kind == transport.Request {
			if e.withdrawn == nil {
				e.withdrawn = map[mcp.Key]bool{}
			}
			e.withdrawn[m.id] = true
		}
	}
}

// Refuse notes a frame turned away by HTTP, as for a login, or lost with an exchange that
// broke before any response. The frame was never taken, and the sender may send it again. A
// request is no longer open, unless a response follows; a request answered by the frame is
// open again. [Parsed.Keys] of the frame is enough.
func (c *Checker) Refuse(dir transport.Direction, parsed Parsed) {
	for i := range parsed.read {
		switch m := &parsed.read[i]; {
		case m.kind == transport.Request:
			for req := range c.end(dir).withID(m.id) {
				if req.stream != m.stream {
					continue
				}
				if !req.Answered {
					req.refused = true
					for req.before != nil && req.before.refused { // a request sent for ever takes little memory
						req.before = req.before.before
					}
				}
				break
			}
		case m.kind == transport.Response:
			for req := range c.end(dir.Reverse()).withID(m.id) {
				if req.Answered && req.answerStream == m.stream {
					req.Answered = false
					req.failed = false
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
			if req := c.end(dir.Reverse()).reportedOn(m); req != nil && req.progressStream == m.stream {
				req.progress = req.progressBefore
			}
		}
	}
}

// Observe judges a frame that passes a tap between the two ends, and notes sending and
// receipt. The tap has seen frames which the sender may not have received yet. If a violation
// depends on these, the tap cannot decide the race: Observe returns a [Note] with Race set. A
// certain violation keeps the severity.
//
// An observing checker keeps the latest few thousand answered requests, and only the hashed
// ids of earlier requests: a session may go on for ever. The slice is good until the next
// call.
func (c *Checker) Observe(dir transport.Direction, parsed Parsed) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, parsed)
	for i := range parsed.read {
		m := &parsed.read[i]
		before := len(c.found)
		c.learn(dir, m)
		c.judge(dir, m, c.Mark(dir), parsed.Batch)
		if found := c.found; len(found) > before {
			c.found = nil
			c.judge(dir, m, c.end(dir).certain, parsed.Batch)
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
	c.Give(dir, parsed)
	c.end(dir).forget(c.subscriptions.first, c.handshake.request)
	return c.found
}

func (c *Checker) end(dir transport.Direction) *end {
	return &c.ends[(dir-transport.ClientToServer)&1]
}

// judge applies each rule to a message. It changes only the violations found.
func (c *Checker) judge(dir transport.Direction, message *message, known Mark, batch bool) {
	sender := c.end(dir)
	receiver := c.end(dir.Reverse())
	switch message.kind {
	case transport.Request:
		c.judgeRequest(dir, message, known)
		c.judgeHandshake(dir, message, known, batch)
	case transport.Response:
		if req := c.judgeResponse(dir, message, known); req != nil {
			c.tasks.judgeResponse(&c.violations, dir, message, req)
		}
	case transport.Notification:
		c.judgeHandshake(dir, message, known, batch)
		switch message.Method {
		case mcp.NotificationProgress:
			receiver.judgeProgress(&c.violations, dir, message, known)
		case mcp.NotificationCancelled:
			sender.judgeCancellation(&c.violations, receiver, dir, message, known)
		case mcp.NotificationMessage:
			c.logging.judge(&c.violations, dir, message, known)
		case mcp.NotificationTaskStatus, mcp.NotificationTasks:
			c.tasks.judgeStatus(&c.violations, dir, message, message.Params)
		default:
			if dir == transport.ServerToClient {
				c.subscriptions.judge(&c.violations, receiver, message, known)
			}
		}
	}
}

// judgeHandshake is rule P4. Other protocols of JSON-RPC have an initialize with rules of its own.
func (c *Checker) judgeHandshake(dir transport.Direction, message *message, known Mark, batch bool) {
	protocol := c.protocol
	if protocol == "" {
		protocol = transport.ProtocolOf(message.Message)
	}
	if !protocol.IsForeign() {
		c.handshake.judge(&c.violations, dir, message, known, batch)
	}
}

// judgeBatch is rule P9.
func (c *Checker) judgeBatch(dir transport.Direction, parsed Parsed) {
	switch {
	case !parsed.Batch:
	case len(parsed.read) == 0:
		c.add(emptyBatch, dir, "a batch of no messages")
	case mcp.NoBatches.Has(c.revision):
		c.add(noBatches, dir, "a batch of %s", phrase.Plural(len(parsed.read), "message"))
	case mcp.BatchesUnspecified.Has(c.revision):
		c.add(unspecifiedBatch, dir, "a batch of %s", phrase.Plural(len(parsed.read), "message"))
	}
}

// sent keeps the effects of a message on the wire.
func (c *Checker) sent(dir transport.Direction, message *message) {
	switch message.kind {
	case transport.Request:
		c.sentRequest(dir, message)
	case transport.Response:
		c.sentResponse(dir, message)
	case transport.Notification:
		switch message.Method {
		case mcp.NotificationProgress:
			if req := c.end(dir.Reverse()).reportedOn(message); req != nil {
				req.progressBefore = req.progress
				req.progressStream = message.stream
				req.progress = bytes.Clone(transport.Member(message.Params, "progress"))
			}
		case mcp.NotificationCancelled:
			if req := c.end(dir).request(message.cancels); req != nil && !req.Cancelled {
				req.Cancelled = true
				req.cancelStream = message.stream
			}
		case mcp.NotificationInitialized:
			c.handshake.initialized = true
			c.handshake.repeats = false
		case mcp.NotificationAcknowledged:
			if req := c.end(transport.ClientToServer).subscription(message); req != nil {
				req.acknowledged = true
			}
		case mcp.NotificationTaskStatus, mcp.NotificationTasks:
			c.tasks.keepStatus(dir, message.Params)
		}
	}
}

func (c *Checker) sentRequest(dir transport.Direction, m *message) {
	fromClient := dir == transport.ClientToServer
	if c.protocol == "" {
		c.protocol = transport.ProtocolOf(m.Message)
	}
	switch { // the revision; server/discover settles no revision before the answer
	case !fromClient:
	case m.Method == mcp.MethodInitialize:
		c.revision = mcp.Handshake.Last
		if named := transport.MemberText(m.Params, mcp.MemberProtocolVersion); !mcp.Stateless.Has(named) {
			c.revision = named
		}
	case mcp.Stateless.Has(m.version) && m.Method != mcp.MethodDiscover:
		c.revision = m.version
	}
	req := &Request{
		Dir: dir, ID: bytes.Clone(m.ID), Method: m.Method, stream: m.stream, id: m.id, token: m.token, session: c.handshake.count,
		task:          c.hasTasks() && bytes.Contains(m.Params, []byte(`"task"`)) && transport.Member(m.Params, "task") != nil,
		declaresTasks: declaresTasks(m),
	}
	sender := c.end(dir)
	if before := sender.request(m.id); before != nil && !before.Answered {
		req.before = before
	}
	sender.linkTokens(req)
	sender.keep(req)
	switch h := &c.handshake; {
	case !fromClient || m.Method == mcp.MethodPing:
	case m.Method == mcp.MethodInitialize:
		*h = handshake{count: h.count + 1, request: req, early: h.early}
		req.session = h.count
	case h.request == nil && h.early == "" && !c.stateless() && m.Method != mcp.MethodDiscover:
		h.early = req.String()
	}
	switch {
	case !fromClient:
	case m.Method == mcp.MethodListen:
		req.filter = parseListenFilter(transport.Member(m.Params, "notifications"))
	case m.Method == mcp.MethodSubscribe:
		if c.subscriptions.first == nil {
			c.subscriptions.first = req
		}
		c.subscriptions.uris.add(transport.MemberText(m.Params, "uri"))
	}
	if c.stateless() && transport.Member(m.Params, mcp.MemberMeta, mcp.MetaLogLevel) != nil {
		c.logging.open = append(c.logging.open, req)
		req.logIndex = len(c.logging.open)
	}
	if c.hasTasks() && (m.Method == mcp.MethodTaskResult || answeredWithStatus(req)) {
		req.about = keyOfTask(dir.Reverse(), m.Params)
		if c.tasks.status[req.about] == "" {
			c.tasks.askedSoon.add(req.about)
		}
	}
}

func (c *Checker) sentResponse(dir transport.Direction, message *message) {
	req := c.end(dir.Reverse()).answeredBy(message)
	if req == nil || req.Answered {
		return
	}
	req.Answered = true
	req.refused = false
	req.failed = message.Result == nil
	req.answerStream = message.stream
	req.asksInput = transport.MemberText(message.Result, mcp.MemberResultType) == mcp.InputRequired
	switch { // the agreed revision
	case req.Dir != transport.ClientToServer || req.failed:
	case req.Method == mcp.MethodInitialize:
		if v := transport.MemberText(message.Result, mcp.MemberProtocolVersion); v != "" {
			c.revision = v
		}
	case req.Method == mcp.MethodDiscover && c.handshake.request == nil:
		c.revision = max(c.revision, mcp.Stateless.First)
	}
	c.logging.answered(req)
	c.tasks.sentResponse(dir, message, req)
}

// received keeps when an end received a message, on the end's clock.
func (c *Checker) received(dir transport.Direction, m *message, at Mark) {
	switch {
	case m.kind == transport.Request:
		var first, elsewhere *Request // a stream that is resumed brings a request by another exchange
		for req := range c.end(dir).withID(m.id) {
			switch {
			case req.received != 0 || req.refused:
			case req.stream == m.stream:
				first = req
			default:
				elsewhere = req
			}
		}
		if first = cmp.Or(first, elsewhere); first != nil {
			first.received = at
		}
	case m.kind == transport.Response:
		// Of the requests with a response on the wire, a request of the same exchange comes before
		// another, an earlier before a later.
		var best *Request
		for req := range c.end(dir.Reverse()).asked(m.id) {
			if req.Answered && req.answerReceived == 0 && (best == nil || req.stream == m.stream || best.stream != m.stream) {
				best = req
			}
		}
		if best != nil {
			best.answerReceived = at
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
func (c *Checker) learn(dir transport.Direction, message *message) {
	var req *Request
	switch {
	case message.kind == transport.Response:
		req = c.end(dir.Reverse()).answeredBy(message)
	case message.Method == mcp.NotificationProgress:
		req = c.end(dir.Reverse()).reportedOn(message)
	case message.Method == mcp.NotificationInitialized && dir == transport.ClientToServer:
		if initialize := c.handshake.request; initialize != nil {
			c.end(dir).certain = max(c.end(dir).certain, initialize.answerReceived)
		}
	case dir == transport.ServerToClient && c.stateless():
		req = c.end(transport.ClientToServer).subscription(message)
	}
	if req != nil {
		c.end(dir).certain = max(c.end(dir).certain, req.received)
	}
}
