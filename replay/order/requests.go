package order

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcprec/mcprec/replay/timeline"
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

// request is what the rules keep of a call: its fate on the wire, on the clocks of both ends. The call has it, so
// that it lasts as long as the Model remembers the call.
type request struct {
	of             *timeline.Call
	by             *Checker // that keeps it
	answered       bool     // a response is on the wire
	cancelled      bool     // its sender has cancelled it
	received       Mark     // when the receiver had it; 0 before
	answerReceived Mark     // when the sender had the response
	cancelReceived Mark     // when the receiver had the cancellation
	refused        bool     // turned away by HTTP, or lost with an exchange; no response is on the wire
	failed         bool     // the response is an error
	asksInput      bool     // the response is an InputRequiredResult
	isTask         bool     // it asks to be done as a task, in a revision with tasks
	declaresTasks  bool     // its client can do tasks of the extension
	session        int      // the number of the handshake
	progress       []byte   // the last value; nil before

	// The state before a frame, in case HTTP refuses the frame: see Checker.Refuse.
	progressBefore                             []byte
	answerStream, cancelStream, progressStream uint64 // the HTTP exchanges of the frames

	acknowledged bool          // of a subscription
	filter       *listenFilter // of a subscription
	logIndex     int           // place among the open requests with a log level, from 1
	agentSession *agentSession // of a prompt, and of a permission that an agent asks for
}

// request returns what the checker keeps of a call; nil of none, and of a call that another checker judges.
func (c *Checker) request(call *timeline.Call) *request {
	if call == nil {
		return nil
	}
	if req, isKept := call.Judged.(*request); isKept && req.by == c {
		return req
	}
	return nil
}

// String names the request: ping (id 3).
func (r *request) String() string { return fmt.Sprintf("%s (id %s)", r.of.Method, r.of.ID) }

// isOver reports whether no more progress may come: the request is answered, and no task goes on for it.
func (r *request) isOver() bool {
	return r.answered && !(r.isTask && r.of.Task != nil && !r.of.Task.Over)
}

// end is an end of the session.
type end struct {
	clock     Mark             // frames received
	certain   Mark             // the frames certainly received before the last sent frame: see Observe
	withdrawn map[mcp.Key]bool // ids of withdrawn requests

	ids, tokens used             // of its requests, since the handshake
	again       hashSet[mcp.Key] // ids of refused requests, which may be sent again
}

// judgeRequest is rule P2, and the laws of the other rules about requests.
func (c *Checker) judgeRequest(step *timeline.Step, m *timeline.Message, known Mark) {
	dir := step.Dir
	if string(m.ID) == "null" {
		c.add(idNotNull, dir, "%s with the id null", m.Method)
		return
	}
	if dir == transport.ServerToClient && c.stateless() {
		c.add(serverRequests, dir, "the request %s (id %s)", m.Method, m.ID)
	}
	sender := c.end(dir)
	idsAreFresh := !c.stateless() && c.revision != "" && m.Method != mcp.MethodInitialize
	if before := c.request(m.SameID); before != nil {
		switch {
		case before.refused && before.of.Method == m.Method: // it is sent again
		case !before.refused && !knows(before.answerReceived, known) && !before.cancelled:
			c.add(idNotOpen, dir, "%s with the id %s of %s, which is open", m.Method, m.ID, before.of.Method)
		case c.stateless() && before.asksInput && before.of.Method == m.Method && transport.Member(m.Params, mcp.MemberInputResponses) != nil:
			c.add(retryNewID, dir, "%s with the answers that the response to id %s asked for, under that id", m.Method, m.ID)
		case idsAreFresh && before.session == c.handshake.count:
			c.add(idNotUsed, dir, "%s with the id %s, which %s had before", m.Method, m.ID, before.of.Method)
		}
	} else if idsAreFresh && sender.ids.has(m.Call.Key()) && !sender.again.has(m.Call.Key()) {
		c.add(idNotUsed, dir, "%s with the id %s, which another request had before", m.Method, m.ID)
	}
	if other := c.request(m.SameToken); other != nil && !knows(other.answerReceived, known) && !other.cancelled && !other.refused {
		c.add(tokenNotOpen, dir, "%s (id %s) with the progress token %s of %v, which is open", m.Method, m.ID, m.Call.Token, other)
	}
}

