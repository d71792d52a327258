package order

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Exchange is a request on the wire and what became of it.
type Exchange struct {
	Dir       transport.Direction // of the request
	ID        json.RawMessage
	Method    string
	Cancelled bool // its sender has cancelled it
	Answered  bool // a response is on the wire

	stream      uint64          // the HTTP exchange that it went on; 0 on a pipe
	before      *Exchange       // one with the same id that was open when this was sent
	id, token   mcp.Key         // the token is "" where it asks for no progress
	given       Mark            // when its receiver was given it; 0 before
	answerGiven Mark            // when its sender was given the response
	cancelGiven Mark            // when its receiver was given the cancellation
	refused     bool            // HTTP turned it away, or its exchange broke; no response is on the wire
	failed      bool            // the response is an error
	asksInput   bool            // the response is an InputRequiredResult
	task        bool            // it asked to run as a task
	ended       bool            // the task has a terminal status
	about       string          // the key of the task that it asks about
	session     int             // the handshake it belongs to
	progress    json.RawMessage // the last value; nil before

	// What it takes to undo a frame that HTTP refuses.
	progressBefore                             json.RawMessage
	answerStream, cancelStream, progressStream uint64 // the HTTP exchanges that these went on

	acknowledged bool   // of a subscription
	filter       wanted // what it asked for
	logAt        int    // its place among the open requests that set a log level, from 1
}

// Received reports whether the other end has been given the request.
func (x *Exchange) Received() bool { return x.given > 0 }

// AnswerReceived reports whether the end that sent the request has the response.
func (x *Exchange) AnswerReceived() bool { return x.answerGiven > 0 }

// String names the request: ping (id 3).
func (x *Exchange) String() string { return fmt.Sprintf("%s (id %s)", x.Method, x.ID) }

// Exchanges returns the requests that went in a direction, in their order.
func (c *Checker) Exchanges(dir transport.Direction) []*Exchange { return c.end(dir).list }

// judgeRequest is rule P2, and what the other rules say of requests.
func (c *Checker) judgeRequest(dir transport.Direction, m *message, known Mark) {
	e := c.end(dir)
	if string(m.ID) == "null" {
		c.breaks(lawNoNullID, dir, "%s with the id null", m.Method)
		return
	}
	if dir == transport.ServerToClient && c.stateless() {
		c.breaks(lawServerAsks, dir, "the request %s (id %s)", m.Method, m.ID)
	}
	if before := e.request(m.id); before != nil {
		c.judgeReuse(dir, m, before, known)
	} else if e.past.has(m.id) && !c.stateless() && c.revision != "" && m.Method != mcp.MethodInitialize {
		c.breaks(lawFreshID, dir, "%s with the id %s, which another request had before", m.Method, m.ID)
	}
	if token := m.progressToken; token != nil {
		if other := e.withToken(m.token); other != nil && !knows(other.answerGiven, known) && !other.Cancelled && !other.refused {
			c.breaks(lawFreshToken, dir, "%s (id %s) with the progress token %s of %v, which is open", m.Method, m.ID, token, other)
		}
	}
}

func (c *Checker) judgeReuse(dir transport.Direction, m *message, before *Exchange, known Mark) {
	before = before.orEarlier()
	switch {
	case before.refused && before.Method == m.Method: // it is sent again
	case !before.refused && !knows(before.answerGiven, known) && !before.Cancelled:
		c.breaks(lawUniqueID, dir, "%s with the id %s of %s, which is open", m.Method, m.ID, before.Method)
	case c.stateless() && before.asksInput && before.Method == m.Method && transport.Member(m.Params, mcp.MemberInputResponses) != nil:
		c.breaks(lawRetry, dir, "%s with the answers that the response to id %s asked for, under that id", m.Method, m.ID)
	case !c.stateless() && c.revision != "" && m.Method != mcp.MethodInitialize && before.session == c.handshake.count:
		c.breaks(lawFreshID, dir, "%s with the id %s, which %s had before", m.Method, m.ID, before.Method)
	}
}

// orEarlier returns the request, or where HTTP refused it the latest before it that was open
// under the same id.
func (x *Exchange) orEarlier() *Exchange {
	for one, n := x, 0; one != nil && n < mostOfOneID; one, n = one.before, n+1 {
		if !one.refused {
			return one
		}
	}
	return x
}

// open reports whether a response is still to come.
func (x *Exchange) open() bool { return !x.Answered && !x.refused }

