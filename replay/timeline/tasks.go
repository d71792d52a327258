package timeline

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Task is work that goes on behind the answer to a call, as the end that does it has told it. The Model
// writes into it as events come, until the task is over.
type Task struct {
	ID     string
	Dir    transport.Direction // of the messages that tell of it
	Maker  *Call               // the call that it does; nil: not recorded
	Status string              // as it was told last
	Over   bool                // its status is terminal, its result was fetched, or its end knows it no more

	Made     Moment        // where it was told first
	Told     Moment        // where it was told last
	Since    Moment        // where the status was told first, or an input was supplied
	Changed  Moment        // where its status, its message or its lastUpdatedAt was told first as it is
	Interval time.Duration // between two polls, as its end suggests; 0: not said
	Wanted   []string      // methods of the inputs that it asks for (2026-07-28), sorted

	Polls     int    // tasks/get since the status is so
	FirstPoll Moment // of these
	Polled    Moment // the latest tasks/get or tasks/result
	Supplied  Moment // the latest tasks/update
	Cancelled Moment // the latest tasks/cancel
	Result    *Call  // the latest tasks/result; nil: none
	Listener  *Call  // the latest subscription to it; nil: none

	Message string // its statusMessage
	updated string // its lastUpdatedAt
}

type taskKey struct {
	dir transport.Direction
	id  string
}

// linkTask finds the task that a message makes, asks about or tells of.
func (m *Model) linkTask(step *Step, message *Message) {
	switch {
	case message.Role == Asks:
		m.askTask(step, message)
	case message.Role == Answers:
		m.answerTask(step, message)
	case message.Method == mcp.NotificationTaskStatus || message.Method == mcp.NotificationTasks:
		m.tellTask(step, message, message.Params)
	}
}

// askTask notes what a request has to do with a task.
func (m *Model) askTask(step *Step, request *Message) {
	now := Moment{step.Seq, step.At}
	find := func(id string) *Task { return m.tasks[taskKey{step.Dir.Reverse(), id}] }
	switch request.Method {
	case mcp.MethodGetTask, mcp.MethodTaskResult, mcp.MethodUpdateTask, mcp.MethodCancelTask:
		id := transport.MemberText(request.Params, mcp.MemberTaskID)
		request.Task = find(id)
		request.PastTask = m.pastTasks.of(taskKey{step.Dir.Reverse(), id})
	case mcp.MethodListen:
		if !bytes.Contains(request.Params, []byte("taskIds")) {
			return
		}
		var ids []string
		_ = json.Unmarshal(transport.Member(request.Params, "notifications", "taskIds"), &ids) // other JSON names none
		for _, id := range ids {
			if task := find(id); task != nil {
				task.Listener = request.Call
			}
		}
		return
	}
	task := request.Task
	if task == nil {
		return
	}
	request.Call.Task = task
	switch request.Method {
	case mcp.MethodGetTask:
		task.Polls++
		task.Polled = now
		if task.Polls == 1 {
			task.FirstPoll = now
		}
	case mcp.MethodTaskResult:
		task.Polled = now
		task.Result = request.Call
	case mcp.MethodUpdateTask:
		task.Supplied = now
		task.begin(now)
	case mcp.MethodCancelTask:
		task.Cancelled = now
	}
}

// begin notes that a status begins.
func (t *Task) begin(now Moment) {
	t.Since = now
	t.Polls = 0
}

// answerTask notes what an answer says of tasks.
func (m *Model) answerTask(step *Step, answer *Message) {
	c := answer.Call
	switch c.Method {
	case mcp.MethodGetTask:
		if answer.Error != nil {
			answer.Task = c.Task
			m.endTask(c.Task) // its end does not know it any more
			return
		}
		m.tellTask(step, answer, answer.Result)
	case mcp.MethodCancelTask:
		m.tellTask(step, answer, answer.Result)
	case mcp.MethodListTasks:
		var list []json.RawMessage
		_ = json.Unmarshal(transport.Member(answer.Result, "tasks"), &list) // other JSON lists none
		for _, said := range list {
			m.tellTask(step, &Message{}, said)
		}
	case mcp.MethodTaskResult:
		answer.Task = c.Task
		if answer.Result != nil {
			m.endTask(c.Task)
		}
	case mcp.MethodCallTool, mcp.MethodCreateMessage, mcp.MethodElicit, mcp.MethodGetPrompt, mcp.MethodReadResource:
		if !bytes.Contains(answer.Result, []byte(mcp.MemberTaskID)) {
			return
		}
		if task := transport.Member(answer.Result, "task"); task != nil && c.AsksTask {
			m.tellTask(step, answer, task)
		} else if mcp.IsTask(transport.MemberText(answer.Result, mcp.MemberResultType)) {
			m.tellTask(step, answer, answer.Result)
		}
		c.Task = answer.Task
		if c.Task != nil && c.Task.Maker == nil {
			c.Task.Maker = c
		}
	}
}

