package order

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules P1, P2, P3, P5 and P6.
var (
	answersRequest = newLaw(law{"P1", "a response answers a request", Error, pageBase, "Responses", mcp.Always})
	answerReceived = newLaw(law{"P1", "a response comes after its request was received", Error, pageBase, "Responses", mcp.Always})
	answerOnce     = newLaw(law{"P1", "a request is answered once", Error, pageBase, "Responses", mcp.Always})
	idSameType     = newLaw(law{"P1", "the id of a response has the type of the request's", Error, pageBase, "Responses", mcp.Always})
	retryNewID     = newLaw(law{"P1", "a retry with the input that was asked for has a new id", Error, pageMRTR, "Client Requirements", mcp.Stateless})

	idNotNull = newLaw(law{"P2", "the id of a request is not null", Error, pageBase, "Requests", mcp.Always})
	idNotUsed = newLaw(law{"P2", "the id of a request was not used before in the session", Error, pageBase, "Requests", mcp.Handshake})
	idNotOpen = newLaw(law{"P2", "the id of a request is not that of another open one", Error, pageBase, "Requests", mcp.Always})

	tokenNotOpen   = newLaw(law{"P3", "a progress token is unique among open requests", Error, pageProgress, "Progress Flow", mcp.Always})
	tokenReceived  = newLaw(law{"P3", "progress is of a request that was received", Error, pageProgress, "Behavior Requirements", mcp.Always})
	progressEnds   = newLaw(law{"P3", "progress stops when the request is answered", Error, pageProgress, "Implementation Notes", mcp.Always})
	progressRises  = newLaw(law{"P3", "progress rises with each notification", Error, pageProgress, "Progress Flow", mcp.Always})
	progressServer = newLaw(law{"P3", "only the server sends progress", Error, pageProgress, "Progress Flow", mcp.Stateless})

	serverRequests  = newLaw(law{"P5", "the server sends no requests", Error, pageStdio, "Receiving Messages", mcp.Stateless})
	clientResponses = newLaw(law{"P5", "the client sends no responses", Error, pageStdio, "Sending Messages", mcp.Stateless})

	cancelsOwn    = newLaw(law{"P6", "a cancellation names a request of its sender", Error, pageCancel, "Behavior Requirements", mcp.Always})
	cancelsOpen   = newLaw(law{"P6", "a cancellation names a request that is believed open", Warning, pageCancel, "Behavior Requirements", mcp.Always})
	cancelsListen = newLaw(law{"P6", "a server cancels subscriptions alone", Error, pageCancel, "Behavior Requirements", mcp.Stateless})
	cancelledEnds = newLaw(law{"P6", "after a cancellation nothing more is sent for the request", Warning, pageStdio, "Cancellation", mcp.Stateless})
)

// Request is a request on the wire and its later fate.
type Request struct {
	Dir       transport.Direction
	ID        json.RawMessage
	Method    string
	Cancelled bool // its sender has cancelled it
	Answered  bool // a response is on the wire

	stream         uint64          // the HTTP exchange; 0 on a pipe
	before         *Request        // with the same id, open when this was sent
	beforeToken    *Request        // with the same progress token, likewise
	id, token      mcp.Key         // the token is "" without progress
	received       Mark            // when the receiver had it; 0 before
	answerReceived Mark            // when the sender had the response
	cancelReceived Mark            // when the receiver had the cancellation
	refused        bool            // turned away by HTTP, or lost with an exchange; no response is on the wire
	failed         bool            // the response is an error
	asksInput      bool            // the response is an InputRequiredResult
	task           bool            // it asked to run as a task
	ended          bool            // the task has a terminal status
	declaresTasks  bool            // its client can do tasks of the extension
	about          taskKey         // the task asked about
	session        int             // the number of the handshake
	progress       json.RawMessage // the last value; nil before

	// The state before a frame, in case HTTP refuses the frame: see Checker.Refuse.
	progressBefore                             json.RawMessage
	answerStream, cancelStream, progressStream uint64 // the HTTP exchanges of the frames

	acknowledged bool         // of a subscription
	filter       listenFilter // of a subscription
	logIndex     int          // place among the open requests with a log level, from 1
}

// Received reports whether the other end has received the request.
func (r *Request) Received() bool { return r.received > 0 }

// AnswerReceived reports whether the sender of the request has the response.
func (r *Request) AnswerReceived() bool { return r.answerReceived > 0 }