// judgeResponse is rule P1.
func (c *Checker) judgeResponse(dir transport.Direction, m *message, known Mark) {
	if m.ID == nil || string(m.ID) == "null" {
		return // the answer to a request whose id could not be read
	}
	x := c.end(dir.Reverse()).answeredBy(m)
	switch {
	case x == nil && dir == transport.ClientToServer && c.stateless():
		c.breaks(lawClientAnswers, dir, "a response (id %s)", m.ID)
	case x == nil && c.end(dir.Reverse()).past.has(m.id):
		c.breaks(lawAnswerOnce, dir, "a second response to the request with the id %s", m.ID)
	case x == nil:
		c.breaks(lawAnswer, dir, "a response with the id %s, which no request of the %s had", m.ID, dir.Receiver())
	case x.Answered:
		c.breaks(lawAnswerOnce, dir, "a second response to %v", x)
	case !knows(x.given, known):
		c.breaks(lawAnswerGiven, dir, "the response to %v before it had received the request", x)
	case c.stateless() && knows(x.cancelGiven, known) && x.Method != mcp.MethodListen:
		c.breaks(lawCancelled, dir, "the response to %v after it had received its cancellation", x)
	default:
		c.judgeTaskResult(dir, m, x)
	}
}

func (c *Checker) sentRequest(dir transport.Direction, m *message) {
	e := c.end(dir)
	if dir == transport.ClientToServer {
		c.names(m)
	}
	x := &Exchange{
		Dir: dir, ID: bytes.Clone(m.ID), Method: m.Method, stream: m.stream, id: m.id, token: m.token, session: c.handshake.count,
		task: c.hasTasks() && bytes.Contains(m.Params, []byte(`"task"`)) && transport.Member(m.Params, "task") != nil,
	}
	if before := e.request(m.id); before != nil && !before.Answered {
		x.before = before
	}
	e.keep(x)
	h := &c.handshake
	switch { // what the request begins or comes too early for
	case x.Dir == transport.ServerToClient || x.Method == mcp.MethodPing:
	case x.Method == mcp.MethodInitialize:
		h.count++
		x.session = h.count
		h.request, h.initialized, h.repeats, h.initializedGiven = x, false, false, 0
	case h.request == nil && h.early == "" && !c.stateless() && x.Method != mcp.MethodDiscover:
		h.early = x.String()
	}
	switch { // what it lets the server send
	case x.Dir != transport.ClientToServer:
	case x.Method == mcp.MethodListen:
		x.filter = wantedBy(transport.Member(m.Params, "notifications"))
	case x.Method == mcp.MethodSubscribe:
		if c.subscribe == nil {
			c.subscribe = x
		}
		c.subscribed.add(text(transport.Member(m.Params, "uri")))
	}
	if c.stateless() && transport.Member(m.Params, mcp.MemberMeta, mcp.MetaLogLevel) != nil {
		c.logs = append(c.logs, x)
		x.logAt = len(c.logs)
	}
	c.asksAbout(x, m)
}

func (c *Checker) sentResponse(dir transport.Direction, m *message) {
	x := c.end(dir.Reverse()).answeredBy(m)
	if x == nil || x.Answered {
		return
	}
	x.Answered, x.refused, x.failed, x.answerStream = true, false, m.Result == nil, m.stream
	x.asksInput = c.stateless() && text(transport.Member(m.Result, mcp.MemberResultType)) == "input_required"
	switch { // the revision that both agree on
	case x.Dir != transport.ClientToServer || x.failed:
	case x.Method == mcp.MethodInitialize:
		if v := text(transport.Member(m.Result, mcp.MemberProtocolVersion)); v != "" {
			c.revision = v
		}
	case x.Method == mcp.MethodDiscover && c.handshake.request == nil:
		c.revision = max(c.revision, mcp.Revision2026_07_28)
	}
	c.endLog(x)
	c.keepTaskResult(dir, m, x)
}

// knows reports whether an end knew a fact at a mark.
func knows(fact, at Mark) bool { return fact > 0 && fact <= at }

// short is how many requests are looked through one by one.
const short = 16

// keep adds a request.
func (e *end) keep(x *Exchange) {
	if e.list = append(e.list, x); len(e.list) < short {
		return
	}
	if e.requests == nil {
		e.requests, e.tokens = map[mcp.Key]*Exchange{}, map[mcp.Key]*Exchange{}
		for _, old := range e.list {
			e.index(old)
		}
	}
	e.index(x)
}

func (e *end) index(x *Exchange) {
	if e.requests[x.id] = x; x.token != "" {
		e.tokens[x.token] = x
	}
}

// request returns the latest request with an id, or nil.
func (e *end) request(id mcp.Key) *Exchange {
	if e.requests != nil {
		return e.requests[id]
	}
	for _, x := range slices.Backward(e.list) {
		if x.id == id {
			return x
		}
	}
	return nil
}

