package order

import (
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules P7 and P8.
var (
	subscriptionOpen  = newLaw(law{"P7", "a subscription's notification names an open subscription", Error, pageSubscriptions, "Receiving Notifications", mcp.Stateless})
	acknowledgedFirst = newLaw(law{"P7", "a subscription is acknowledged before it notifies", Error, pageSubscriptions, "Acknowledgment", mcp.Stateless})
	notifiesAsked     = newLaw(law{"P7", "only what a subscription asked for is notified", Error, pageSubscriptions, "Opening a Stream", mcp.Stateless})
	updatesAsked      = newLaw(law{"P7", "only resources that a subscription asked for, or parts of them, are updated", Warning, pageSubscriptions, "Opening a Stream", mcp.Stateless})
	updatesSubscribed = newLaw(law{"P7", "a resource is subscribed to before its updates", Warning, pageResources, "Subscriptions", mcp.Handshake})

	logLevelSet = newLaw(law{"P8", "log messages need a request that set a log level", Error, pageLogging, "Per-request log level", mcp.Stateless})
	logsEnd     = newLaw(law{"P8", "log messages stop when the requests that set a log level are answered", Warning, pageLogging, "Per-request log level", mcp.Stateless})
)

// subscriptions holds the subscribed resources of a session with a handshake. In a stateless
// session the listen requests hold the subscriptions.
type subscriptions struct {
	first *request    // the first resources/subscribe
	uris  resourceSet // of every resources/subscribe
}

// judge is rule P7 for a notification of the server, and the subscription that it is of. In a session with a handshake updates may
// still be on the way after an unsubscribe; for how long the specification does not say.
func (s *subscriptions) judge(v *violations, m *timeline.Message, req *request, known Mark) {
	const dir = transport.ServerToClient
	if !v.stateless() {
		switch {
		case m.Method != mcp.NotificationResourceUpdated || v.revision == "":
		case s.first == nil || !knows(s.first.received, known):
			v.add(updatesSubscribed, dir, "%s before any resources/subscribe", m.Method)
		case !s.uris.covers(updatedURI(m)):
			v.add(updatesSubscribed, dir, "%s of %s, which the client never subscribed to", m.Method, transport.Member(m.Params, "uri"))
		}
		return
	}
	id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID)
	field := filterField(m.Method)
	if id == nil {
		if field != "" || m.Method == mcp.NotificationAcknowledged {
			v.add(subscriptionOpen, dir, "%s of no subscription", m.Method)
		}
		return
	}
	switch {
	case req == nil || !knows(req.received, known):
		v.add(subscriptionOpen, dir, "%s of subscription %s, which it had not received", m.Method, id)
	case req.answered:
		v.add(subscriptionOpen, dir, "%s of subscription %s after its response", m.Method, id)
	case knows(req.cancelReceived, known):
		v.add(cancelledEnds, dir, "%s of subscription %s after it had received its cancellation", m.Method, id)
	case !req.acknowledged && m.Method != mcp.NotificationAcknowledged:
		v.add(acknowledgedFirst, dir, "%s of subscription %s before its acknowledgement", m.Method, id)
	case field != "" && !req.filter.fields[field]:
		v.add(notifiesAsked, dir, "%s of subscription %s, which did not ask for it", m.Method, id)
	case m.Method == mcp.NotificationResourceUpdated && !req.filter.uris.covers(updatedURI(m)):
		v.add(updatesAsked, dir, "%s of %s on subscription %s, which did not ask for it", m.Method, transport.Member(m.Params, "uri"), id)
	}
}

// updatedURI returns the URI of an update.
func updatedURI(message *timeline.Message) string { return transport.MemberText(message.Params, "uri") }

// filterField names the member of a listen request's filter for a notification; "": a
// notification without a filter.
func filterField(method string) string {
	switch method {
	case mcp.NotificationToolListChanged:
		return "toolsListChanged"
	case mcp.NotificationPromptListChanged:
		return "promptsListChanged"
	case mcp.NotificationResourceListChanged:
		return "resourcesListChanged"
	case mcp.NotificationResourceUpdated:
		return "resourceSubscriptions"
	}
	return ""
}

// listenFilter is the filter of a listen request. It is parsed once: a filter may be long,
// and the notifications many.
type listenFilter struct {
	fields map[string]bool
	uris   resourceSet
}

func parseListenFilter(filter json.RawMessage) *listenFilter {
	parsed := &listenFilter{fields: map[string]bool{}}
	for _, field := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"} {
		switch string(transport.Member(filter, field)) {
		case "", "false", "null", "[]":
		default:
			parsed.fields[field] = true
		}
	}
	var uris []string
	if json.Unmarshal(transport.Member(filter, "resourceSubscriptions"), &uris) == nil {
		for _, uri := range uris {
			parsed.uris.add(uri)
		}
	}
	return parsed
}

// resourceSet is a set of resources, by URI.
type resourceSet struct{ hashSet[string] }

func (r *resourceSet) add(uri string) { r.hashSet.add(strings.TrimRight(uri, "/")) }

// longURI is the length from which on covers does not look for a URI's parents.
const longURI = 512

// covers reports whether a resource is in the set, or may be a part of one. An update
// without a readable URI counts as covered.
func (r resourceSet) covers(uri string) bool {
	if len(r.hashSet) == 0 || uri == "" || len(uri) > longURI || r.has(strings.TrimRight(uri, "/")) {
		return true
	}
	for i, c := range uri {
		if strings.ContainsRune("/?#:", c) && r.has(strings.TrimRight(uri[:i], "/")) {
			return true
		}
	}
	return false
}

// logMessages holds the open requests with a log level, of a stateless session.
type logMessages struct {
	open  []*request
	ended bool // a request with a log level was answered
}

// judge is rule P8. On a pipe a log message does not name a request: any open request with a
// log level is enough.
func (l *logMessages) judge(violations *violations, dir transport.Direction, message *timeline.Message, known Mark) {
	if !violations.stateless() || dir != transport.ServerToClient {
		return
	}
	for _, req := range l.open {
		if knows(req.received, known) {
			return
		}
	}
	if l.ended {
		violations.add(logsEnd, dir, "%s after the response to each request that set a log level", message.Method)
		return
	}
	violations.add(logLevelSet, dir, "%s, and had received no request that set a log level", message.Method)
}

// answered forgets a request with a log level.
func (l *logMessages) answered(req *request) {
	if req.logIndex == 0 {
		return
	}
	n := len(l.open) - 1
	last := l.open[n]
	l.open[req.logIndex-1] = last
	last.logIndex = req.logIndex
	l.open[n] = nil
	l.open = l.open[:n]
	req.logIndex = 0
	l.ended = true
}
