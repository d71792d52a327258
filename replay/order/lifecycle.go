package order

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules P4 and P10.
var (
	initializeFirst = newLaw(law{"P4", "initialize comes first", Error, pageLifecycle, "Initialization", mcp.Handshake})
	initializeOnce  = newLaw(law{"P4", "a session is initialized once", Error, pageLifecycle, "Initialization", mcp.Handshake})
	initializeAlone = newLaw(law{"P4", "initialize is not part of a batch", Error, pageLifecycle, "Initialization", mcp.Handshake})
	initializeKept  = newLaw(law{"P4", "initialize is not cancelled", Error, pageCancel, "Behavior Requirements", mcp.Handshake})
	initializedNext = newLaw(law{"P4", "initialized comes after the response to initialize", Error, pageLifecycle, "Initialization", mcp.Handshake})
	initializedOnce = newLaw(law{"P4", "initialized is sent once", Warning, pageLifecycle, "Initialization", mcp.Handshake})
	clientWaits     = newLaw(law{"P4", "before the response to initialize the client asks only for pings", Warning, pageLifecycle, "Initialization", mcp.Handshake})
	clientReady     = newLaw(law{"P4", "before initialized the client asks only for pings", Warning, pageLifecycle, "Initialization", mcp.Handshake})
	serverWaits     = newLaw(law{"P4", "before initialized the server asks only for pings", Warning, pageLifecycle, "Initialization", mcp.Handshake})

	madeBeforeAsked = newLaw(law{"P10", "a task is made before it is asked about", Warning, pageTasks, "Creating Tasks", mcp.Tasks})
	taskBegins      = newLaw(law{"P10", "a task begins working", Error, pageTasks, "Task Status Lifecycle", mcp.Tasks})
	taskResult      = newLaw(law{"P10", "tasks/result is answered when the status is terminal", Error, pageTasks, "Result Retrieval", mcp.Tasks})
	taskCancels     = newLaw(law{"P10", "tasks/cancel is answered when the status is cancelled", Error, pageTasks, "Task Cancellation", mcp.Tasks})
	taskTerminal    = newLaw(law{"P10", "a terminal status is final", Error, pageTasks, "Task Status Lifecycle", mcp.Tasks})

	taskDeclared = newLaw(law{"P10", "a task is made only for a request that declares the extension", Error, pageTasks, "Capability Negotiation", mcp.TaskExtension})
	taskOfCall   = newLaw(law{"P10", "only a call to a tool becomes a task", Error, pageTasks, "Supported Methods", mcp.TaskExtension})
	taskStays    = newLaw(law{"P10", "a task that is over stays so", Error, pageTasks, "Task Status", mcp.TaskExtension})
)

// handshake is how far a session's handshake has come.
type handshake struct {
	count               int      // initialize requests
	request             *request // the latest initialize
	initialized         bool     // initialized is on the wire
	repeats             bool     // HTTP refused initialized, and the client may repeat that
	initializedReceived Mark
	early               string // the first message sent before initialize
}

// judge is rule P4, for sessions with an initialize or with a known revision that has a
// handshake.
func (h *handshake) judge(v *violations, step *timeline.Step, m *timeline.Message, known Mark) {
	dir := step.Dir
	isRequest := m.Kind == transport.Request
	switch {
	case m.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		if step.Batch {
			v.add(initializeAlone, dir, "initialize (id %s) in a batch", m.ID)
		}
		switch {
		case h.early != "" && h.request == nil:
			v.add(initializeFirst, dir, "initialize (id %s) after %s", m.ID, h.early)
		case h.request != nil && !h.request.failed:
			v.add(initializeOnce, dir, "initialize (id %s) again", m.ID)
		}
	case m.Method == mcp.MethodPing || v.stateless() || m.Method == mcp.MethodDiscover:
	case dir == transport.ServerToClient && (h.request == nil || !isRequest || knows(h.initializedReceived, known)):
	case mcp.Stateless.Has(revisionIn(m)):
	case dir == transport.ServerToClient:
		v.add(serverWaits, dir, "%s before it had received initialized", m.Method)
	case h.request == nil:
		if v.revision != "" {
			v.add(initializeFirst, dir, "%s before initialize", m.Method)
		}
	case m.Method == mcp.NotificationInitialized:
		switch {
		case !knows(h.request.answerReceived, known):
			v.add(initializedNext, dir, "initialized before it had received the response to initialize")
		case h.request.failed:
			v.add(initializedNext, dir, "initialized after initialize had failed")
		case h.initialized && !h.repeats:
			v.add(initializedOnce, dir, "initialized again")
		}
	case isRequest && !knows(h.request.answerReceived, known):
		v.add(clientWaits, dir, "%s before it had received the response to initialize", m.Method)
	case isRequest && !h.initialized:
		v.add(clientReady, dir, "%s before initialized", m.Method)
	}
}

