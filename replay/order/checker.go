package order

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"

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
		case m.Method == mcp.NotificationInitialized:
			c.handshake.repeats = true
		case m.Method == mcp.NotificationCancelled:
			if x := c.end(dir).request(m.cancels); x != nil && x.cancelStream == m.stream {
				x.Cancelled, x.cancelGiven = false, 0
			}
		case m.Method == mcp.NotificationProgress:
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
func (c *Checker) stateless() bool { return c.revision >= mcp.Revision2026_07_28 }

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
		switch m.Method {
		case mcp.NotificationProgress:
			c.judgeProgress(dir, m, known)
		case mcp.NotificationCancelled:
			c.judgeCancelled(dir, m, known)
		case mcp.NotificationMessage:
			c.judgeLog(dir, m, known)
		case mcp.NotificationTaskStatus:
			c.judgeStatus(dir, m, m.Params)
		default:
			if dir == transport.ServerToClient {
				c.judgeSubscription(m, known)
			}
		}
	}
}

// judgeBatch is rule P9.
func (c *Checker) judgeBatch(dir transport.Direction, p Parsed) {
	switch {
	case !p.Batch:
	case len(p.Messages) == 0:
		c.breaks(lawEmptyBatch, dir, "a batch of no messages")
	case c.revision >= mcp.Revision2025_06_18:
		c.breaks(lawNoBatch, dir, "a batch of %s", phrase.Plural(len(p.Messages), "message"))
	case c.revision == mcp.Revision2024_11_05:
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
		switch m.Method {
		case mcp.NotificationProgress:
			if x := c.end(dir.Reverse()).withToken(m.token); x != nil {
				x.progressBefore, x.progressStream = x.progress, m.stream
				x.progress = bytes.Clone(transport.Member(m.Params, "progress"))
			}
		case mcp.NotificationCancelled:
			if x := c.end(dir).request(m.cancels); x != nil && !x.Cancelled {
				x.Cancelled, x.cancelStream = true, m.stream
			}
		case mcp.NotificationInitialized:
			c.handshake.initialized, c.handshake.repeats = true, false
		case mcp.NotificationAcknowledged:
			if x := c.subscription(m); x != nil {
				x.acknowledged = true
			}
		case mcp.NotificationTaskStatus:
			c.keepStatus(dir, m.Params)
		}
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
		switch m.Method {
		case mcp.NotificationCancelled:
			if x := c.end(dir).request(m.cancels); x != nil && x.cancelGiven == 0 {
				x.cancelGiven = at
			}
		case mcp.NotificationInitialized:
			if c.handshake.initializedGiven == 0 {
				c.handshake.initializedGiven = at
			}
		}
	}
}

// Observe judges a frame as a tap between the two ends sees it pass, and says that
// it was sent and given. What a tap has seen its sender may not have had yet: a
// violation that holds only if the sender had it already is a race that the tap
// cannot decide, and comes as a [Note] with Race set. What is certain stays.
//
// A checker that observes keeps of answered requests the latest few thousand, and
// of those before no more than that there was one with the id, so that a session
// may go on for ever. The slice is good until the next call.
func (c *Checker) Observe(dir transport.Direction, p Parsed) []Violation {
	c.found = c.found[:0]
	c.judgeBatch(dir, p)
	for i := range p.read {
		m, before := &p.read[i], len(c.found)
		c.learns(dir, m)
		c.judge(dir, m, c.Mark(dir), p.Batch)
		if len(c.found) > before && !c.certain(dir, m, p.Batch) {
			for j := before; j < len(c.found); j++ {
				c.found[j].Severity, c.found[j].Race = Note, true
			}
		}
		c.sent(dir, m)
	}
	c.Give(dir, p)
	c.forget(c.end(dir))
	return c.found
}

// certain reports whether a message breaks something also if its sender had been
// given no more than is certain.
func (c *Checker) certain(dir transport.Direction, m *message, batch bool) bool {
	found := c.found
	c.found = nil
	c.judge(dir, m, c.end(dir).least, batch)
	breaks := len(c.found) > 0
	c.found = found
	return breaks
}

