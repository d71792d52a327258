package order

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
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

// Checker judges the frames of a session, by the steps of a Model that takes them in the order of the wire. [New]
// makes it.
type Checker struct {
	violations
	ends          [2]end // by the direction of sending
	handshake     handshake
	askedSoon     hashSet[taskKey] // tasks that were asked about before they were made
	subscriptions subscriptions
	logging       logMessages
	agents        agents
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

// Frame is a frame on the wire: its messages without their bytes, each with its call.
type Frame struct {
	Dir      transport.Direction
	Messages []timeline.Message
	stream   uint64
}

// FrameOf returns the frame of a step, for [Checker.Give] and [Checker.Refuse].
func FrameOf(step timeline.Step) Frame {
	f := Frame{Dir: step.Dir, Messages: make([]timeline.Message, len(step.Messages)), stream: step.Stream}
	for i := range step.Messages {
		m := &step.Messages[i]
		f.Messages[i] = timeline.Message{Kind: m.Kind, Call: m.Call, Role: m.Role, Retyped: m.Retyped}
		if m.Kind == transport.Notification {
			f.Messages[i].Method = strings.Clone(m.Method)
		}
	}
	return f
}

// Send puts a frame onto the wire. known is the sender's mark at the beginning of the Write.
// Send returns the violations; the slice is good until the next call.
func (c *Checker) Send(step timeline.Step, known Mark) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(&step)
	for i := range step.Messages {
		c.judge(&step, &step.Messages[i], known)
		c.sent(&step, &step.Messages[i])
	}
	return c.found
}

// Give notes the receipt of a frame by the other end.
func (c *Checker) Give(frame Frame) { c.give(frame.Dir, frame.Messages) }

func (c *Checker) give(dir transport.Direction, messages []timeline.Message) {
	clock := &c.end(dir.Reverse()).clock
	*clock++
	for i := range messages {
		c.received(&messages[i], *clock)
	}
}

// Withdraw notes a Write that gave up before the frame went onto the wire: the sender may not
// know, and may cancel the request.
func (c *Checker) Withdraw(dir transport.Direction, messages []transport.Message) {
	e := c.end(dir)
	for _, m := range messages {
		if m.Kind() == transport.Request {
			if e.withdrawn == nil {
				e.withdrawn = map[mcp.Key]bool{}
			}
			e.withdrawn[mcp.KeyOf(m.ID)] = true
		}
	}
}

// Refuse notes a frame turned away by HTTP, as for a login, or lost with an exchange that
// broke before any response. The frame was never taken, and the sender may send it again. A
// request is no longer open, unless a response follows; a request answered by the frame is
// open again.
func (c *Checker) Refuse(frame Frame) {
	for i := range frame.Messages {
		m := &frame.Messages[i]
		req := c.request(m.Call)
		switch {
		case m.Method == mcp.NotificationInitialized:
			c.handshake.repeats = true
		case req == nil || m.Retyped && m.Kind != transport.Response:
		case m.Kind == transport.Request && !req.answered:
			req.refused = true
			c.end(frame.Dir).again.add(req.of.Key())
		case m.Kind == transport.Response && req.answered && req.answerStream == frame.stream:
			req.answered = false
			req.failed = false
			req.answerReceived = 0
		case m.Method == mcp.NotificationCancelled && req.cancelStream == frame.stream:
			req.cancelled = false
			req.cancelReceived = 0
		case m.Method == mcp.NotificationProgress && req.progressStream == frame.stream:
			req.progress = bytes.Clone(req.progressBefore)
		}
	}
}

// Observe judges a frame that passes a tap between the two ends, and notes sending and
// receipt. The tap has seen frames which the sender may not have received yet. If a violation
// depends on these, the tap cannot decide the race: Observe returns a [Note] with Race set. A
// certain violation keeps the severity. The slice is good until the next call.
func (c *Checker) Observe(step timeline.Step) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(&step)
	end := c.end(step.Dir)
	for i := range step.Messages {
		m := &step.Messages[i]
		before := len(c.found)
		c.learn(step.Dir, m)
		c.judge(&step, m, end.clock)
		if found := c.found; len(found) > before {
			c.found = nil
			c.judge(&step, m, end.certain)
			if len(c.found) == 0 {
				for j := before; j < len(found); j++ {
					found[j].Severity = Note
					found[j].Race = true
				}
			}
			c.found = found
		}
		c.sent(&step, m)
	}
	c.give(step.Dir, step.Messages)
	return c.found
}

