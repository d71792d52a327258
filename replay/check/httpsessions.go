package check

import (
	"bytes"
	"cmp"
	"fmt"
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

// Rules P15, P16, P17 and E20: what HTTP says around the messages.
var (
	beginsAnew     = newDemand("P15", "a client whose session is gone begins a new one", order.Error, pageSessions, mcp.Sessions)
	goneForGood    = newDemand("P15", "a session that is gone stays away", order.Error, pageSessions, mcp.Sessions)
	deletedIsGone  = newDemand("P15", "a session that its client ended is gone", order.Error, pageSessions, mcp.Sessions)
	headerNames    = newDemand("P16", "a request names its revision in a header", order.Error, pageVersion, mcp.VersionHeader)
	headerKnown    = newDemand("P16", "an unknown revision is refused", order.Error, pageVersion, mcp.VersionHeader)
	acceptedBare   = newDemand("P17", "what asks for nothing is answered with nothing", order.Error, "basic/transports, Sending Messages to the Server", mcp.HTTP)
	acceptedStatus = newDemand("P17", "what asks for nothing is answered with 202", order.Warning, "basic/transports, Sending Messages to the Server", mcp.HTTP)
	answeredInForm = newDemand("P17", "a request is answered as JSON or as events", order.Error, "basic/transports, Sending Messages to the Server", mcp.HTTP)
	callRefused    = newDemand("E20", "HTTP lets a call through", order.Warning, "")
)

const (
	pageSessions = "basic/transports, Session Management"
	pageVersion  = "basic/transports, Protocol Version Header"
)

// httpRules is rules P15, P16, P17 and E20. A finding about a session, or about refused calls, comes at the
// end, with the count.
type httpRules struct {
	*reporter
	sessions map[*timeline.Scope]*httpSession
	order    []*httpSession
	posts    map[uint64]*httpPost        // exchanges that go on
	refused  map[callName][]*refusedCall // calls that HTTP refused, and that were not sent again with success
	known    int                         // how many of these
}

// httpSession is a session by its id.
type httpSession struct {
	path         string
	revision     string
	taken        uint64 // the latest answer with success to a POST
	lost         moment // the first 404 since
	lostAgain    int    // how many 404s in a row the client has had, each before it sent the next request
	asked        int    // requests of the client since the 404
	last         moment // the latest of them
	refusals     []uint64
	returned     uint64 // an answer with success behind a refusal
	deleted      moment // the answer with success to a DELETE
	afterDelete  []uint64
	saysNoHeader uint64 // the first request without a version header
	noHeader     int
	unknown      map[string]bool // revisions that were reported as taken
}

// httpPost is an exchange with what was seen in it.
type httpPost struct {
	hasHeaders bool
	asks       bool   // it has a request
	label      string // of a message that asks for nothing
	initialize bool
	inTurn     int  // how many 404s in a row came before it
	late       bool // its session had been ended
	reported   bool
	refused    []*refusedCall
}

// refusedCall is a call that HTTP refused.
type refusedCall struct {
	callName
	request, at uint64
	status      int
	location    string
	ofSession   bool // the session was gone
}

type callName struct{ method, target string }

// take takes a step of an exchange. exchanges knows the revisions.
func (h *httpRules) take(step timeline.Step, exchanges *exchanges) {
	for i := range step.Messages {
		if m := &step.Messages[i]; m.Role == timeline.Answers {
			h.onSuccess(m.Call)
		}
	}
	x := step.Exchange
	if x == nil || step.HTTP != nil && step.HTTP.Other || exchanges.isSSE || x.Scope.Endpoint != "" {
		return
	}
	post := h.posts[step.Stream]
	if step.HTTP != nil && step.HTTP.What == store.HTTPRequest {
		post = &httpPost{hasHeaders: len(step.HTTP.Header["Accept"])+len(step.HTTP.Header["Content-Type"]) > 0}
		h.posts[step.Stream] = post
		h.onRequest(step, post)
		return
	}
	if post == nil {
		return
	}
	session := h.sessions[x.Scope]
	if session != nil {
		session.revision = exchanges.revisionOf(exchanges.get(step.Stream))
	}
	switch {
	case step.HTTP == nil && step.Dir == transport.ClientToServer:
		h.onBody(step, post, session, exchanges)
	case step.HTTP == nil:
		h.onAnswer(step, post, session, exchanges)
	case step.HTTP.What == store.HTTPResponse:
		h.onHead(step, post, exchanges)
	case step.HTTP.What == store.HTTPBody && step.Dir == transport.ServerToClient:
		h.onText(step, post, session, []byte(step.HTTP.Body))
	case x.What != "":
		h.onEnd(step, post, exchanges)
		delete(h.posts, step.Stream)
	}
}

// onRequest takes the head of a request.
func (h *httpRules) onRequest(step timeline.Step, post *httpPost) {
	s := h.sessions[step.Scope]
	if s == nil || step.Exchange.Method != http.MethodPost {
		return
	}
	post.inTurn = s.lostAgain
	post.late = s.deleted.seq != 0
}

// onBody takes a frame of the client.
func (h *httpRules) onBody(step timeline.Step, post *httpPost, s *httpSession, exchanges *exchanges) {
	for i := range step.Messages {
		m := &step.Messages[i]
		switch m.Kind {
		case transport.Request:
			post.asks = true
			post.initialize = post.initialize || m.Method == mcp.MethodInitialize
		case transport.Notification:
			post.label = clip(m.Method)
		case transport.Response:
			post.label = "the response to id " + clip(string(m.ID))
		}
	}
	if s != nil && s.lost.seq != 0 && step.Exchange.Asked.Seq > s.lost.seq && post.asks {
		s.asked++
		s.last = moment{step.Seq, step.At}
	}
	if !post.hasHeaders || post.initialize || step.Exchange.Revision != "" || len(step.Messages) == 0 || step.Exchange.Status >= 300 {
		return
	}
	revision := exchanges.negotiated(exchanges.get(step.Stream))
	if !mcp.VersionHeader.Has(revision) {
		return
	}
	s = h.sessionOf(step, s)
	s.revision = revision
	if s.noHeader++; s.noHeader == 1 {
		s.saysNoHeader = step.Seq
	}
}

// sessionOf returns the session of a step, a new one if need be.
func (h *httpRules) sessionOf(step timeline.Step, s *httpSession) *httpSession {
	if s == nil {
		s = &httpSession{path: step.Exchange.Path, unknown: map[string]bool{}}
		h.sessions[step.Exchange.Scope] = s
		h.order = append(h.order, s)
	}
	return s
}

// onHead takes the head of a response.
func (h *httpRules) onHead(step timeline.Step, post *httpPost, exchanges *exchanges) {
	x := step.Exchange
	s := h.sessions[step.Exchange.Scope]
	h.onRefused(step, post)
	isPost := x.Method == http.MethodPost
	success := x.Status >= 200 && x.Status < 300
	if x.Scope.Session != "" && success && isPost {
		s = h.sessionOf(step, s)
		s.onTaken(step, post)
	}
	switch {
	case s == nil || x.SessionID == "":
	case x.Method == http.MethodDelete && success:
		s.deleted = moment{step.Seq, step.At}
	case isPost && x.Status == http.StatusNotFound && x.Path == s.path && s.taken != 0:
		s.onGone(step, post)
		for _, call := range post.refused {
			call.ofSession = true
		}
	}
	if revision := exchanges.negotiated(exchanges.get(step.Stream)); success && x.Revision != "" && !post.initialize && isUnknown(x.Revision, revision) {
		s = h.sessionOf(step, s)
		if !s.unknown[x.Revision] && (revision == "" || mcp.VersionHeader.Has(revision)) {
			s.unknown[x.Revision] = true
			h.report(headerKnown, transport.ServerToClient, revision, []uint64{step.Seq, x.Asked.Seq},
				"the server answered a request with the header MCP-Protocol-Version: %s (#%d) with the status %d, not with 400", clip(x.Revision), x.Asked.Seq, x.Status)
		}
	}
}

// isUnknown reports whether a header names no revision: neither one of the specification, nor that of the
// session, nor one that may be later than all known ones.
func isUnknown(named, negotiated string) bool {
	if slices.Contains(mcp.Revisions, named) || named == negotiated {
		return false
	}
	_, err := time.Parse(time.DateOnly, named)
	return err != nil || named < mcp.Newest
}

// onTaken notes that the server knew a session.
func (s *httpSession) onTaken(step timeline.Step, post *httpPost) {
	asked := step.Exchange.Asked.Seq
	if len(s.refusals) > 0 && asked > s.refusals[len(s.refusals)-1] {
		s.returned = step.Seq
		s.lost = moment{}
		s.lostAgain = 0
		s.asked = 0
	}
	if post.late {
		s.afterDelete = append(s.afterDelete, step.Seq)
	}
	s.taken = step.Seq
}

// onGone notes that the server did not know a session.
func (s *httpSession) onGone(step timeline.Step, post *httpPost) {
	s.refusals = append(s.refusals, step.Seq)
	if s.lost.seq == 0 {
		s.lost = moment{step.Seq, step.At}
	}
	s.lostAgain = max(s.lostAgain, post.inTurn+1)
}

// onText looks at the body of a refusal. Many servers answer 400 where they do not know a session, and say so.
func (h *httpRules) onText(step timeline.Step, post *httpPost, s *httpSession, text []byte) {
	x := step.Exchange
	if s == nil || x.SessionID == "" || x.Method != http.MethodPost || s.taken == 0 || !bytes.Contains(bytes.ToLower(text), []byte("session")) {
		return
	}
	if x.Status == http.StatusBadRequest && !slices.Contains(s.refusals, x.Head.Seq) {
		s.refusals = append(s.refusals, x.Head.Seq)
		for _, call := range post.refused {
			call.ofSession = true
		}
	}
}

// onAnswer takes a frame of the server.
func (h *httpRules) onAnswer(step timeline.Step, post *httpPost, s *httpSession, exchanges *exchanges) {
	x := step.Exchange
	if x.IsRefused() {
		h.onText(step, post, s, step.Payload)
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		if m.Kind != transport.Response || m.Call == nil || m.Call.Stream != step.Stream {
			continue
		}
		if x.IsRefused() && m.ID != nil && string(m.ID) != "null" { // the call is answered, with an error
			h.forget(callName{m.Call.Method, m.Call.Target}, func(c *refusedCall) bool { return c.request == m.Call.Request })
			if s != nil && s.lost.seq == x.Head.Seq && !bytes.Contains(bytes.ToLower(step.Payload), []byte("session")) {
				s.lost = moment{}
				s.lostAgain = 0
				s.refusals = s.refusals[:len(s.refusals)-1]
			}
		}
	}
	if revision := exchanges.revisionOf(exchanges.get(step.Stream)); post.isAccepted(x, revision) {
		post.reported = true
		h.report(acceptedBare, transport.ServerToClient, revision, []uint64{step.Seq, x.Asked.Seq},
			"the server answered %s (#%d) with the status %d and a body, not with 202 and none: %s", post.label, x.Asked.Seq, x.Status, excerpt(h.mask.Of(step.Payload)))
	}
}

// isAccepted reports whether the server accepted a POST that asks for nothing, and rule P17 has not spoken.
func (p *httpPost) isAccepted(x *timeline.Exchange, revision string) bool {
	return !p.asks && p.label != "" && x.Method == http.MethodPost && x.Status >= 200 && x.Status < 300 && !p.reported &&
		(revision == "" || mcp.HTTP.Has(revision))
}

// onEnd takes the end of an exchange.
func (h *httpRules) onEnd(step timeline.Step, post *httpPost, exchanges *exchanges) {
	x := step.Exchange
	if revision := exchanges.revisionOf(exchanges.get(step.Stream)); x.What == store.HTTPEnd && x.Status != http.StatusAccepted && post.isAccepted(x, revision) {
		h.report(acceptedStatus, transport.ServerToClient, revision, []uint64{x.Head.Seq, x.Asked.Seq},
			"the server answered %s (#%d) with the status %d, not with 202", post.label, x.Asked.Seq, x.Status)
	}
}

// onRefused notes the calls that the status of a response refuses.
func (h *httpRules) onRefused(step timeline.Step, post *httpPost) {
	for _, call := range step.Refused {
		if call.Method == mcp.MethodDiscover || call.Dir != transport.ClientToServer { // a probe is refused where nobody knows the method
			continue
		}
		location := ""
		if step.Exchange.Status < 400 {
			location = firstHeader(step.HTTP.Header, "Location")
		}
		refused := &refusedCall{
			callName: callName{call.Method, call.Target}, request: call.Request, at: step.Seq, status: step.Exchange.Status, location: location,
		}
		post.refused = append(post.refused, refused)
		const limit = 10000
		if h.known < limit {
			h.known++
			h.refused[refused.callName] = append(h.refused[refused.callName], refused)
		}
	}
}

// onSuccess notes that a call got through: if it was refused before, it was sent again, as behind a login. That
// it was redirected stays worth telling.
func (h *httpRules) onSuccess(call *timeline.Call) {
	h.forget(callName{call.Method, call.Target}, func(c *refusedCall) bool { return c.location == "" })
}

// forget drops refused calls that need no word.
func (h *httpRules) forget(name callName, which func(*refusedCall) bool) {
	if list := h.refused[name]; len(list) > 0 {
		h.refused[name] = slices.DeleteFunc(list, which)
		h.known -= len(list) - len(h.refused[name])
	}
}

// close gives out the findings about sessions and refused calls. hasResults: some call of the recording has a
// result; if none has, rule E13 tells of the refused calls.
func (h *httpRules) close(hasResults bool) {
	told := false
	for _, s := range h.order {
		told = h.closeSession(s) || told
	}
	if hasResults {
		h.closeRefused(told)
	}
}

// surelyHeard is how long after an answer passed the recorder its client has it for sure.
const surelyHeard = time.Second

// closeSession is rules P15 and P16 of a session. It reports whether refusals of the session were told.
func (h *httpRules) closeSession(s *httpSession) (told bool) {
	if s.noHeader > 0 {
		h.report(headerNames, transport.ClientToServer, s.revision, []uint64{s.saysNoHeader},
			"the client sent %s without the header MCP-Protocol-Version, the first in #%d", phrase.Plural(s.noHeader, "message"), s.saysNoHeader)
	}
	if !mcp.Sessions.Has(s.revision) && s.revision != "" {
		return false
	}
	if n := len(s.afterDelete); n > 0 {
		h.report(deletedIsGone, transport.ServerToClient, s.revision, []uint64{s.afterDelete[0], s.deleted.seq},
			"the server took %s in a session that the client had ended with DELETE (#%d), and did not answer with 404", phrase.Plural(n, "message"), s.deleted.seq)
	}
	switch {
	case s.returned != 0 && len(s.refusals) > 0:
		first := s.refusals[0]
		h.report(goneForGood, transport.ServerToClient, s.revision, append([]uint64{s.returned}, s.refusals[:min(len(s.refusals), 5)]...),
			"the server did not know the session %s (first at #%d), and took it again behind that (last at #%d): several servers stand behind one address, and not all know the session",
			times(len(s.refusals)), first, s.returned)
		return true
	case s.lost.seq != 0 && s.asked > 0 && (s.lostAgain >= 3 || s.last.at-s.lost.at >= surelyHeard):
		h.report(beginsAnew, transport.ClientToServer, s.revision, []uint64{s.last.seq, s.lost.seq},
			"the client went on with a session that the server had answered with 404 (#%d): %s since, the last in #%d", s.lost.seq, phrase.Plural(s.asked, "request"), s.last.seq)
		return true
	}
	return false
}

// times says how often something was.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// closeRefused is rule E20, a finding for each status. The refusals of sessions that rule P15 told are not
// told again.
func (h *httpRules) closeRefused(told bool) {
	type kind struct {
		status   int
		location string
	}
	var kinds []kind
	calls := map[kind][]*refusedCall{}
	refused := slices.Concat(slices.Collect(maps.Values(h.refused))...)
	slices.SortFunc(refused, func(a, b *refusedCall) int { return cmp.Compare(a.request, b.request) })
	for _, c := range refused {
		key := kind{c.status, c.location}
		if c.ofSession && told {
			continue
		}
		if calls[key] == nil {
			kinds = append(kinds, key)
		}
		calls[key] = append(calls[key], c)
	}
	for _, key := range kinds {
		list := calls[key]
		d := callRefused
		advice := ""
		switch {
		case key.location != "":
			advice = fmt.Sprintf("; it points to %s, which the client had best use at once", quote(key.location))
		case list[0].ofSession:
			d.Severity = order.Note
			advice = "; the session was gone"
		}
		var names []string
		events := []uint64{}
		for _, c := range list[:min(len(list), 3)] {
			name := clip(c.method)
			if c.target != "" {
				name += " " + quote(c.target)
			}
			names = append(names, fmt.Sprintf("%s (#%d)", name, c.request))
			events = append(events, c.at)
		}
		if more := len(list) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		h.report(d, transport.ServerToClient, "", events, "HTTP refused %s of the client with the status %d%s: %s",
			phrase.Plural(len(list), "call"), key.status, advice, strings.Join(names, ", "))
	}
}
