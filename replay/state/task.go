package state

import (
	"bytes"
	"encoding/json"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Task is a task and what was last said of it.
type Task struct {
	ID      string              `json:"id"`
	Dir     transport.Direction `json:"-"` // the way its status is told
	By      string              `json:"by"`
	Status  string              `json:"status"`
	Message string              `json:"message,omitempty"`
	Since   uint64              `json:"since"` // the event that first named it
	Told    uint64              `json:"told"`  // the event that last told its status
}

// tasksOf takes in the tasks that a result tells of.
func (s *State) tasksOf(e store.Event, x *call, result json.RawMessage) {
	if !bytes.Contains(result, []byte("taskId")) { // most tell of none, and looking is cheap
		return
	}
	switch x.method {
	case "tasks/get", "tasks/cancel":
		s.task(e, result)
		return
	case "tasks/list":
		var list []json.RawMessage
		if json.Unmarshal(transport.Member(result, "tasks"), &list) == nil {
			for _, task := range list {
				s.task(e, task)
			}
		}
		return
	}
	if task := transport.Member(result, "task"); task != nil {
		s.task(e, task)
	} else if text(transport.Member(result, "resultType")) == "task" {
		s.task(e, result)
	}
}

// task takes in what is said of one task.
func (s *State) task(e store.Event, raw json.RawMessage) {
	id, status := text(transport.Member(raw, "taskId")), text(transport.Member(raw, "status"))
	if id == "" || status == "" {
		return
	}
	k := key{e.Dir, id}
	t, ok := s.tasks[k]
	if !ok {
		t = Task{ID: id, Dir: e.Dir, By: e.Dir.Sender(), Since: e.Seq}
	}
	if s.statuses[t.Status]--; s.statuses[t.Status] <= 0 {
		delete(s.statuses, t.Status)
	}
	s.statuses[status]++
	t.Status, t.Message, t.Told = status, text(transport.Member(raw, "statusMessage")), e.Seq
	s.tasks[k] = t
}