// hasTasks reports whether the revision may have tasks.
func (v *violations) hasTasks() bool {
	return v.revision == "" || mcp.Tasks.Has(v.revision)
}

// hasTaskExtension reports whether the revision has tasks as an extension.
func (v *violations) hasTaskExtension() bool { return mcp.TaskExtension.Has(v.revision) }

// makesTask reports whether a response says that its request goes on as a task of the extension.
func makesTask(response *timeline.Message) bool {
	return bytes.Contains(response.Result, []byte(mcp.MemberTaskID)) && mcp.IsTask(transport.MemberText(response.Result, mcp.MemberResultType))
}

// declaresTasks reports whether a request says that its client can do tasks of the extension.
func declaresTasks(request *timeline.Message) bool {
	return bytes.Contains(request.Params, []byte(mcp.ExtensionTasks)) &&
		transport.Member(request.Params, mcp.MemberMeta, mcp.MetaClientCapabilities, "extensions", mcp.ExtensionTasks) != nil
}

// revisionIn returns the revision in the _meta of a stateless session's request, or "".
func revisionIn(m *timeline.Message) string {
	if !bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
		return ""
	}
	return transport.MemberText(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)
}

// judgeTaskIn is rule P10 for a response with a task's status.
func (c *Checker) judgeTaskIn(dir transport.Direction, m *timeline.Message, req *request) {
	if task := transport.Member(m.Result, "task"); req.isTask && task != nil {
		isMade := m.PastTask == nil && (m.Task == nil || m.Task.Made.Seq == m.Call.Response)
		if isMade && c.askedSoon.has(keyOfTask(dir, taskID(task))) {
			c.add(madeBeforeAsked, dir, "the response to %v with task %s, which it had been asked about before", req, taskID(task))
		}
		if s := taskStatus(task); s != "" && s != mcp.TaskWorking {
			c.add(taskBegins, dir, "the response to %v with a new task that is %s", req, s)
		}
		return
	}
	if c.hasTaskExtension() && makesTask(m) {
		if !req.declaresTasks {
			c.add(taskDeclared, dir, "the response to %v with task %s, and the request does not declare %s", req, taskID(m.Result), mcp.ExtensionTasks)
		}
		if req.of.Method != mcp.MethodCallTool {
			c.add(taskOfCall, dir, "the response to %v with task %s", req, taskID(m.Result))
		}
	}
	if req.of.Method != mcp.MethodGetTask && req.of.Method != mcp.MethodCancelTask {
		return
	}
	if s := taskStatus(m.Result); req.of.Method == mcp.MethodCancelTask && c.hasTasks() && s != "" && s != "cancelled" {
		c.add(taskCancels, dir, "the response to %v that says task %s is %s", req, taskID(m.Result), s)
	}
	c.judgeStatus(dir, m, m.Result)
}

// judgeStatus is rule P10 for the status of a task that was over before.
func (c *Checker) judgeStatus(dir transport.Direction, m *timeline.Message, task json.RawMessage) {
	past := m.PastTask
	if past == nil || !c.hasTasks() && !c.hasTaskExtension() {
		return
	}
	now := taskStatus(task)
	what := cmp.Or(m.Method, "a response")
	switch isTerminal := mcp.TaskIsOver(past.Status); {
	case now == "" || isTerminal && now == past.Status:
	case isTerminal && c.hasTaskExtension():
		c.add(taskStays, dir, "%s that says task %s is %s, after it was %s", what, past.ID, now, past.Status)
	case isTerminal:
		c.add(taskTerminal, dir, "%s that says task %s is %s, after it was %s", what, past.ID, now, past.Status)
	case c.hasTasks() && past.HasResult() && !mcp.TaskIsOver(now):
		c.add(taskResult, dir, "%s that says task %s is %s, after the response to tasks/result", what, past.ID, now)
	}
}

// askAbout notes a question about a task that was not made.
func (c *Checker) askAbout(dir transport.Direction, m *timeline.Message) {
	if m.Task == nil && m.PastTask == nil {
		c.askedSoon.add(keyOfTask(dir.Reverse(), taskID(m.Params)))
	}
}

func taskStatus(task json.RawMessage) string { return transport.MemberText(task, "status") }
func taskID(task json.RawMessage) string     { return transport.MemberText(task, mcp.MemberTaskID) }

// taskKey is the direction of the messages that tell of a task, and the task's id.
type taskKey string

func keyOfTask(dir transport.Direction, id string) taskKey { return taskKey(dir.String() + id) }
