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
			if s := status(task); s != "" && s != "working" {
				c.breaks(lawTaskBegins, dir, "the response to %v with a new task that is %s", x, s)
			}
			return
		}
	}
	if tells(x) {
		c.judgeStatus(dir, m, m.Result)
	}
}

// judgeStatus is rule P10 for a task's status.
func (c *Checker) judgeStatus(dir transport.Direction, m *message, task json.RawMessage) {
	if !c.hasTasks() {
		return
	}
	before, now := c.tasks[taskKey(dir, task)], status(task)
	if now != "" && before != now && terminal(before) {
		what := m.Method
		if what == "" {
			what = "a response"
		}
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
	if tells(x) {
		c.keepStatus(dir, m.Result)
	}
}

func (c *Checker) keepStatus(dir transport.Direction, task json.RawMessage) {
	id, now := taskKey(dir, task), status(task)
	if now == "" || terminal(c.tasks[id]) {
		return
	}
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
	return status == "completed" || status == "failed" || status == "cancelled"
}

func status(task json.RawMessage) string { return text(transport.Member(task, "status")) }
func taskID(task json.RawMessage) string { return text(transport.Member(task, "taskId")) }

func taskKey(dir transport.Direction, task json.RawMessage) string {
	return dir.String() + taskID(task)
}