// mostOfOneID is how many requests with one id are told apart.
const mostOfOneID = 64

// sameID yields the latest request with an id, and those that were open when it was sent.
func (e *end) sameID(id mcp.Key) iter.Seq[*Exchange] {
	return func(yield func(*Exchange) bool) {
		x := e.request(id)
		for n := 0; x != nil && n < mostOfOneID && yield(x); n++ {
			x = x.before
		}
	}
}

// answeredBy returns the request that a response answers, or nil. A peer should not have
// two requests with one id open. Where it has, a response over HTTP belongs to the request
// of its own exchange, and any other response to the first request that is open.
func (e *end) answeredBy(m *message) (best *Exchange) {
	rank := func(x *Exchange) (n int) {
		if x.stream == m.stream {
			n = 2
		}
		if x.open() {
			n++
		}
		return n
	}
	for x := range e.sameID(m.id) {
		if best == nil || rank(x) > rank(best) || rank(x) == rank(best) && x.open() {
			best = x
		}
	}
	return best
}

// awaits returns the request whose response is given now: of those that have theirs on
// the wire, one of the response's own exchange before another, the first before a later.
func (e *end) awaits(m *message) (best *Exchange) {
	for x := range e.sameID(m.id) {
		if x.Answered && x.answerGiven == 0 && (best == nil || x.stream == m.stream || best.stream != m.stream) {
			best = x
		}
	}
	return best
}

// withToken returns the latest request with a progress token, or nil.
func (e *end) withToken(token mcp.Key) *Exchange {
	switch {
	case token == "":
		return nil
	case e.requests != nil:
		return e.tokens[token]
	}
	for _, x := range slices.Backward(e.list) {
		if x.token == token {
			return x
		}
	}
	return nil
}

// judgeCancelled is rule P6.
func (c *Checker) judgeCancelled(dir transport.Direction, m *message, known Mark) {
	id := m.cancelled
	if id == nil {
		return // of a task: it names no request
	}
	if dir == transport.ServerToClient && c.stateless() {
		if x := c.end(dir.Reverse()).request(m.cancels); x == nil || x.Method != mcp.MethodListen {
			c.breaks(lawCancelListen, dir, "a cancellation of id %s, which is no subscription", id)
		}
		return
	}
	x := c.end(dir).request(m.cancels)
	switch {
	case x == nil && c.end(dir).withdrawn[m.cancels]:
	case x == nil && c.end(dir).past.has(m.cancels):
		c.breaks(lawCancelOpen, dir, "a cancellation of the request with the id %s after it had received the response", id)
	case x == nil:
		c.breaks(lawCancelOwn, dir, "a cancellation of id %s, which no request of it had", id)
	case x.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		c.breaks(lawInitializeKept, dir, "a cancellation of %v", x)
	case knows(x.answerGiven, known):
		c.breaks(lawCancelOpen, dir, "a cancellation of %v after it had received the response", x)
	}
}

// judgeProgress is rule P3.
func (c *Checker) judgeProgress(dir transport.Direction, m *message, known Mark) {
	token := m.progressToken
	if dir == transport.ClientToServer && c.stateless() {
		c.breaks(lawProgressFrom, dir, "progress for token %s", token)
		return
	}
	x := c.end(dir.Reverse()).withToken(m.token)
	switch {
	case x == nil && c.end(dir.Reverse()).pastTokens.has(m.token):
		c.breaks(lawProgressEnds, dir, "progress for token %s after the response to its request", token)
	case x == nil:
		c.breaks(lawToken, dir, "progress for token %s, which no request of the %s had", cmp.Or(string(token), "(none)"), dir.Receiver())
	case !knows(x.given, known):
		c.breaks(lawToken, dir, "progress of %v before it had received the request", x)
	case x.Answered && (!x.task || x.ended):
		c.breaks(lawProgressEnds, dir, "progress of %v after the response", x)
	case c.stateless() && knows(x.cancelGiven, known):
		c.breaks(lawCancelled, dir, "progress of %v after it had received its cancellation", x)
	case falls(x.progress, transport.Member(m.Params, "progress")):
		c.breaks(lawProgressRises, dir, "progress %s of %v after %s", transport.Member(m.Params, "progress"), x, x.progress)
	}
}

// falls reports whether a number is not above the one before. Numbers that a
// float64 cannot tell apart though they are written differently are let pass.
func falls(before, now json.RawMessage) bool {
	a, err := strconv.ParseFloat(string(before), 64)
	b, err2 := strconv.ParseFloat(string(now), 64)
	if err != nil || err2 != nil {
		return false
	}
	return b < a || b == a && (string(before) == string(now) || a < 1<<53 && a > -1<<53)
}