// judgeResponse is rule P1. It returns the request, unless the response breaks a law.
func (c *Checker) judgeResponse(step *timeline.Step, m *timeline.Message, known Mark) *request {
	dir := step.Dir
	req := c.request(m.Call)
	switch {
	case req == nil && step.IsRefused(): // the Model looks for no call
	case req == nil && (m.ID == nil || string(m.ID) == "null"): // package check judges it: it may be the answer to a request without a readable id
	case req == nil && dir == transport.ClientToServer && c.stateless():
		c.add(clientResponses, dir, "a response (id %s)", m.ID)
	case req == nil && c.end(dir.Reverse()).ids.hasEither(mcp.KeyOf(m.ID)):
		c.add(answerOnce, dir, "a second response to the request with the id %s", m.ID)
	case req == nil:
		c.add(answersRequest, dir, "a response with the id %s, which no request of the %s had", m.ID, dir.Receiver())
	case m.Retyped && !req.answered:
		c.add(idSameType, dir, "the response to %v under the id %s: the same but for its type, and a strict %s does not know it", req, m.ID, dir.Receiver())
	case req.answered:
		c.add(answerOnce, dir, "a second response to %v", req)
	case !knows(req.received, known):
		c.add(answerReceived, dir, "the response to %v before it had received the request", req)
	case c.stateless() && knows(req.cancelReceived, known) && req.of.Method != mcp.MethodListen:
		c.add(cancelledEnds, dir, "the response to %v after it had received its cancellation", req)
	default:
		return req
	}
	return nil
}

// judgeCancellation is rule P6.
func (c *Checker) judgeCancellation(step *timeline.Step, m *timeline.Message, known Mark) {
	dir := step.Dir
	cancelled := timeline.CancelledID(m.Message)
	if cancelled == nil {
		return // of a task: it names no request
	}
	if dir == transport.ServerToClient && c.stateless() {
		if m.Subscription == nil {
			c.add(cancelsListen, dir, "a cancellation of id %s, which is no subscription", cancelled)
		}
		return
	}
	sender := c.end(dir)
	req := c.request(m.Call)
	id := mcp.KeyOf(cancelled)
	if initialize := c.handshake.request; req == nil && initialize != nil && dir == transport.ClientToServer && initialize.of.Key() == id {
		req = initialize // which the Model may have forgotten
	}
	switch {
	case req == nil && (step.IsRefused() || sender.withdrawn[id]):
	case req == nil && sender.ids.has(id):
		c.add(cancelsOpen, dir, "a cancellation of the request with the id %s after it had received the response", cancelled)
	case req == nil:
		c.add(cancelsOwn, dir, "a cancellation of id %s, which no request of it had", cancelled)
	case m.Retyped:
		c.add(cancelsOwn, dir, "a cancellation of %v under the id %s: the same but for its type", req, cancelled)
	case req.of.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		c.add(initializeKept, dir, "a cancellation of %v", req)
	case knows(req.answerReceived, known):
		c.add(cancelsOpen, dir, "a cancellation of %v after it had received the response", req)
	}
}

// judgeProgress is rule P3 for a notification.
func (c *Checker) judgeProgress(step *timeline.Step, m *timeline.Message, known Mark) {
	dir := step.Dir
	if dir == transport.ClientToServer && c.stateless() {
		c.add(progressServer, dir, "progress for token %s", m.ProgressToken())
		return
	}
	req := c.request(m.Call)
	if req == nil {
		token := m.ProgressToken()
		if c.end(dir.Reverse()).tokens.has(mcp.KeyOf(token)) {
			c.add(progressEnds, dir, "progress for token %s after the response to its request", token)
		} else {
			c.add(tokenReceived, dir, "progress for token %s, which no request of the %s had", cmp.Or(string(token), "(none)"), dir.Receiver())
		}
		return
	}
	switch {
	case m.Retyped:
		c.add(tokenReceived, dir, "progress of %v under the token %s: the same but for its type", req, m.ProgressToken())
	case !knows(req.received, known):
		c.add(tokenReceived, dir, "progress of %v before it had received the request", req)
	case req.isOver():
		c.add(progressEnds, dir, "progress of %v after the response", req)
	case c.stateless() && knows(req.cancelReceived, known):
		c.add(cancelledEnds, dir, "progress of %v after it had received its cancellation", req)
	default:
		if now := progressOf(m); !rises(req.progress, now) {
			c.add(progressRises, dir, "progress %s of %v after %s", now, req, req.progress)
		}
	}
}

func progressOf(m *timeline.Message) json.RawMessage { return transport.Member(m.Params, "progress") }

// rises reports whether a number is above the number before. Other JSON passes.
func rises(before, now json.RawMessage) bool {
	a, b := string(before), string(now)
	return !mcp.IsNumber(a) || !mcp.IsNumber(b) || mcp.CompareNumbers(b, a) > 0
}

// Mark is the number of frames an end has received: a point on the end's own clock.
type Mark int

// knows reports whether an end knew a fact at a mark.
func knows(fact, at Mark) bool { return fact > 0 && fact <= at }

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