// String names the request: ping (id 3).
func (r *Request) String() string { return fmt.Sprintf("%s (id %s)", r.Method, r.ID) }

// end holds the requests of an end.
type end struct {
	clock     Mark // frames received
	certain   Mark // the frames certainly received before the last sent frame: see Observe
	list      []*Request
	byID      map[mcp.Key]*Request // the latest, of a long list
	byToken   map[mcp.Key]*Request // the latest, of a long list
	withdrawn map[mcp.Key]bool     // ids of withdrawn requests

	oldIDs, oldTokens hashSet[mcp.Key] // of forgotten requests
	kept              int              // requests left by the last forget
}

// judgeRequest is rule P2, and the laws of the other rules about requests.
func (c *Checker) judgeRequest(dir transport.Direction, m *message, known Mark) {
	if string(m.ID) == "null" {
		c.add(idNotNull, dir, "%s with the id null", m.Method)
		return
	}
	if dir == transport.ServerToClient && c.stateless() {
		c.add(serverRequests, dir, "the request %s (id %s)", m.Method, m.ID)
	}
	sender := c.end(dir)
	idsAreFresh := !c.stateless() && c.revision != "" && m.Method != mcp.MethodInitialize
	before := sender.request(m.id)
	for req := range sender.withID(m.id) {
		if !req.refused { // by HTTP: it counts before later ones that were
			before = req
			break
		}
	}
	if before != nil {
		switch {
		case before.refused && before.Method == m.Method: // it is sent again
		case !before.refused && !knows(before.answerReceived, known) && !before.Cancelled:
			c.add(idNotOpen, dir, "%s with the id %s of %s, which is open", m.Method, m.ID, before.Method)
		case c.stateless() && before.asksInput && before.Method == m.Method && transport.Member(m.Params, mcp.MemberInputResponses) != nil:
			c.add(retryNewID, dir, "%s with the answers that the response to id %s asked for, under that id", m.Method, m.ID)
		case idsAreFresh && before.session == c.handshake.count:
			c.add(idNotUsed, dir, "%s with the id %s, which %s had before", m.Method, m.ID, before.Method)
		}
	} else if sender.oldIDs.has(m.id) && idsAreFresh {
		c.add(idNotUsed, dir, "%s with the id %s, which another request had before", m.Method, m.ID)
	}
	if m.progressToken == nil {
		return
	}
	if other := sender.withToken(m.token); other != nil && !knows(other.answerReceived, known) && !other.Cancelled && !other.refused {
		c.add(tokenNotOpen, dir, "%s (id %s) with the progress token %s of %v, which is open", m.Method, m.ID, m.progressToken, other)
	}
}

// judgeResponse is rule P1. It returns the request, unless the response breaks a law.
func (c *Checker) judgeResponse(dir transport.Direction, message *message, known Mark) *Request {
	asker := c.end(dir.Reverse())
	req := asker.answeredBy(message)
	if req == nil && (message.ID == nil || string(message.ID) == "null") {
		return nil // package check judges it: it may be the answer to a request without a readable id
	}
	switch {
	case req != nil && req.id != message.id && !req.Answered:
		c.add(idSameType, dir, "the response to %v under the id %s: the same but for its type, and a strict %s does not know it", req, message.ID, dir.Receiver())
	case req == nil && dir == transport.ClientToServer && c.stateless():
		c.add(clientResponses, dir, "a response (id %s)", message.ID)
	case req == nil && asker.oldIDs.has(message.id):
		c.add(answerOnce, dir, "a second response to the request with the id %s", message.ID)
	case req == nil:
		c.add(answersRequest, dir, "a response with the id %s, which no request of the %s had", message.ID, dir.Receiver())
	case req.Answered:
		c.add(answerOnce, dir, "a second response to %v", req)
	case !knows(req.received, known):
		c.add(answerReceived, dir, "the response to %v before it had received the request", req)
	case c.stateless() && knows(req.cancelReceived, known) && req.Method != mcp.MethodListen:
		c.add(cancelledEnds, dir, "the response to %v after it had received its cancellation", req)
	default:
		return req
	}
	return nil
}

