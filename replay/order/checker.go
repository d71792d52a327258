package order

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Mark is how much an end has been given: a point of its own clock.
type Mark int

// Checker judges the frames of one session. Its zero value is not ready: see [New].
type Checker struct {
	revision   string
	ends       [2]end
	handshake  handshake
	logs       []*Exchange            // open requests of a stateless session that set a log level
	logged     bool                   // there were such requests that are answered
	tasks      map[string]string      // status, by direction and id
	runs       map[string][]*Exchange // the requests that began a task, by the same key
	early      past[string]           // tasks that were asked about before they were made, by the same key
	subscribe  *Exchange              // the first resources/subscribe
	subscribed resources              // of all of these
	found      []Violation
}

// end is what one end has sent; the index is the direction it sends in.
type end struct {
	clock     Mark // frames given to it
	list      []*Exchange
	requests  map[mcp.Key]*Exchange // the latest by id, of a long list
	tokens    map[mcp.Key]*Exchange // the latest by progress token, of a long list
	withdrawn map[mcp.Key]bool      // ids of requests whose Write gave up

	least            Mark          // what it certainly knew at its last frame that was observed
	past, pastTokens past[mcp.Key] // of requests that are forgotten
	swept            int           // requests that were left when some were last forgotten
}

// New returns a checker. The revision is the one that is known beforehand, such
// as a recording's; with "" the session is to name it, and the traffic before
// that is judged by what all revisions say.
func New(revision string) *Checker { return &Checker{revision: revision} }

// Revision returns the revision that is in force, or "".
func (c *Checker) Revision() string { return c.revision }

// Mark returns how much the end that sends in a direction has been given. Who
// takes it when a Write begins judges the frame by what its sender knew then.
func (c *Checker) Mark(dir transport.Direction) Mark { return c.end(dir).clock }

// Send says that a frame has gone onto the wire. It was written when its sender
// had been given as much as the mark says. It returns the rules that it breaks;
// the slice is good until the next call.
func (c *Checker) Send(dir transport.Direction, p Parsed, known Mark) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, p)
	for i := range p.read {
		c.judge(dir, &p.read[i], known, p.Batch)
		c.sent(dir, &p.read[i])
	}
	return c.found
}