// OneSender reports whether a violation is of the order of two frames of one sender:
// it is none where they may have overtaken each other, as on two HTTP streams.
func (v Violation) OneSender() bool {
	switch v.Title {
	case lawProgressEnds.title, lawProgressRises.title, lawCancelOwn.title:
		return true
	}
	return false
}

// NeedsBeginning reports whether a violation rests on what came before: where the recording
// begins in the middle, it shows nothing.
func (v Violation) NeedsBeginning() bool {
	switch v.Title {
	case lawAnswer.title, lawToken.title, lawCancelOwn.title, lawSubscribed.title, lawUpdated.title, lawLogLevel.title:
		return true
	}
	return false
}

// learns keeps what a message shows its sender to have received: what it is about.
func (c *Checker) learns(dir transport.Direction, m *message) {
	var x *Exchange
	switch {
	case m.kind == transport.Response:
		x = c.end(dir.Reverse()).answeredBy(m)
	case m.Method == mcp.NotificationProgress:
		x = c.end(dir.Reverse()).withToken(m.token)
	case m.Method == mcp.NotificationInitialized && dir == transport.ClientToServer:
		if h := c.handshake.request; h != nil {
			c.end(dir).least = max(c.end(dir).least, h.answerGiven)
		}
	case dir == transport.ServerToClient && c.stateless():
		x = c.subscription(m)
	}
	if x != nil && x.Dir != dir {
		c.end(dir).least = max(c.end(dir).least, x.given)
	}
}

// remembered is how many answered requests of an end are kept whole.
const remembered = 4096

// forget drops the answered requests of an end but for the latest, when they have
// become many.
func (c *Checker) forget(e *end) {
	if len(e.list) < 2*max(remembered, e.swept) {
		return
	}
	kept := e.list[:0]
	for i, x := range e.list {
		if i >= len(e.list)-remembered || !x.over() || x == c.subscribe || x == c.handshake.request {
			kept = append(kept, x)
			continue
		}
		e.past.add(x.id)
		if e.requests[x.id] == x {
			delete(e.requests, x.id)
		}
		if x.token != "" {
			e.pastTokens.add(x.token)
			if e.tokens[x.token] == x {
				delete(e.tokens, x.token)
			}
		}
	}
	clear(e.list[len(kept):])
	e.list, e.swept = kept, len(kept)
}

// over reports whether nothing more may come of a request.
func (x *Exchange) over() bool { return x.refused || x.Answered && (!x.task || x.ended) }

// past is a set of texts, by their hash.
type past[T ~string] map[uint64]struct{}

var pastSeed = maphash.MakeSeed()

func (p past[T]) has(key T) bool {
	if len(p) == 0 {
		return false
	}
	_, ok := p[maphash.String(pastSeed, string(key))]
	return ok
}

func (p *past[T]) add(key T) {
	if *p == nil {
		*p = past[T]{}
	}
	(*p)[maphash.String(pastSeed, string(key))] = struct{}{}
}

// Parsed is what a checker reads of a frame. [Parse] makes it, once for all who
// want it: it is never changed. Messages is nil for a frame that is not JSON.
type Parsed struct {
	Messages []transport.Message
	Batch    bool
	read     []message
}

// message is a message with what the rules ask of it again and again.
type message struct {
	transport.Message
	kind          transport.MessageKind
	stream        uint64 // the HTTP exchange; 0 on a pipe
	id            mcp.Key
	progressToken json.RawMessage
	token         mcp.Key
	cancelled     json.RawMessage // the id of the request that it cancels
	cancels       mcp.Key
	version       string // the revision that a request of a stateless session names
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
		p.read[i] = read(m)
		p.read[i].stream = f.Stream
	}
	return p
}

// Keys returns what [Checker.Refuse] asks of a frame, and holds none of its bytes.
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

func read(m transport.Message) message {
	r := message{Message: m, kind: m.Kind(), id: mcp.KeyOf(m.ID)}
	if r.kind == transport.Response || r.kind == transport.Invalid {
		return r
	}
	r.progressToken = m.ProgressToken()
	r.token = mcp.KeyOf(r.progressToken)
	if m.Method == mcp.NotificationCancelled {
		r.cancelled = transport.Member(m.Params, mcp.MemberRequestID)
		r.cancels = mcp.KeyOf(r.cancelled)
	}
	if bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
		r.version = text(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion))
	}
	return r
}