func (c *Checker) end(dir transport.Direction) *end {
	return &c.ends[(dir-transport.ClientToServer)&1]
}

// judge applies each rule to a message. It changes only the violations found.
func (c *Checker) judge(step *timeline.Step, m *timeline.Message, known Mark) {
	if protocolOf(step, m) == transport.ACP {
		c.agents.judge(&c.violations, step, m, c.request(m.Call), known)
	}
	switch m.Kind {
	case transport.Request:
		c.judgeRequest(step, m, known)
		c.judgeHandshake(step, m, known)
	case transport.Response:
		if req := c.judgeResponse(step, m, known); req != nil {
			c.judgeTaskIn(step.Dir, m, req)
		}
	case transport.Notification:
		c.judgeHandshake(step, m, known)
		switch m.Method {
		case mcp.NotificationProgress:
			c.judgeProgress(step, m, known)
		case mcp.NotificationCancelled:
			c.judgeCancellation(step, m, known)
		case mcp.NotificationMessage:
			c.logging.judge(&c.violations, step.Dir, m, known)
		case mcp.NotificationTaskStatus, mcp.NotificationTasks:
			c.judgeStatus(step.Dir, m, m.Params)
		default:
			if step.Dir == transport.ServerToClient {
				c.subscriptions.judge(&c.violations, m, c.request(m.Subscription), known)
			}
		}
	}
}

// judgeHandshake is rule P4. Other protocols of JSON-RPC have an initialize with rules of its own.
func (c *Checker) judgeHandshake(step *timeline.Step, m *timeline.Message, known Mark) {
	if !protocolOf(step, m).IsForeign() {
		c.handshake.judge(&c.violations, step, m, known)
	}
}

// protocolOf returns the protocol of a session, which the message itself may show first.
func protocolOf(step *timeline.Step, m *timeline.Message) transport.Protocol {
	return cmp.Or(step.Protocol(), transport.ProtocolOf(m.Message))
}

// judgeBatch is rule P9.
func (c *Checker) judgeBatch(step *timeline.Step) {
	switch {
	case !step.Batch:
	case len(step.Messages) == 0:
		c.add(emptyBatch, step.Dir, "a batch of no messages")
	case mcp.NoBatches.Has(c.revision):
		c.add(noBatches, step.Dir, "a batch of %s", phrase.Plural(len(step.Messages), "message"))
	case mcp.BatchesUnspecified.Has(c.revision):
		c.add(unspecifiedBatch, step.Dir, "a batch of %s", phrase.Plural(len(step.Messages), "message"))
	}
}

// sent keeps the effects of a message on the wire.
func (c *Checker) sent(step *timeline.Step, m *timeline.Message) {
	if protocolOf(step, m) == transport.ACP {
		defer func() { c.agents.sent(step, m, c.request(m.Call)) }()
	}
	switch m.Kind {
	case transport.Request:
		c.sentRequest(step.Dir, m)
	case transport.Response:
		c.sentResponse(step, m)
	case transport.Notification:
		req := c.request(m.Call)
		if m.Retyped { // a strict peer does not know it
			req = nil
		}
		switch m.Method {
		case mcp.NotificationProgress:
			if req != nil {
				req.progressStream = step.Stream
				req.progressBefore, req.progress = req.progress, append(req.progressBefore[:0], progressOf(m)...)
			}
		case mcp.NotificationCancelled:
			if req != nil && !req.cancelled {
				req.cancelled = true
				req.cancelStream = step.Stream
			}
		case mcp.NotificationInitialized:
			c.handshake.initialized = true
			c.handshake.repeats = false
		case mcp.NotificationAcknowledged:
			if req := c.request(m.Subscription); req != nil {
				req.acknowledged = true
			}
		}
	}
}