// tellTask takes what an end says, in a message, of a task that it works on.
func (m *Model) tellTask(step *Step, in *Message, said json.RawMessage) {
	id := transport.MemberText(said, mcp.MemberTaskID)
	status := transport.MemberText(said, "status")
	if id == "" || status == "" {
		return
	}
	now := Moment{step.Seq, step.At}
	key := taskKey{step.Dir, id}
	message := transport.MemberText(m.mask.Of(said), "statusMessage")
	task := m.tasks[key]
	in.PastTask = m.pastTasks.of(key)
	if task == nil {
		task = &Task{ID: strings.Clone(id), Dir: step.Dir, Made: now}
		if mcp.TaskIsOver(status) { // it was over before, or at once
			task.Status, task.Message, task.Told, task.Over = strings.Clone(status), strings.Clone(message), now, true
			step.Told = append(step.Told, task)
			m.pastTasks.keep(task, m.requests.remember)
			return
		}
		if m.tasks == nil {
			m.tasks = map[taskKey]*Task{}
		}
		m.tasks[key] = task
	}
	task.Told = now
	step.Told = append(step.Told, task)
	if task.Status != status {
		task.Status = strings.Clone(status)
		task.begin(now)
	}
	updated := transport.MemberText(said, "lastUpdatedAt")
	if task.Since == now || task.Message != message || task.updated != updated {
		task.Changed = now
		task.Message = strings.Clone(message)
		task.updated = strings.Clone(updated)
	}
	task.Wanted = InputsWanted(said)
	for _, name := range []string{"pollIntervalMs", "pollInterval"} { // of the extension, and of 2025-11-25
		var ms float64
		if json.Unmarshal(transport.Member(said, name), &ms) == nil && ms > 0 && ms < 1e9 {
			task.Interval = time.Duration(ms * float64(time.Millisecond))
		}
	}
	in.Task = task
	if mcp.TaskIsOver(status) {
		m.endTask(task)
	}
}

func (m *Model) endTask(task *Task) {
	if task == nil {
		return
	}
	task.Over = true
	delete(m.tasks, task.key())
	m.pastTasks.keep(task, m.requests.remember)
	if task.Maker != nil && task.Maker.evicted { // it was remembered for the task's progress
		m.requests.forget(task.Maker)
	}
}

func (t *Task) key() taskKey { return taskKey{t.Dir, t.ID} }

// HasResult reports whether the result of the task was fetched.
func (t *Task) HasResult() bool {
	return t.Result != nil && t.Result.Response != 0 && t.Result.Failure == ""
}

// pastTasks are tasks that are over, the latest.
type pastTasks struct {
	byKey   map[taskKey]*Task
	ring    []*Task // with a limit, in the order of their ends
	evicted int     // tasks that the ring has lost
}

func (p *pastTasks) of(key taskKey) *Task { return p.byKey[key] }

// keep remembers a task at its end, and forgets the oldest one beyond the limit, which is that of the calls.
// A terminal status is final: what is told of a task after that is not its end.
func (p *pastTasks) keep(task *Task, remember int) {
	if before := p.byKey[task.key()]; remember == 0 || before != nil && mcp.TaskIsOver(before.Status) {
		return
	}
	switch {
	case remember < 0:
	case len(p.ring) < remember:
		p.ring = append(p.ring, task)
	default:
		oldest := &p.ring[p.evicted%remember]
		if p.byKey[(*oldest).key()] == *oldest {
			delete(p.byKey, (*oldest).key())
		}
		*oldest = task
		p.evicted++
	}
	if p.byKey == nil {
		p.byKey = map[taskKey]*Task{}
	}
	p.byKey[task.key()] = task
}

// InputsWanted returns the methods of the inputs that a result or a task asks for, sorted.
func InputsWanted(said json.RawMessage) (methods []string) {
	var wanted map[string]struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(transport.Member(said, mcp.MemberInputRequests), &wanted) // other JSON names no method
	for _, w := range wanted {
		methods = append(methods, w.Method)
	}
	slices.Sort(methods)
	return methods
}
