package timeline

import (
	"fmt"
	"strings"
	"testing"
)

const (
	listen7    = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}`
	changed7   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`
	callTask   = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":5}}}`
	taskMade   = `{"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"a","status":"working"}}}`
	taskStatus = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"working"}}`
	getTask    = `{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"a"}}`
)

// seqOf returns the Seq of a call's request; 0 of none.
func seqOf(call *Call) uint64 {
	if call == nil {
		return 0
	}
	return call.Request
}

// TestBefore: a request comes with the calls that had its id and its token before, an open one first, and a
// notification with its subscription.
func TestBefore(t *testing.T) {
	other := strings.Replace(call5, `"id":5`, `"id":6`, 1)
	refused := "http 1 " + `{"what":"response","status":503}`
	for name, test := range map[string]struct {
		lines                           []string
		sameID, sameToken, subscription uint64
	}{
		"the first":                          {lines: []string{"c2s 0 " + call5}},
		"one that is open":                   {lines: []string{"c2s 0 " + call5, "c2s 0 " + call5}, sameID: 1, sameToken: 1},
		"one that is answered":               {lines: []string{"c2s 0 " + call5, "s2c 0 " + answer5, "c2s 0 " + call5}, sameID: 1, sameToken: 1},
		"one of the other side":              {lines: []string{"s2c 0 " + call5, "c2s 0 " + call5}},
		"an open one before an answered one": {lines: []string{"c2s 0 " + other, "c2s 0 " + call5, "s2c 0 " + answer5, "c2s 0 " + other}, sameID: 1, sameToken: 1},
		"one of another session":             {lines: []string{"http 1 " + asksAs("A"), "c2s 1 " + call5, "http 2 " + asksAs("B"), "c2s 2 " + call5}},
		"one of the same exchange":           {lines: []string{"c2s 1 " + call5, "c2s 2 " + call5, "c2s 1 " + call5}, sameID: 1, sameToken: 1},
		"one that HTTP refused":              {lines: []string{"http 1 " + asksAs("A"), "c2s 1 " + call5, refused, "http 2 " + asksAs("A"), "c2s 2 " + call5}, sameID: 2, sameToken: 2},
		"a subscription":                     {lines: []string{"c2s 0 " + listen7, "s2c 0 " + changed7}, subscription: 1},
		"a subscription that is over":        {lines: []string{"c2s 0 " + listen7, `s2c 0 {"id":7,"result":{}}`, "s2c 0 " + changed7}, subscription: 1},
		"a call is no subscription":          {lines: []string{"c2s 0 " + strings.Replace(call5, `"id":5`, `"id":7`, 1), "s2c 0 " + changed7}},
		"the server cancels a subscription":  {lines: []string{"c2s 0 " + listen7, "s2c 0 " + strings.Replace(cancel5, "5", "7", 1)}, subscription: 1},
		"the client cancels its own":         {lines: []string{"c2s 0 " + listen7, "c2s 0 " + strings.Replace(cancel5, "5", "7", 1)}},
	} {
		m := play(t, NewModel(Remembered), test.lines...).Messages[0]
		if seqOf(m.SameID) != test.sameID || seqOf(m.SameToken) != test.sameToken || seqOf(m.Subscription) != test.subscription {
			t.Errorf("%s: the id is that of #%d, the token that of #%d, the subscription #%d; want #%d, #%d, #%d", name,
				seqOf(m.SameID), seqOf(m.SameToken), seqOf(m.Subscription), test.sameID, test.sameToken, test.subscription)
		}
	}
}

// TestLose: what a lost frame did is taken back.
func TestLose(t *testing.T) {
	for name, test := range map[string]struct {
		before []string
		lost   string
		after  string
		want   Role // of the message behind it
		same   bool // it has the id of a call
	}{
		"a request":      {[]string{"http 1 " + asksAs("A"), "http 9 " + asksAs("A")}, "c2s 1 " + call5, "s2c 9 " + answer5, AnswersAgain, false},
		"a request anew": {[]string{"http 1 " + asksAs("A"), "http 2 " + asksAs("A")}, "c2s 1 " + call5, "c2s 2 " + call5, Asks, true},
		"an answer":      {[]string{"c2s 0 " + call5}, "s2c 0 " + answer5, "s2c 0 " + answer5, Answers, false},
		"a cancellation": {[]string{"c2s 0 " + call5}, "c2s 0 " + cancel5, "c2s 0 " + cancel5, Cancels, false},
	} {
		m := NewModel(Remembered)
		step := playOn(t, m, play(t, m, test.before...), test.lost)
		call := step.Messages[0].Call
		m.Lose(step.Messages)
		if call.Cancelled != 0 || call.Answered() {
			t.Errorf("%s: cancelled by #%d, answered by #%d", name, call.Cancelled, call.Response)
		}
		if got := playOn(t, m, step, test.after).Messages[0]; got.Role != test.want || (got.SameID != nil) != test.same {
			t.Errorf("%s: the message behind it has role %d, want %d, and %v with its id", name, got.Role, test.want, got.SameID)
		}
	}
}

// TestPastTask: a task that is over is known, and its call as long as it is not over; of many past ones few are kept.
func TestPastTask(t *testing.T) {
	m := NewModel(Remembered)
	step := play(t, m, "c2s 0 "+callTask, "s2c 0 "+taskMade)
	for i := range 2 * Remembered {
		step = playOn(t, m, step, fmt.Sprintf(`c2s 0 {"id":"%d","method":"ping"}`, i), fmt.Sprintf(`s2c 0 {"id":"%d","result":{}}`, i))
	}
	if step = playOn(t, m, step, "s2c 0 "+report5); step.Messages[0].Call == nil {
		t.Error("progress of a task that goes on has no call")
	}
	step = playOn(t, m, step, "s2c 0 "+strings.Replace(taskStatus, "working", "completed", 1))
	if past := step.Messages[0].PastTask; past != nil {
		t.Errorf("the task was over before it was: %+v", past)
	}
	if step = playOn(t, m, step, "s2c 0 "+report5); step.Messages[0].Call != nil {
		t.Error("the call of a task that is over is still kept")
	}
	for _, line := range []string{"c2s 0 " + getTask, "s2c 0 " + taskStatus} {
		if step = playOn(t, m, step, line); step.Messages[0].PastTask == nil || step.Messages[0].PastTask.Status != "completed" {
			t.Errorf("%s: the task that was over is %+v", line, step.Messages[0].PastTask)
		}
	}
	for i := range 2 * Remembered {
		step = playOn(t, m, step, fmt.Sprintf(`s2c 0 {"method":"notifications/tasks/status","params":{"taskId":"%d","status":"completed"}}`, i))
	}
	if n := len(m.pastTasks.byKey) + len(m.pastTasks.ring); n > 2*Remembered {
		t.Errorf("%d past tasks are kept", n)
	}
	if clone, _ := m.Clone(); len(clone.pastTasks.byKey) != len(m.pastTasks.byKey) {
		t.Error("a clone knows other past tasks")
	}
}
