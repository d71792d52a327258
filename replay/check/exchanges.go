package check

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules U3, E14 and E16.
var (
	requestFirst  = newDemand("U3", "an HTTP exchange is answered after its request", order.Error, "")
	nothingBehind = newDemand("U3", "a body ends with its exchange", order.Error, "")
	postAnswered  = newDemand("E14", "a POST is answered", order.Error, "basic/transports, Sending Messages to the Server", mcp.HTTP)
	hasBeginning  = newDemand("E16", "a recording has the beginning of its session", order.Note, "")
)

// scope is a space of ids: the session on a pipe, and over HTTP each session, and each
// exchange that belongs to no session.
type scope struct {
	rules     *order.Checker
	open      int // calls without an answer
	beginning beginning
	since     uint64 // the first message of a session without a beginning
	refused   bool   // HTTP refused every request of the session
	served    bool   // HTTP accepted a request
	isSession bool
	isPart    bool // the handshake of its client is in another exchange
}

func newScope() *scope { return &scope{rules: order.New("")} }

// beginning says whether the recording has the beginning of a session.
type beginning uint8

const (
	undecided beginning = iota // no message tells yet
	whole
	middle // the first message depends on an earlier message
)

// onMessage decides whether a session may begin with a message: with a handshake, a probe,
// or a request that needs no handshake. Pings and logs may come before these.
func (s *scope) onMessage(step timeline.Step, message *timeline.Message) {
	fromClient := step.Dir == transport.ClientToServer
	isRequest := fromClient && message.Kind == transport.Request
	switch {
	case isRequest && message.Method == mcp.MethodInitialize:
		s.beginning = whole
	case s.beginning != undecided || message.Method == mcp.MethodPing || message.Kind == transport.Invalid:
	case isRequest && (message.Method == mcp.MethodDiscover || mcp.Stateless.Has(metaRevision(&message.Message))):
		s.beginning = whole
	case fromClient, message.Kind == transport.Response, message.Method == mcp.NotificationProgress:
		s.beginning = middle
		s.since = step.Seq
	}
}

// reportMiddle is rule E16, once for a recording.
func (s *scope) reportMiddle(reporter *reporter) {
	if reporter.saidMiddle {
		return
	}
	reporter.saidMiddle = true
	reporter.report(hasBeginning, transport.NoDirection, s.rules.Revision(), []uint64{s.since},
		"the recording begins in the middle of a session (#%d), or its client made no handshake: what may rest on something before is not judged", s.since)
}

// exchange is the state of an HTTP exchange. A pipe is exchange 0, which has no HTTP events.
type exchange struct {
	own     *scope              // of an exchange outside sessions
	session *scope              // named by the request
	calls   []*call             // requests in the frames, answered or not
	headers map[string][]string // of a request, until the body comes
	lanes   [3]lane             // by direction
	undos   []func()
	taken   []takenAnswer // the client's, in the frames

	requested moment
	method    string // HTTP's
	sessionID string
	revision  string // named by the request's header
	posted    string // the message in a body without a request

	answered uint64 // the first event of the response
	spoken   uint64 // the first frame, or server-sent event, of the response
	status   int    // of the response
	single   bool   // the response is a single body, and no stream

	ended  uint64
	hungUp bool // by the client
	cut    bool // by the client or the recorder: parts of the response may still come

	position    position // in the stream of server-sent events
	resumes     bool     // the request resumes a stream
	redelivered bool     // the next frame was sent before
	sseAnswers  bool     // the stream of HTTP+SSE with the answers
}

// onRefusal keeps how to undo the effect of a frame of the client on the rules, until the exchange has
// a response. If HTTP refuses the exchange, or the exchange breaks, the client may send the frame again.
func (x *exchange) onRefusal(undo func()) { x.undos = append(x.undos, undo) }

func (x *exchange) undo() {
	for _, undo := range x.undos {
		undo()
	}
	x.undos = nil
}

// refused reports whether HTTP refused the exchange. The body may hold the words of a login
// or of a web framework; it need not be a message.
func (x *exchange) refused() bool { return x.status >= 300 }

// isAnswer reports whether the body of a refusal is the response to a request. A JSON-RPC
// error without an id answers no request.
func (x *exchange) isAnswer(messages []timeline.Message) bool {
	if mayBeSentAgain(x.status) || len(messages) != 1 {
		return false
	}
	m := &messages[0]
	return m.Kind == transport.Response && hasJSONRPC(m.Raw) && m.ID != nil && string(m.ID) != "null"
}

