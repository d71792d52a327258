package order

import (
	"bytes"
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
)

// subscribes keeps what a request lets the server send.
func (c *Checker) subscribes(x *Exchange, m *message) {
	switch {
	case x.Dir != transport.ClientToServer:
	case x.Method == methodListen:
		x.filter = bytes.Clone(transport.Member(m.Params, "notifications"))
	case x.Method == methodSubscribe && c.subscribe == nil:
		c.subscribe = x
	}
	if c.stateless() && transport.Member(m.Params, "_meta", metaLogLevel) != nil {
		c.logs = append(c.logs, x)
	}
}

// judgeSubscription is rule P7 for a notification of the server.
func (c *Checker) judgeSubscription(m *message, known Mark) {
	if !c.stateless() {
		if m.Method == methodUpdated && c.revision != "" && (c.subscribe == nil || !knows(c.subscribe.given, known)) {
			c.breaks(lawUpdated, transport.ServerToClient, "%s before any resources/subscribe", m.Method)
		}
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
	case field != "" && !asked(x.filter, field):
		c.breaks(lawFilter, transport.ServerToClient, "%s of subscription %s, which did not ask for it", m.Method, id)
	}
}

// subscription returns the request that a notification says it belongs to.
func (c *Checker) subscription(m *message) *Exchange {
	x := c.end(transport.ClientToServer).request(key(subscriptionID(m)))
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

func asked(filter json.RawMessage, field string) bool {
	switch string(transport.Member(filter, field)) {
	case "", "false", "null", "[]":
		return false
	}
	return true
}

// judgeLog is rule P8. Which request a log message belongs to is not said on a
// pipe, so it is enough that one of them may have it.
func (c *Checker) judgeLog(dir transport.Direction, m *message, known Mark) {
	if !c.stateless() || dir != transport.ServerToClient {
		return
	}
	any := c.logged
	for _, x := range c.logs {
		if !knows(x.given, known) {
			continue
		}
		if !x.Answered {
			return
		}
		any = true
	}
	if any {
		c.breaks(lawLogEnds, dir, "%s after the response to each request that set a log level", m.Method)
		return
	}
	c.breaks(lawLogLevel, dir, "%s, and had received no request that set a log level", m.Method)
}
