package order

import (
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
)

// A task's state is told in responses and in notifications. All of it goes in the
// direction of the end that runs the task, so the direction is part of its key.

// hasTasks reports whether the revision may be one with tasks.
func (c *Checker) hasTasks() bool { return c.revision == "" || c.revision == Revision2025_11_25 }

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
	if s := status(m.Result); x.Method == "tasks/cancel" && c.hasTasks() && s != "" && s != "cancelled" {
		c.breaks(lawTaskCancels, dir, "the response to %v that says task %s is %s", x, taskID(m.Result), s)
	}
	c.judgeStatus(dir, m, m.Result)
}

// asksAbout keeps which task a request is about.
func (c *Checker) asksAbout(x *Exchange, m *message) {
	if !c.hasTasks() || x.Method != "tasks/result" && !tells(x) {
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
	case x.Method == "tasks/result" && m.Result != nil && c.tasks[x.about] != "" && !terminal(c.tasks[x.about]):
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
func tells(x *Exchange) bool { return x.Method == "tasks/get" || x.Method == "tasks/cancel" }

func terminal(status string) bool {
	return status == resulted || status == "completed" || status == "failed" || status == "cancelled"
}

func status(task json.RawMessage) string { return text(transport.Member(task, "status")) }
func taskID(task json.RawMessage) string { return text(transport.Member(task, "taskId")) }

func taskKey(dir transport.Direction, task json.RawMessage) string {
	return dir.String() + taskID(task)
}