func (c *Checker) sentRequest(dir transport.Direction, m *timeline.Message) {
	fromClient := dir == transport.ClientToServer
	if fromClient {
		c.nameRevision(m)
	}
	req := &request{
		of: m.Call, by: c, session: c.handshake.count,
		isTask: m.Call.AsksTask && c.hasTasks(), declaresTasks: !mcp.Handshake.Has(c.revision) && declaresTasks(m),
	}
	m.Call.Judged = req
	switch h := &c.handshake; {
	case !fromClient || m.Method == mcp.MethodPing:
	case m.Method == mcp.MethodInitialize:
		*h = handshake{count: h.count + 1, request: req, early: h.early}
		req.session = h.count
		for i := range c.ends { // ids begin anew
			c.ends[i].ids, c.ends[i].tokens, c.ends[i].again = used{}, used{}, nil
		}
	case h.request == nil && h.early == "" && !c.stateless() && m.Method != mcp.MethodDiscover:
		h.early = req.String()
	}
	sender := c.end(dir)
	sender.ids.add(m.Call.Key())
	sender.again.remove(m.Call.Key())
	if token := m.Call.TokenKey(); token != "" {
		sender.tokens.add(token)
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
	switch m.Method {
	case mcp.MethodTaskResult, mcp.MethodGetTask, mcp.MethodCancelTask:
		if c.hasTasks() {
			c.askAbout(dir, m)
		}
	}
}

// nameRevision takes the revision that a request of the client names. server/discover settles none before the
// answer.
func (c *Checker) nameRevision(m *timeline.Message) {
	if m.Method == mcp.MethodInitialize {
		c.revision = mcp.Handshake.Last
		if named := transport.MemberText(m.Params, mcp.MemberProtocolVersion); !mcp.Stateless.Has(named) {
			c.revision = named
		}
	} else if named := revisionIn(m); mcp.Stateless.Has(named) && m.Method != mcp.MethodDiscover {
		c.revision = named
	}
}

func (c *Checker) sentResponse(step *timeline.Step, m *timeline.Message) {
	req := c.request(m.Call)
	if req == nil || req.answered {
		return
	}
	req.answered = true
	req.refused = false
	req.failed = m.Result == nil
	req.answerStream = step.Stream
	req.asksInput = transport.MemberText(m.Result, mcp.MemberResultType) == mcp.InputRequired
	switch { // the agreed revision
	case step.Dir != transport.ServerToClient || req.failed:
	case req.of.Method == mcp.MethodInitialize:
		if v := transport.MemberText(m.Result, mcp.MemberProtocolVersion); v != "" {
			c.revision = v
		}
	case req.of.Method == mcp.MethodDiscover && c.handshake.request == nil:
		c.revision = max(c.revision, mcp.Stateless.First)
	}
	c.logging.answered(req)
}

// received keeps when an end received a message, on the end's clock.
func (c *Checker) received(m *timeline.Message, at Mark) {
	req := c.request(m.Call)
	c.agents.received(m, at)
	switch {
	case m.Method == mcp.NotificationInitialized && m.Kind == transport.Notification:
		c.handshake.initializedReceived = cmp.Or(c.handshake.initializedReceived, at)
	case req == nil:
	case m.Kind == transport.Request && !req.refused:
		req.received = cmp.Or(req.received, at)
	case m.Kind == transport.Response && req.answered:
		req.answerReceived = cmp.Or(req.answerReceived, at)
	case m.Method == mcp.NotificationCancelled && !m.Retyped:
		req.cancelReceived = cmp.Or(req.cancelReceived, at)
	}
}

// learn notes which request a message's sender must have received to send it.
func (c *Checker) learn(dir transport.Direction, m *timeline.Message) {
	var req *request
	switch {
	case m.Kind == transport.Response, m.Method == mcp.NotificationProgress && !m.Retyped:
		req = c.request(m.Call)
	case m.Method == mcp.NotificationInitialized && dir == transport.ClientToServer:
		if initialize := c.handshake.request; initialize != nil {
			c.end(dir).certain = max(c.end(dir).certain, initialize.answerReceived)
		}
	case dir == transport.ServerToClient && c.stateless():
		req = c.request(m.Subscription)
	}
	if req != nil {
		c.end(dir).certain = max(c.end(dir).certain, req.received)
	}
}