// judgeCancellation is rule P6; other is the other end.
func (e *end) judgeCancellation(v *violations, other *end, dir transport.Direction, m *message, known Mark) {
	if m.cancelled == nil {
		return // of a task: it names no request
	}
	if dir == transport.ServerToClient && v.stateless() {
		if req := other.request(m.cancels); req == nil || req.Method != mcp.MethodListen {
			v.add(cancelsListen, dir, "a cancellation of id %s, which is no subscription", m.cancelled)
		}
		return
	}
	req := e.request(m.cancels)
	if other := e.request(m.cancels.Retyped()); req == nil && other != nil {
		v.add(cancelsOwn, dir, "a cancellation of %v under the id %s: the same but for its type", other, m.cancelled)
		return
	}
	switch {
	case req == nil && e.withdrawn[m.cancels]:
	case req == nil && e.oldIDs.has(m.cancels):
		v.add(cancelsOpen, dir, "a cancellation of the request with the id %s after it had received the response", m.cancelled)
	case req == nil:
		v.add(cancelsOwn, dir, "a cancellation of id %s, which no request of it had", m.cancelled)
	case req.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		v.add(initializeKept, dir, "a cancellation of %v", req)
	case knows(req.answerReceived, known):
		v.add(cancelsOpen, dir, "a cancellation of %v after it had received the response", req)
	}
}

// judgeProgress is rule P3 for a notification to this end, in direction dir.
func (e *end) judgeProgress(v *violations, dir transport.Direction, m *message, known Mark) {
	token := m.progressToken
	if dir == transport.ClientToServer && v.stateless() {
		v.add(progressServer, dir, "progress for token %s", token)
		return
	}
	req := e.reportedOn(m)
	if other := e.withToken(m.token.Retyped()); req == nil && other != nil {
		v.add(tokenReceived, dir, "progress of %v under the token %s: the same but for its type", other, token)
		return
	}
	switch {
	case req == nil && e.oldTokens.has(m.token):
		v.add(progressEnds, dir, "progress for token %s after the response to its request", token)
	case req == nil:
		v.add(tokenReceived, dir, "progress for token %s, which no request of the %s had", cmp.Or(string(token), "(none)"), dir.Receiver())
	case !knows(req.received, known):
		v.add(tokenReceived, dir, "progress of %v before it had received the request", req)
	case req.Answered && (!req.task || req.ended):
		v.add(progressEnds, dir, "progress of %v after the response", req)
	case v.stateless() && knows(req.cancelReceived, known):
		v.add(cancelledEnds, dir, "progress of %v after it had received its cancellation", req)
	case !rises(req.progress, transport.Member(m.Params, "progress")):
		v.add(progressRises, dir, "progress %s of %v after %s", transport.Member(m.Params, "progress"), req, req.progress)
	}
}

// rises reports whether a number is above the number before. Other JSON passes.
func rises(before, now json.RawMessage) bool {
	a, b := string(before), string(now)
	return !mcp.IsNumber(a) || !mcp.IsNumber(b) || mcp.CompareNumbers(b, a) > 0
}

// Mark is the number of frames an end has received: a point on the end's own clock.
type Mark int

// knows reports whether an end knew a fact at a mark.
func knows(fact, at Mark) bool { return fact > 0 && fact <= at }

// shortList is the number of requests up to which a list is searched without an index.
const shortList = 16

// keep adds a request.
func (e *end) keep(req *Request) {
	e.list = append(e.list, req)
	if len(e.list) < shortList {
		return
	}
	fresh := e.list[len(e.list)-1:]
	if e.byID == nil {
		e.byID = map[mcp.Key]*Request{}
		e.byToken = map[mcp.Key]*Request{}
		fresh = e.list
	}
	for _, r := range fresh {
		e.byID[r.id] = r
		if r.token != "" {
			e.byToken[r.token] = r
		}
	}
}

// request returns the latest request with an id, or nil.
func (e *end) request(id mcp.Key) *Request {
	if e.byID != nil {
		return e.byID[id]
	}
	for _, req := range slices.Backward(e.list) {
		if req.id == id {
			return req
		}
	}
	return nil
}

// withToken returns the latest request with a progress token, or nil.
func (e *end) withToken(token mcp.Key) *Request {
	switch {
	case token == "":
		return nil
	case e.byID != nil:
		return e.byToken[token]
	}
	for _, req := range slices.Backward(e.list) {
		if req.token == token {
			return req
		}
	}
	return nil
}

// reportedOn returns the request that progress belongs to, or nil. A peer should not have two open requests
// with the same progress token. If so, progress over HTTP belongs to the request of the same exchange, and any
// other progress to the latest request.
func (e *end) reportedOn(m *message) *Request {
	latest := e.withToken(m.token)
	for req := latest; req != nil; req = req.beforeToken {
		if req.stream == m.stream {
			return req
		}
	}
	return latest
}

