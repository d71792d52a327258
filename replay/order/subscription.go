package order

import (
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// subscribes keeps what a request lets the server send.
func (c *Checker) subscribes(x *Exchange, m *message) {
	switch {
	case x.Dir != transport.ClientToServer:
	case x.Method == methodListen:
		x.filter = wantedBy(transport.Member(m.Params, "notifications"))
	case x.Method == methodSubscribe:
		if c.subscribe == nil {
			c.subscribe = x
		}
		c.subscribed.add(text(transport.Member(m.Params, "uri")))
	}
	if c.stateless() && transport.Member(m.Params, "_meta", metaLogLevel) != nil {
		c.logs = append(c.logs, x)
		x.logAt = len(c.logs)
	}
}

// judgeSubscription is rule P7 for a notification of the server.
func (c *Checker) judgeSubscription(m *message, known Mark) {
	if !c.stateless() {
		c.judgeUpdate(m, known)
		return
	}
	id := subscriptionID(m)
	field := filterOf(m.Method)
	if id == nil {
		if field != "" || m.Method == methodAcknowledged {
			c.breaks(lawSubscribed, transport.ServerToClient, "%s of no subscription", m.Method)
		}
		return
	}
	switch x := c.subscription(m); {
	case x == nil || !knows(x.given, known):
		c.breaks(lawSubscribed, transport.ServerToClient, "%s of subscription %s, which it had not received", m.Method, id)
	case x.Answered:
		c.breaks(lawSubscribed, transport.ServerToClient, "%s of subscription %s after its response", m.Method, id)
	case knows(x.cancelGiven, known):
		c.breaks(lawCancelled, transport.ServerToClient, "%s of subscription %s after it had received its cancellation", m.Method, id)
	case !x.acknowledged && m.Method != methodAcknowledged:
		c.breaks(lawAcknowledged, transport.ServerToClient, "%s of subscription %s before its acknowledgement", m.Method, id)
	case field != "" && !x.filter.fields[field]:
		c.breaks(lawFilter, transport.ServerToClient, "%s of subscription %s, which did not ask for it", m.Method, id)
	case m.Method == methodUpdated && !x.filter.uris.covers(updated(m)):
		c.breaks(lawFilterURI, transport.ServerToClient, "%s of %s on subscription %s, which did not ask for it", m.Method, transport.Member(m.Params, "uri"), id)
	}
}

// judgeUpdate is rule P7 in a session with a handshake. Who unsubscribed may still get
// what had crossed it, and for how long is not said.
func (c *Checker) judgeUpdate(m *message, known Mark) {
	switch {
	case m.Method != methodUpdated || c.revision == "":
	case c.subscribe == nil || !knows(c.subscribe.given, known):
		c.breaks(lawUpdated, transport.ServerToClient, "%s before any resources/subscribe", m.Method)
	case !c.subscribed.covers(updated(m)):
		c.breaks(lawUpdated, transport.ServerToClient, "%s of %s, which the client never subscribed to", m.Method, transport.Member(m.Params, "uri"))
	}
}

// updated returns the URI that an update is of.
func updated(m *message) string { return text(transport.Member(m.Params, "uri")) }

// subscription returns the request that a notification says it belongs to.
func (c *Checker) subscription(m *message) *Exchange {
	x := c.end(transport.ClientToServer).request(mcp.KeyOf(subscriptionID(m)))
	if x == nil || x.Method != methodListen {
		return nil
	}
	return x
}

func subscriptionID(m *message) json.RawMessage {
	return transport.Member(m.Params, "_meta", metaSubscriptionID)
}

// filterOf names the member of a subscription's filter that asks for a
// notification; "" of those that need none.
func filterOf(method string) string {
	switch method {
	case "notifications/tools/list_changed":
		return "toolsListChanged"
	case "notifications/prompts/list_changed":
		return "promptsListChanged"
	case "notifications/resources/list_changed":
		return "resourcesListChanged"
	case methodUpdated:
		return "resourceSubscriptions"
	}
	return ""
}

// wanted is what a subscription asked for. It is read once: a filter may be long, and
// what is notified on it often.
type wanted struct {
	fields map[string]bool
	uris   resources
}

func wantedBy(filter json.RawMessage) wanted {
	w := wanted{fields: map[string]bool{}}
	for _, field := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"} {
		switch string(transport.Member(filter, field)) {
		case "", "false", "null", "[]":
		default:
			w.fields[field] = true
		}
	}
	var uris []string
	if json.Unmarshal(transport.Member(filter, "resourceSubscriptions"), &uris) == nil {
		for _, uri := range uris {
			w.uris.add(uri)
		}
	}
	return w
}

// resources is a set of resources, by URI.
type resources struct{ past[string] }

func (r *resources) add(uri string) { r.past.add(strings.TrimRight(uri, "/")) }

// longURI is how much of a URI is looked through for what it is a part of.
const longURI = 512

// covers reports whether a resource is one of the set, or may be a part of one. Of an
// update without a readable URI nothing can be said.
func (r resources) covers(uri string) bool {
	if len(r.past) == 0 || uri == "" || len(uri) > longURI || r.has(strings.TrimRight(uri, "/")) {
		return true
	}
	for i, c := range uri {
		if strings.ContainsRune("/?#:", c) && r.has(strings.TrimRight(uri[:i], "/")) {
			return true
		}
	}
	return false
}

// judgeLog is rule P8. Which request a log message belongs to is not said on a
// pipe, so it is enough that one of them may have it.
func (c *Checker) judgeLog(dir transport.Direction, m *message, known Mark) {
	if !c.stateless() || dir != transport.ServerToClient {
		return
	}
	for _, x := range c.logs {
		if knows(x.given, known) {
			return
		}
	}
	if c.logged {
		c.breaks(lawLogEnds, dir, "%s after the response to each request that set a log level", m.Method)
		return
	}
	c.breaks(lawLogLevel, dir, "%s, and had received no request that set a log level", m.Method)
}

// endLog forgets a request that set a log level, when it is answered.
func (c *Checker) endLog(x *Exchange) {
	if x.logAt == 0 {
		return
	}
	n := len(c.logs) - 1
	last := c.logs[n]
	c.logs[x.logAt-1], last.logAt = last, x.logAt
	c.logs[n], x.logAt = nil, 0
	c.logs, c.logged = c.logs[:n], true
}