// Would returns the rules that a frame would break if it were sent now. Nothing
// changes.
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
	at := &c.end(dir.Reverse()).clock
	*at++
	for i := range p.read {
		c.given(dir, &p.read[i], *at)
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

// Refuse says that HTTP turned away a frame that an end had sent, as for a login, or that
// its exchange broke before any response. The frame was never taken, and its sender may send
// it again. A request is no longer open, unless a response follows; what a response answered
// is open again. [Parsed.Keys] of the frame is enough.
func (c *Checker) Refuse(dir transport.Direction, p Parsed) {
	for i := range p.read {
		switch m := &p.read[i]; {
		case m.kind == transport.Request:
			c.refuseRequest(dir, m)
		case m.kind == transport.Response:
			for x := range c.end(dir.Reverse()).sameID(m.id) {
				if x.Answered && x.answerStream == m.stream {
					x.Answered, x.failed, x.asksInput, x.answerGiven = false, false, false, 0
				}
			}
		case m.Method == methodInitialized:
			c.handshake.repeats = true
		case m.Method == methodCancelled:
			if x := c.end(dir).request(m.cancels); x != nil && x.cancelStream == m.stream {
				x.Cancelled, x.cancelGiven = false, 0
			}
		case m.Method == methodProgress:
			if x := c.end(dir.Reverse()).withToken(m.token); x != nil && x.progressStream == m.stream {
				x.progress = x.progressBefore
			}
		}
	}
}

func (c *Checker) refuseRequest(dir transport.Direction, m *message) {
	for x := range c.end(dir).sameID(m.id) {
		if x.stream != m.stream {
			continue
		}
		if !x.Answered {
			x.refused = true
			for x.before != nil && x.before.refused { // so that one that is sent for ever keeps little
				x.before = x.before.before
			}
		}
		return
	}
}

func (c *Checker) end(dir transport.Direction) *end {
	return &c.ends[(dir-transport.ClientToServer)&1]
}

// stateless reports whether the revision has no handshake.
func (c *Checker) stateless() bool { return c.revision >= Revision2026_07_28 }

// judge asks each rule about a message. It changes nothing but what is found.
func (c *Checker) judge(dir transport.Direction, m *message, known Mark, batch bool) {
	switch m.kind {
	case transport.Request:
		c.judgeRequest(dir, m, known)
		c.judgeHandshake(dir, m, known, batch)
	case transport.Response:
		c.judgeResponse(dir, m, known)
	case transport.Notification:
		c.judgeHandshake(dir, m, known, batch)
		c.judgeNotification(dir, m, known)
	}
}

func (c *Checker) judgeNotification(dir transport.Direction, m *message, known Mark) {
	switch m.Method {
	case methodProgress:
		c.judgeProgress(dir, m, known)
	case methodCancelled:
		c.judgeCancelled(dir, m, known)
	case methodMessage:
		c.judgeLog(dir, m, known)
	case methodTaskStatus:
		c.judgeStatus(dir, m, m.Params)
	default:
		if dir == transport.ServerToClient {
			c.judgeSubscription(m, known)
		}
	}
}

// judgeBatch is rule P9.
func (c *Checker) judgeBatch(dir transport.Direction, p Parsed) {
	switch {
	case !p.Batch:
	case len(p.Messages) == 0:
		c.breaks(lawEmptyBatch, dir, "a batch of no messages")
	case c.revision >= Revision2025_06_18:
		c.breaks(lawNoBatch, dir, "a batch of %s", phrase.Plural(len(p.Messages), "message"))
	case c.revision == Revision2024_11_05:
		c.breaks(lawDoubtBatch, dir, "a batch of %s", phrase.Plural(len(p.Messages), "message"))
	}
}

// breaks notes a violation.
func (c *Checker) breaks(l law, dir transport.Direction, format string, args ...any) {
	c.found = append(c.found, Violation{
		Rule: l.rule, Title: l.title, Severity: l.severity, Revision: c.revision, Dir: dir,
		Section: l.page.at(c.revision) + ", " + l.heading,
		Text:    "the " + dir.Sender() + " sent " + fmt.Sprintf(format, args...),
	})
}

// sent keeps what a message on the wire changes.
func (c *Checker) sent(dir transport.Direction, m *message) {
	switch m.kind {
	case transport.Request:
		c.sentRequest(dir, m)
	case transport.Response:
		c.sentResponse(dir, m)
	case transport.Notification:
		c.sentNotification(dir, m)
	}
}

func (c *Checker) sentNotification(dir transport.Direction, m *message) {
	switch m.Method {
	case methodProgress:
		c.sentProgress(dir, m)
	case methodCancelled:
		if x := c.end(dir).request(m.cancels); x != nil && !x.Cancelled {
			x.Cancelled, x.cancelStream = true, m.stream
		}
	case methodInitialized:
		c.handshake.initialized, c.handshake.repeats = true, false
	case methodAcknowledged:
		if x := c.subscription(m); x != nil {
			x.acknowledged = true
		}
	case methodTaskStatus:
		c.keepStatus(dir, m.Params)
	}
}

// given keeps what an end now knows, at its own time.
func (c *Checker) given(dir transport.Direction, m *message, at Mark) {
	switch m.kind {
	case transport.Request:
		if x := c.end(dir).request(m.id); x != nil && x.given == 0 {
			x.given = at
		}
	case transport.Response:
		if x := c.end(dir.Reverse()).awaits(m); x != nil {
			x.answerGiven = at
		}
	case transport.Notification:
		c.givenNotification(dir, m, at)
	}
}

func (c *Checker) givenNotification(dir transport.Direction, m *message, at Mark) {
	switch m.Method {
	case methodCancelled:
		if x := c.end(dir).request(m.cancels); x != nil && x.cancelGiven == 0 {
			x.cancelGiven = at
		}
	case methodInitialized:
		if c.handshake.initializedGiven == 0 {
			c.handshake.initializedGiven = at
		}
	}
}