// linkTokens notes which requests with the progress token of a new one are open, a few of the latest.
func (e *end) linkTokens(req *Request) {
	req.beforeToken = e.withToken(req.token)
	next := &req.beforeToken
	for n := 0; *next != nil; {
		switch {
		case n == maxSameID:
			*next = nil
		case (*next).Answered || (*next).refused:
			*next = (*next).beforeToken
		default:
			n++
			next = &(*next).beforeToken
		}
	}
}

// maxSameID is how many requests with the same id or progress token are told apart.
const maxSameID = 64

// withID yields the latest request with an id, and the requests open when it was sent.
func (e *end) withID(id mcp.Key) iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		req := e.request(id)
		for n := 0; req != nil && n < maxSameID && yield(req); n++ {
			req = req.before
		}
	}
}

// asked yields the requests with an id; if there are none, those with its brother of the other type, "7" for
// 7: many peers take that for the id.
func (e *end) asked(id mcp.Key) iter.Seq[*Request] {
	if e.request(id) == nil {
		id = id.Retyped()
	}
	return e.withID(id)
}

// answeredBy returns the request of a response, or nil. A peer should not have two open
// requests with the same id. If so, a response over HTTP belongs to the request of the same
// exchange, and any other response to the first open request.
func (e *end) answeredBy(message *message) (best *Request) {
	isOpen := func(req *Request) bool { return !req.Answered && !req.refused }
	isOn := func(req *Request) bool { return req.stream == message.stream }
	for req := range e.asked(message.id) {
		if best == nil || isOn(req) && !isOn(best) || isOn(req) == isOn(best) && isOpen(req) {
			best = req
		}
	}
	return best
}

// remembered is how many answered requests of an end are kept whole.
const remembered = 4096

// forget drops the answered requests of an end, except the latest and the pinned, when there
// are many.
func (e *end) forget(pinned ...*Request) {
	if len(e.list) < 2*max(remembered, e.kept) {
		return
	}
	kept := e.list[:0]
	for i, req := range e.list {
		isOver := req.refused || req.Answered && (!req.task || req.ended) // no more frames may belong to it
		if i >= len(e.list)-remembered || !isOver || slices.Contains(pinned, req) {
			kept = append(kept, req)
			continue
		}
		e.oldIDs.add(req.id)
		if e.byID[req.id] == req {
			delete(e.byID, req.id)
		}
		if req.token != "" {
			e.oldTokens.add(req.token)
			if e.byToken[req.token] == req {
				delete(e.byToken, req.token)
			}
		}
	}
	clear(e.list[len(kept):])
	e.list = kept
	e.kept = len(kept)
}

// hashSet is a set of strings, kept as hashes.
type hashSet[T ~string] map[uint64]struct{}

var hashSeed = maphash.MakeSeed()

func (h hashSet[T]) has(key T) bool {
	if len(h) == 0 {
		return false
	}
	_, ok := h[maphash.String(hashSeed, string(key))]
	return ok
}

func (h *hashSet[T]) add(key T) {
	if *h == nil {
		*h = hashSet[T]{}
	}
	(*h)[maphash.String(hashSeed, string(key))] = struct{}{}
}

// subscription returns the listen request named by a notification, or nil. The end is the
// client's.
func (e *end) subscription(message *message) *Request {
	req := e.request(mcp.KeyOf(subscriptionID(message)))
	if req == nil || req.Method != mcp.MethodListen {
		return nil
	}
	return req
}

func subscriptionID(message *message) json.RawMessage {
	return transport.Member(message.Params, mcp.MemberMeta, mcp.MetaSubscriptionID)
}

// OneSender reports whether a violation depends on the order of two frames of one sender: on
// different HTTP streams a frame may have overtaken the other, without any fault.
func (v Violation) OneSender() bool {
	switch v.Title {
	case progressEnds.title, progressRises.title, cancelsOwn.title:
		return true
	}
	return false
}

// OtherType reports whether a violation is about an id that is right but for its type, as all ids of a peer
// are that has one wrong.
func (v Violation) OtherType() bool { return v.Title == idSameType.title }

// NeedsBeginning reports whether a violation depends on earlier frames: a recording from the
// middle of a session proves no such violation.
func (v Violation) NeedsBeginning() bool {
	switch v.Title {
	case answersRequest.title, tokenReceived.title, cancelsOwn.title, subscriptionOpen.title, updatesSubscribed.title, logLevelSet.title:
		return true
	}
	return false
}