// mayBeSentAgain reports whether a status is about the exchange and not about the message, as
// for a login or a busy server: a client may send the message again, whatever the body says.
func mayBeSentAgain(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// onBody notes the body of a POST that has no request, such as a notification: a status is
// its answer.
func (x *exchange) onBody(messages []timeline.Message) {
	isRequest := func(m timeline.Message) bool { return m.Kind == transport.Request }
	if x.requested.seq == 0 || x.method != http.MethodPost || x.answered != 0 || len(messages) == 0 || slices.ContainsFunc(messages, isRequest) {
		return
	}
	x.posted = clip(messages[0].Method)
	if messages[0].Kind == transport.Response {
		x.posted = "the response to id " + clip(string(messages[0].ID))
	}
}

// exchanges holds the HTTP exchanges and the scopes. Ended exchanges stay until there are
// many, because late events come soon. On a pipe there is a single scope. Over HTTP each
// session has a scope, by Mcp-Session-Id. If the server named no session, a recording may have
// several clients, and each exchange has a scope of its own.
type exchanges struct {
	*reporter
	all          map[uint64]*exchange
	swept        int               // exchanges left by the last sweep
	current      *scope            // of the pipe, or of the latest session
	byID         map[string]*scope // sessions, by Mcp-Session-Id
	sessions     []*scope          // in order
	isSSE        bool              // HTTP+SSE: answers come on another exchange
	answersOn    uint64            // the exchange with the answers; 0: not recorded
	hasStatus    bool              // the status of some exchange is recorded
	greeted      string            // the revision of the latest handshake outside of sessions
	greetedOther bool              // there is a handshake with another one
	named        string            // the latest revision that the header of a request outside of sessions named

	// events has the positions of the latest events with an id, by session and id: a client
	// resumes a stream where the stream was cut, not long ago.
	events recent[uint64, position]
}

// get returns an exchange, a new exchange if need be.
func (h *exchanges) get(stream uint64) *exchange {
	x := h.all[stream]
	if x == nil {
		if len(h.all) >= 2*max(1024, h.swept) {
			h.sweep()
		}
		x = &exchange{}
		h.all[stream] = x
	}
	return x
}

// sweep forgets ended exchanges. If many are left, the recording may lack the ends of
// exchanges: then sweep forgets the scopes without open calls too.
func (h *exchanges) sweep() {
	over := func(stream uint64, x *exchange) bool {
		return stream != 0 && x.own == nil && (x.ended != 0 || x.requested.seq == 0 && len(x.calls) == 0)
	}
	maps.DeleteFunc(h.all, over)
	if len(h.all) >= max(1024, h.swept) {
		for _, x := range h.all {
			if x.own != nil && !x.own.isSession && x.own.open == 0 {
				x.own = nil
				x.calls = nil
			}
		}
		maps.DeleteFunc(h.all, over)
	}
	h.swept = len(h.all)
}

// scopeOf returns a frame's scope; nil if the scope is not certain.
func (h *exchanges) scopeOf(step timeline.Step, exchange *exchange) *scope {
	switch {
	case step.Stream == 0 || h.isSSE:
		return h.current
	case exchange.session != nil:
		return exchange.session
	case exchange.own != nil || step.Dir != transport.ClientToServer:
		return exchange.own
	}
	isRequest := func(m timeline.Message) bool { return m.Kind == transport.Request }
	isGreeting := func(m timeline.Message) bool { return m.Method == mcp.MethodInitialize }
	if !slices.ContainsFunc(step.Messages, isRequest) {
		return nil
	}
	exchange.own = newScope()
	revision := cmp.Or(exchange.revision, h.negotiated(exchange))
	if !slices.ContainsFunc(step.Messages, isGreeting) && !mcp.Stateless.Has(revision) { // such a request names it itself
		exchange.own.isPart = true
		exchange.own.rules = order.New(revision)
	}
	return exchange.own
}

func (h *exchanges) addSession(id string, scope *scope) {
	scope.isSession = true
	h.sessions = append(h.sessions, scope)
	h.byID[id] = scope
}

// revisionOf returns the revision in force for an exchange: the session's, or the
// revision in the request's header.
func (h *exchanges) revisionOf(exchange *exchange) string {
	own := h.current
	if named := h.byID[exchange.sessionID]; named != nil {
		own = named
	}
	if r := own.rules.Revision(); r != "" {
		return r
	}
	return exchange.revision
}

// onGreeting notes the revision of a handshake outside of sessions.
func (h *exchanges) onGreeting(revision string) {
	if revision != "" {
		h.greetedOther = h.greetedOther || h.greeted != "" && h.greeted != revision
		h.greeted = revision
	}
}

// negotiated returns the revision of the handshake of an exchange's client; "" if that is not certain.
func (h *exchanges) negotiated(exchange *exchange) string {
	if exchange.sessionID == "" && exchange.session == nil {
		if h.greetedOther {
			return ""
		}
		return h.greeted
	}
	if named := h.byID[exchange.sessionID]; named != nil {
		return named.rules.Revision()
	}
	return h.current.rules.Revision()
}

// onRequest begins an exchange.
func (h *exchanges) onRequest(step timeline.Step, info store.HTTPInfo) {
	x := h.get(step.Stream)
	if x.ended != 0 { // a new exchange has the number
		*x = exchange{own: x.own, calls: x.calls}
	}
	if x.answered != 0 {
		h.report(requestFirst, transport.ServerToClient, "", []uint64{step.Seq, x.answered}, "the request of exchange %d stands behind its response (#%d)", step.Stream, x.answered)
	}
	x.requested = moment{step.Seq, step.At}
	x.method = info.Method
	x.headers = info.Header
	x.revision = firstHeader(info.Header, mcp.HeaderProtocolVersion)
	x.sessionID = firstHeader(info.Header, mcp.HeaderSessionID)
	if x.sessionID == "" {
		h.named = cmp.Or(x.revision, h.named)
	}
	if id := x.sessionID; id != "" {
		if h.byID[id] == nil && len(h.byID) == 0 { // the session began without an id
			h.byID[id] = h.current
		} else if h.byID[id] == nil {
			h.addSession(id, newScope())
		}
		x.session = h.byID[id]
	}
	if id := firstHeader(x.headers, mcp.HeaderLastEventID); id != "" {
		h.judgeResumption(step, x, id)
	}
}

// onResponsePart notes an event of an exchange's response.
func (h *exchanges) onResponsePart(step timeline.Step, what string) *exchange {
	x := h.get(step.Stream)
	if x.answered == 0 {
		x.answered = step.Seq
	}
	if x.ended != 0 && !x.cut {
		h.report(nothingBehind, transport.ServerToClient, "", []uint64{step.Seq, x.ended}, "the server sent %s of exchange %d after its end (#%d)", what, step.Stream, x.ended)
	}
	return x
}

// onHead notes the head of a response, which may begin a session.
func (h *exchanges) onHead(step timeline.Step, info store.HTTPInfo) *exchange {
	exchange := h.onResponsePart(step, "the head")
	h.hasStatus = true
	exchange.status = info.Status
	id := firstHeader(info.Header, mcp.HeaderSessionID)
	if id != "" {
		exchange.sessionID = id
	}
	if !exchange.refused() {
		exchange.undos = nil
	}
	if info.Status == http.StatusAccepted && len(exchange.calls) > 0 {
		h.isSSE = true // the answer comes on another stream: HTTP+SSE, begun before the recording
	}
	kind, _, _ := strings.Cut(firstHeader(info.Header, "Content-Type"), ";")
	exchange.single = strings.EqualFold(strings.TrimSpace(kind), mcp.MediaJSON)
	exchange.headers = nil
	if exchange.own != nil && id != "" && !exchange.own.isSession { // its request was an initialize
		h.addSession(id, exchange.own)
		h.current = exchange.own
	}
	if s := exchange.session; s != nil {
		s.served = s.served || info.Status < 300
		s.refused = !s.served
	}
	return exchange
}

// hangsUpIn is how long a client may take to hang up at once.
const hangsUpIn = time.Second

// onEnd ends an exchange.
func (h *exchanges) onEnd(step timeline.Step, info store.HTTPInfo) {
	x := h.get(step.Stream)
	at := moment{step.Seq, step.At}
	isAbort := info.What == store.HTTPAbort
	for _, c := range x.calls {
		c.hungUp = c.hungUp || isAbort && !h.isSSE
	}
	if x.answered == 0 && (info.What == store.HTTPNone || info.What == store.HTTPBroken) {
		x.undo()
	}
	// A client may hang up at once; after an end of the recorder the answer is unknown.
	if info.What != store.HTTPLeft && !(isAbort && step.At-x.requested.at < hangsUpIn) {
		h.judgePost(x, step.Stream, at, ": "+httpEnding(info, step.Seq))
	}
	x.ended = step.Seq
	x.hungUp = isAbort
	x.cut = isAbort || info.What == store.HTTPLeft
	x.redelivered = false
	x.own = nil
	x.session = nil
	x.calls = nil
	x.headers = nil
	x.undos = nil
}

// judgePost is rule E14 of an exchange, at an end.
func (h *exchanges) judgePost(x *exchange, stream uint64, end moment, how string) {
	if x.posted != "" && x.answered == 0 && x.ended == 0 {
		h.report(postAnswered, transport.ServerToClient, h.revisionOf(x), []uint64{x.requested.seq, end.seq}, "the server did not answer the POST of %s (exchange %d) in %v%s",
			x.posted, stream, phrase.Brief(end.at-x.requested.at), how)
	}
}

// httpEnding describes how an exchange ended.
func httpEnding(info store.HTTPInfo, seq uint64) string {
	switch info.What {
	case store.HTTPAbort:
		return fmt.Sprintf("the client hung up (#%d)", seq)
	case store.HTTPBroken:
		return fmt.Sprintf("the connection to the server broke (#%d: %s)", seq, clip(info.Error))
	case store.HTTPLeft:
		return fmt.Sprintf("the recorder ended before the exchange did (#%d)", seq)
	case store.HTTPNone:
		return fmt.Sprintf("no HTTP response came (#%d: %s)", seq, clip(info.Error))
	}
	return fmt.Sprintf("the server ended the HTTP response without it (#%d)", seq)
}

// firstHeader returns a header's first value; the case of the name does not matter.
func firstHeader(header map[string][]string, name string) string {
	values, ok := header[name]
	if !ok {
		for spelled, v := range header {
			if strings.EqualFold(spelled, name) {
				values = v
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// Rule P11.
var (
	eventIDUnique  = newDemand("P11", "an event has an id of its own", order.Error, pageResumability, mcp.Resumption)
	eventForward   = newDemand("P11", "redelivery keeps the stream's order, and gives nothing twice", order.Error, pageResumability, mcp.Resumption)
	eventOfStream  = newDemand("P11", "no event of another stream is redelivered", order.Error, pageResumability, mcp.Resumption)
	eventKnown     = newDemand("P11", "a stream is taken up behind an event that was received", order.Warning, pageResumability, mcp.Resumption)
	responseStream = newDemand("P11", "a response comes on its request's stream, or where that is taken up again", order.Error,
		"basic/transports, Listening for Messages from the Server", mcp.Resumption)
	notResumed = newDemand("P11", "a lost stream is not taken up again", order.Warning, pageHTTP+", Receiving Messages", mcp.Stateless)
)

const pageResumability = "basic/transports, Resumability and Redelivery"

// position is the place of an event in a stream.
type position struct {
	*eventStream
	n   uint64 // from 1
	seq uint64 // of the event; 0: a client's claim
}

// eventStream is a stream of server-sent events, over the first exchange and those resuming.
type eventStream struct {
	events uint64 // events with an id
}

var idSeed = maphash.MakeSeed()

func eventKey(sessionID, id string) uint64 {
	return maphash.Comparable(idSeed, [2]string{sessionID, id})
}

// judgeResumption judges a request to resume a stream behind an event.
func (h *exchanges) judgeResumption(step timeline.Step, exchange *exchange, id string) {
	exchange.resumes = true
	revision := h.revisionOf(exchange)
	if mcp.Stateless.Has(revision) {
		h.report(notResumed, transport.ClientToServer, revision, []uint64{step.Seq}, "the client asked for what comes after event %s of a stream", clip(id))
		return
	}
	last, known := h.events.get(eventKey(exchange.sessionID, id))
	if known {
		exchange.position = position{eventStream: last.eventStream, n: last.n}
		return
	}
	if own := h.byID[exchange.sessionID]; own != nil && own.beginning == middle {
		own.reportMiddle(h.reporter)
	} else if mcp.Resumption.Has(revision) {
		h.report(eventKnown, transport.ClientToServer, revision, []uint64{step.Seq}, "the client asked for what comes after event %s, which was never sent in its session", clip(id))
	}
}

// judgeEvent judges an event with an id. It reports whether a resumed stream has it again.
func (h *exchanges) judgeEvent(step timeline.Step, exchange *exchange, id string) bool {
	key := eventKey(exchange.sessionID, id)
	before, known := h.events.get(key)
	if !known {
		if exchange.position.eventStream == nil {
			exchange.position.eventStream = &eventStream{}
		}
		exchange.position.events++
		exchange.position.n = exchange.position.events
		h.events.put(key, position{exchange.position.eventStream, exchange.position.n, step.Seq})
		return false
	}
	// A recording without sessions may have several clients, each with ids of its own.
	if revision := h.revisionOf(exchange); mcp.Resumption.Has(revision) && (exchange.sessionID != "" || exchange.resumes) {
		report := func(demand order.Demand, format string) {
			h.report(demand, transport.ServerToClient, revision, []uint64{step.Seq, before.seq}, format, clip(id), before.seq)
		}
		switch own := exchange.position.eventStream; {
		case !exchange.resumes:
			report(eventIDUnique, "the server sent event %s, which has the id of #%d")
		case own != nil && own != before.eventStream:
			report(eventOfStream, "the server sent event %s again, which is of another stream (#%d)")
		case before.n <= exchange.position.n:
			report(eventForward, "the server sent event %s again (#%d), which is not behind what the client has")
		}
	}
	if exchange.position.eventStream == nil {
		exchange.position.eventStream = before.eventStream
	}
	if exchange.position.eventStream == before.eventStream {
		exchange.position.n = max(exchange.position.n, before.n)
	}
	return exchange.resumes
}
