package timeline_test

import (
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestTasks: what is known of a task behind each of its messages, in both revisions, and that a clone knows
// the same.
func TestTasks(t *testing.T) {
	const c2s, s2c = transport.ClientToServer, transport.ServerToClient
	model := timeline.NewModel(timeline.Remembered)
	seq := uint64(0)
	take := func(dir transport.Direction, text string) *timeline.Task {
		seq++
		model, _ = model.Clone()
		e := store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: []byte(`{"jsonrpc":"2.0",` + text[1:])}
		step := model.Take(e)
		return step.Messages[0].Task
	}
	take(c2s, `{"id":1,"method":"tools/call","params":{"name":"x"}}`)
	task := take(s2c, `{"id":1,"result":{"resultType":"task","taskId":"a","status":"working","pollIntervalMs":50}}`)
	if task == nil || task.Maker == nil || task.Maker.Request != 1 || task.Interval != 50*time.Millisecond || task.Status != "working" {
		t.Fatalf("made: %+v", task)
	}
	take(c2s, `{"id":2,"method":"tasks/get","params":{"taskId":"a"}}`)
	take(s2c, `{"id":2,"result":{"resultType":"complete","taskId":"a","status":"working","pollIntervalMs":1000,"statusMessage":"half"}}`)
	task = take(c2s, `{"id":3,"method":"tasks/get","params":{"taskId":"a"}}`)
	if task.Polls != 2 || task.FirstPoll.Seq != 3 || task.Polled.Seq != 5 || task.Told.Seq != 4 || task.Since.Seq != 2 || task.Changed.Seq != 4 || task.Interval != time.Second {
		t.Fatalf("polled: %+v", task)
	}
	task = take(s2c, `{"method":"notifications/tasks","params":{"taskId":"a","status":"input_required","inputRequests":{"b":{"method":"roots/list"},"a":{"method":"elicitation/create"}}}}`)
	if task.Polls != 0 || task.Since.Seq != 6 || len(task.Wanted) != 2 || task.Wanted[0] != "elicitation/create" {
		t.Fatalf("asks for input: %+v", task)
	}
	task = take(c2s, `{"id":4,"method":"tasks/update","params":{"taskId":"a","inputResponses":{}}}`)
	if task.Supplied.Seq != 7 || task.Since.Seq != 7 {
		t.Fatalf("supplied: %+v", task)
	}
	take(c2s, `{"id":5,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["a","b"]}}}`)
	task = take(c2s, `{"id":6,"method":"tasks/cancel","params":{"taskId":"a"}}`)
	if task.Cancelled.Seq != 9 || task.Listener == nil || task.Listener.Request != 8 {
		t.Fatalf("cancelled: %+v", task)
	}
	if task = take(s2c, `{"id":3,"result":{"taskId":"a","status":"cancelled"}}`); task == nil || !task.Over {
		t.Fatalf("over: %+v", task)
	}
	if task = take(s2c, `{"method":"notifications/tasks","params":{"taskId":"a","status":"completed"}}`); task != nil {
		t.Fatalf("told again: %+v", task)
	}

	take(c2s, `{"id":7,"method":"tools/call","params":{"name":"x","task":{}}}`)
	take(s2c, `{"id":7,"result":{"task":{"taskId":"a","status":"working","pollInterval":20}}}`)
	if task = take(c2s, `{"id":8,"method":"tasks/result","params":{"taskId":"a"}}`); task == nil || task.Result == nil || task.Interval != 20*time.Millisecond {
		t.Fatalf("of 2025-11-25: %+v", task)
	}
	if task = take(s2c, `{"id":8,"result":{"content":[]}}`); task == nil || !task.Over {
		t.Fatalf("fetched: %+v", task)
	}

	take(c2s, `{"id":9,"method":"tools/call","params":{"name":"x"}}`)
	if task = take(s2c, `{"id":9,"result":{"content":[],"task":{"taskId":"b","status":"working"}}}`); task != nil {
		t.Fatalf("a result with such a member: %+v", task)
	}
	take(c2s, `{"id":10,"method":"tasks/get","params":{"taskId":"c"}}`)
	if task = take(s2c, `{"id":10,"result":{"taskId":"c","status":"working"}}`); task == nil || task.Maker != nil {
		t.Fatalf("made before the recording: %+v", task)
	}
	take(c2s, `{"id":11,"method":"tasks/get","params":{"taskId":"c"}}`)
	if task = take(s2c, `{"id":11,"error":{"code":-32602,"message":"no such task"}}`); task == nil || !task.Over {
		t.Fatalf("no longer known: %+v", task)
	}
}
