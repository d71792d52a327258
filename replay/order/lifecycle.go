package order

import (
	"bytes"
	"encoding/json"

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
	request             *Request // the latest initialize
	initialized         bool     // initialized is on the wire
	repeats             bool     // HTTP refused initialized, and the client may repeat that
	initializedReceived Mark
	early               string // the first message sent before initialize
}

// judge is rule P4, for sessions with an initialize or with a known revision that has a
// handshake.
func (h *handshake) judge(v *violations, dir transport.Direction, m *message, known Mark, batch bool) {
	switch {
	case m.Method == mcp.MethodInitialize && dir == transport.ClientToServer:
		if batch {
			v.add(initializeAlone, dir, "initialize (id %s) in a batch", m.ID)
		}
		switch {
		case h.early != "" && h.request == nil:
			v.add(initializeFirst, dir, "initialize (id %s) after %s", m.ID, h.early)
		case h.request != nil && !h.request.failed:
			v.add(initializeOnce, dir, "initialize (id %s) again", m.ID)
		}
	case m.Method == mcp.MethodPing || v.stateless() || mcp.Stateless.Has(m.version) || m.Method == mcp.MethodDiscover:
	case dir == transport.ServerToClient:
		if h.request != nil && m.kind == transport.Request && !knows(h.initializedReceived, known) {
			v.add(serverWaits, dir, "%s before it had received initialized", m.Method)
		}
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
	case m.kind == transport.Request && !knows(h.request.answerReceived, known):
		v.add(clientWaits, dir, "%s before it had received the response to initialize", m.Method)
	case m.kind == transport.Request && !h.initialized:
		v.add(clientReady, dir, "%s before initialized", m.Method)
	}
}

// tasks holds the status of each task. Responses and notifications tell the status, in the
// direction of the end that runs the task: the direction is part of the key.
type tasks struct {
	status    map[taskKey]string
	makers    map[taskKey][]*Request // the requests with a new task
	askedSoon hashSet[taskKey]       // tasks asked about before being made
}

// taskKey is the direction of a task's responses and the task's id.
type taskKey string

// hasTasks reports whether the revision may have tasks.
func (v *violations) hasTasks() bool {
	return v.revision == "" || mcp.Tasks.Has(v.revision)
}

// hasTaskExtension reports whether the revision has tasks as an extension.
func (v *violations) hasTaskExtension() bool { return mcp.TaskExtension.Has(v.revision) }

// makesTask reports whether a response says that its request goes on as a task of the extension.
func makesTask(response *message) bool {
	return bytes.Contains(response.Result, []byte(mcp.MemberTaskID)) && mcp.IsTask(transport.MemberText(response.Result, mcp.MemberResultType))
}

// declaresTasks reports whether a request says that its client can do tasks of the extension.
func declaresTasks(request *message) bool {
	return bytes.Contains(request.Params, []byte(mcp.ExtensionTasks)) &&
		transport.Member(request.Params, mcp.MemberMeta, mcp.MetaClientCapabilities, "extensions", mcp.ExtensionTasks) != nil
}

// hasTaskResult is the status of a task with a result: terminal, but not yet named.
const hasTaskResult = "\xff" // no JSON has this string

// judgeResponse is rule P10 for a response with a task's status.
func (t *tasks) judgeResponse(v *violations, dir transport.Direction, message *message, req *Request) {
	if task := transport.Member(message.Result, "task"); req.task && task != nil {
		if key := keyOfTask(dir, task); t.askedSoon.has(key) && t.status[key] == "" {
			v.add(madeBeforeAsked, dir, "the response to %v with task %s, which it had been asked about before", req, taskID(task))
		}
		if s := taskStatus(task); s != "" && s != mcp.TaskWorking {
			v.add(taskBegins, dir, "the response to %v with a new task that is %s", req, s)
		}
		return
	}
	if v.hasTaskExtension() && makesTask(message) {
		if !req.declaresTasks {
			v.add(taskDeclared, dir, "the response to %v with task %s, and the request does not declare %s", req, taskID(message.Result), mcp.ExtensionTasks)
		}
		if req.Method != mcp.MethodCallTool {
			v.add(taskOfCall, dir, "the response to %v with task %s", req, taskID(message.Result))
		}
	}
	if !answeredWithStatus(req) {
		return
	}
	if s := taskStatus(message.Result); req.Method == mcp.MethodCancelTask && v.hasTasks() && s != "" && s != "cancelled" {
		v.add(taskCancels, dir, "the response to %v that says task %s is %s", req, taskID(message.Result), s)
	}
	t.judgeStatus(v, dir, message, message.Result)
}

// judgeStatus is rule P10 for a task's status.
func (t *tasks) judgeStatus(v *violations, dir transport.Direction, message *message, task json.RawMessage) {
	if !v.hasTasks() && !v.hasTaskExtension() {
		return
	}
	before := t.status[keyOfTask(dir, task)]
	now := taskStatus(task)
	what := message.Method
	if what == "" {
		what = "a response"
	}
	switch {
	case now == "" || before == now || !isTerminal(before):
	case before == hasTaskResult && isTerminal(now):
	case before == hasTaskResult:
		v.add(taskResult, dir, "%s that says task %s is %s, after the response to tasks/result", what, taskID(task), now)
	case v.hasTaskExtension():
		v.add(taskStays, dir, "%s that says task %s is %s, after it was %s", what, taskID(task), now, before)
	default:
		v.add(taskTerminal, dir, "%s that says task %s is %s, after it was %s", what, taskID(task), now, before)
	}
}

// sentResponse keeps the status in a response.
func (t *tasks) sentResponse(dir transport.Direction, m *message, req *Request) {
	switch {
	case req.task:
		if task := transport.Member(m.Result, "task"); task != nil {
			if t.makers == nil {
				t.makers = map[taskKey][]*Request{}
			}
			key := keyOfTask(dir, task)
			t.makers[key] = append(t.makers[key], req)
			t.keepStatus(dir, task)
		}
	case answeredWithStatus(req), makesTask(m):
		t.keepStatus(dir, m.Result)
	case req.Method == mcp.MethodTaskResult && m.Result != nil && t.status[req.about] != "" && !isTerminal(t.status[req.about]):
		t.setStatus(req.about, hasTaskResult)
	}
}

// keepStatus keeps the status of a task, unless an earlier status is final.
func (t *tasks) keepStatus(dir transport.Direction, task json.RawMessage) {
	key := keyOfTask(dir, task)
	now := taskStatus(task)
	if before := t.status[key]; now == "" || isTerminal(before) && (before != hasTaskResult || !isTerminal(now)) {
		return
	}
	t.setStatus(key, now)
}

func (t *tasks) setStatus(key taskKey, now string) {
	if t.status == nil {
		t.status = map[taskKey]string{}
	}
	t.status[key] = now
	if !isTerminal(now) {
		return
	}
	for _, req := range t.makers[key] {
		req.ended = true
	}
	delete(t.makers, key)
}

// answeredWithStatus reports whether the response to a request tells a task's status.
func answeredWithStatus(req *Request) bool {
	return req.Method == mcp.MethodGetTask || req.Method == mcp.MethodCancelTask
}

func isTerminal(status string) bool {
	return status == hasTaskResult || mcp.TaskIsOver(status)
}

func taskStatus(task json.RawMessage) string { return transport.MemberText(task, "status") }
func taskID(task json.RawMessage) string     { return transport.MemberText(task, mcp.MemberTaskID) }

func keyOfTask(dir transport.Direction, task json.RawMessage) taskKey {
	return taskKey(dir.String() + taskID(task))
}
