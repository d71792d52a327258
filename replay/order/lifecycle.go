package order

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// handshake is where a session with one stands.
type handshake struct {
	count            int       // initialize requests
	request          *Exchange // the latest
	initialized      bool      // initialized is on the wire
	repeats          bool      // HTTP refused that, and the client may send it again
	initializedGiven Mark
	early            string // the first message that was sent before initialize
}

// judgeHandshake is rule P4. It holds where initialize was sent, or a revision
// with a handshake was known beforehand.
func (c *Checker) judgeHandshake(dir transport.Direction, m *message, known Mark, batch bool) {
	h := &c.handshake
	switch {
	case m.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		if batch {
			c.breaks(lawInitializeAlone, transport.ClientToServer, "initialize (id %s) in a batch", m.ID)
		}
		switch {
		case h.early != "" && h.request == nil:
			c.breaks(lawInitializeFirst, transport.ClientToServer, "initialize (id %s) after %s", m.ID, h.early)
		case h.request != nil && !h.request.failed:
			c.breaks(lawInitializeOnce, transport.ClientToServer, "initialize (id %s) again", m.ID)
		}
	case m.Method == mcp.MethodPing || c.stateless() || m.version >= mcp.Revision2026_07_28 || m.Method == mcp.MethodDiscover:
	case dir == transport.ServerToClient:
		if h.request != nil && m.kind == transport.Request && !knows(h.initializedGiven, known) {
			c.breaks(lawServerWaits, dir, "%s before it had received initialized", m.Method)
		}
	case h.request == nil:
		if c.revision != "" {
			c.breaks(lawInitializeFirst, dir, "%s before initialize", m.Method)
		}
	case m.Method == mcp.NotificationInitialized:
		switch {
		case !knows(h.request.answerGiven, known):
			c.breaks(lawInitialized, transport.ClientToServer, "initialized before it had received the response to initialize")
		case h.request.failed:
			c.breaks(lawInitialized, transport.ClientToServer, "initialized after initialize had failed")
		case h.initialized && !h.repeats:
			c.breaks(lawInitializedOnce, transport.ClientToServer, "initialized again")
		}
	case m.kind == transport.Request && !knows(h.request.answerGiven, known):
		c.breaks(lawClientWaits, dir, "%s before it had received the response to initialize", m.Method)
	case m.kind == transport.Request && !h.initialized:
		c.breaks(lawClientReady, dir, "%s before initialized", m.Method)
	}
}

// names finds the revision that a client's request names. One that only asks
// what the server speaks settles nothing before the answer.
func (c *Checker) names(m *message) {
	if m.Method == mcp.MethodInitialize {
		if v := text(transport.Member(m.Params, mcp.MemberProtocolVersion)); v < mcp.Revision2026_07_28 {
			c.revision = v
		} else {
			c.revision = mcp.Revision2025_11_25 // the last that has a handshake
		}
		return
	}
	if v := m.version; v >= mcp.Revision2026_07_28 && m.Method != mcp.MethodDiscover {
		c.revision = v
	}
}

// text returns the text of a JSON string, "" of anything else.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// A task's state is told in responses and in notifications. All of it goes in the
// direction of the end that runs the task, so the direction is part of its key.

// hasTasks reports whether the revision may be one with tasks.
func (c *Checker) hasTasks() bool { return c.revision == "" || c.revision == mcp.Revision2025_11_25 }

// judgeTaskResult is rule P10 for a response that tells a task's status.
func (c *Checker) judgeTaskResult(dir transport.Direction, m *message, x *Exchange) {
	if x.task {
		if task := transport.Member(m.Result, "task"); task != nil {
			if c.early.has(taskKey(dir, task)) && c.tasks[taskKey(dir, task)] == "" {
				c.breaks(lawTaskMade, dir, "the response to %v with task %s, which it had been asked about before", x, taskID(task))
			}
			if s := status(task); s != "" && s != "working" {
				c.breaks(lawTaskBegins, dir, "the response to %v with a new task that is %s", x, s)
			}
			return
		}
	}
	if !tells(x) {
		return
	}
	if s := status(m.Result); x.Method == mcp.MethodCancelTask && c.hasTasks() && s != "" && s != "cancelled" {
		c.breaks(lawTaskCancels, dir, "the response to %v that says task %s is %s", x, taskID(m.Result), s)
	}
	c.judgeStatus(dir, m, m.Result)
}

// asksAbout keeps which task a request is about.
func (c *Checker) asksAbout(x *Exchange, m *message) {
	if !c.hasTasks() || x.Method != mcp.MethodTaskResult && !tells(x) {
		return
	}
	x.about = taskKey(x.Dir.Reverse(), m.Params)
	if c.tasks[x.about] == "" {
		c.early.add(x.about)
	}
}

// resulted stands for the terminal status of a task whose result was given, which says
// that it has one, but not which.
const resulted = "\xff" // no JSON says so

// judgeStatus is rule P10 for a task's status.
func (c *Checker) judgeStatus(dir transport.Direction, m *message, task json.RawMessage) {
	if !c.hasTasks() {
		return
	}
	before, now := c.tasks[taskKey(dir, task)], status(task)
	what := m.Method
	if what == "" {
		what = "a response"
	}
	switch {
	case now == "" || before == now || !terminal(before):
	case before == resulted && terminal(now):
	case before == resulted:
		c.breaks(lawTaskResult, dir, "%s that says task %s is %s, after the response to tasks/result", what, taskID(task), now)
	default:
		c.breaks(lawTaskTerminal, dir, "%s that says task %s is %s, after it was %s", what, taskID(task), now, before)
	}
}

func (c *Checker) keepTaskResult(dir transport.Direction, m *message, x *Exchange) {
	if x.task {
		if task := transport.Member(m.Result, "task"); task != nil {
			if c.runs == nil {
				c.runs = map[string][]*Exchange{}
			}
			k := taskKey(dir, task)
			c.runs[k] = append(c.runs[k], x)
			c.keepStatus(dir, task)
		}
		return
	}
	switch {
	case tells(x):
		c.keepStatus(dir, m.Result)
	case x.Method == mcp.MethodTaskResult && m.Result != nil && c.tasks[x.about] != "" && !terminal(c.tasks[x.about]):
		c.settleTask(x.about, resulted)
	}
}

func (c *Checker) keepStatus(dir transport.Direction, task json.RawMessage) {
	id, now := taskKey(dir, task), status(task)
	if before := c.tasks[id]; now == "" || terminal(before) && (before != resulted || !terminal(now)) {
		return
	}
	c.settleTask(id, now)
}

// settleTask keeps the status of a task.
func (c *Checker) settleTask(id, now string) {
	if c.tasks == nil {
		c.tasks = map[string]string{}
	}
	c.tasks[id] = now
	if !terminal(now) {
		return
	}
	for _, x := range c.runs[id] {
		x.ended = true
	}
	delete(c.runs, id)
}

// tells reports whether the response to a request is a task's state.
func tells(x *Exchange) bool {
	return x.Method == mcp.MethodGetTask || x.Method == mcp.MethodCancelTask
}

func terminal(status string) bool {
	return status == resulted || status == "completed" || status == "failed" || status == "cancelled"
}

func status(task json.RawMessage) string { return text(transport.Member(task, "status")) }
func taskID(task json.RawMessage) string { return text(transport.Member(task, mcp.MemberTaskID)) }

func taskKey(dir transport.Direction, task json.RawMessage) string {
	return dir.String() + taskID(task)
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
		if field != "" || m.Method == mcp.NotificationAcknowledged {
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
	case !x.acknowledged && m.Method != mcp.NotificationAcknowledged:
		c.breaks(lawAcknowledged, transport.ServerToClient, "%s of subscription %s before its acknowledgement", m.Method, id)
	case field != "" && !x.filter.fields[field]:
		c.breaks(lawFilter, transport.ServerToClient, "%s of subscription %s, which did not ask for it", m.Method, id)
	case m.Method == mcp.NotificationResourceUpdated && !x.filter.uris.covers(updated(m)):
		c.breaks(lawFilterURI, transport.ServerToClient, "%s of %s on subscription %s, which did not ask for it", m.Method, transport.Member(m.Params, "uri"), id)
	}
}

// judgeUpdate is rule P7 in a session with a handshake. Who unsubscribed may still get
// what had crossed it, and for how long is not said.
func (c *Checker) judgeUpdate(m *message, known Mark) {
	switch {
	case m.Method != mcp.NotificationResourceUpdated || c.revision == "":
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
	if x == nil || x.Method != mcp.MethodListen {
		return nil
	}
	return x
}

func subscriptionID(m *message) json.RawMessage {
	return transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID)
}

// filterOf names the member of a subscription's filter that asks for a
// notification; "" of those that need none.
func filterOf(method string) string {
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
