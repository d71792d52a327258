package timeline

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// play gives a model frames and HTTP events, a line each: "c2s 1 {…}" is a frame on exchange 1, or "http" in
// place of a direction an HTTP event. It returns the last step.
func play(t *testing.T, m *Model, lines ...string) (last Step) {
	t.Helper()
	return playOn(t, m, Step{}, lines...)
}

// playOn is play behind a step.
func playOn(t *testing.T, m *Model, last Step, lines ...string) Step {
	t.Helper()
	for _, line := range lines {
		var dir, payload string
		e := store.Event{Seq: last.Seq + 1, Kind: store.Frame, Dir: transport.ClientToServer}
		if _, err := fmt.Sscanf(line, "%s %d", &dir, &e.Stream); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		payload = line[len(fmt.Sprintf("%s %d ", dir, e.Stream)):]
		switch dir {
		case "s2c":
			e.Dir = transport.ServerToClient
		case "http":
			e.Kind = store.HTTP
		}
		e.Payload = []byte(payload)
		last = m.Take(e)
	}
	return last
}

const (
	call5   = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":5}}}`
	answer5 = `{"jsonrpc":"2.0","id":5,"result":{}}`
	cancel5 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`
	report5 = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}`
)

func asksAs(session string) string {
	return fmt.Sprintf(`{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":[%q]}}`, session)
}

// TestScopes: two clients use the same ids, and what one of them sends is about its own calls.
func TestScopes(t *testing.T) {
	const open, ok = `{"what":"request","method":"POST","path":"/mcp"}`, `{"what":"response","status":200,"header":{"Mcp-Session-Id":["B"]}}`
	two := []string{"http 1 " + asksAs("A"), "c2s 1 " + call5, "http 2 " + asksAs("B"), "c2s 2 " + call5} // #2 and #4
	for name, test := range map[string]struct {
		more []string
		want uint64 // the request of the last message
		role Role
	}{
		"A cancels":                        {[]string{"http 3 " + asksAs("A"), "c2s 3 " + cancel5}, 2, Cancels},
		"B cancels":                        {[]string{"http 3 " + asksAs("B"), "c2s 3 " + cancel5}, 4, Cancels},
		"nobody knows who cancels":         {[]string{"http 3 " + open, "c2s 3 " + cancel5}, 0, Unlinked},
		"only one is left to cancel":       {[]string{"s2c 1 " + answer5, "http 3 " + open, "c2s 3 " + cancel5}, 4, Cancels},
		"an answer on A's other stream":    {[]string{"http 3 " + asksAs("A"), "s2c 3 " + answer5}, 2, Answers},
		"an answer on B's other stream":    {[]string{"http 3 " + asksAs("B"), "s2c 3 " + answer5}, 4, Answers},
		"progress on B's other stream":     {[]string{"http 3 " + asksAs("B"), "s2c 3 " + report5}, 4, Reports},
		"A again, behind the answer":       {[]string{"s2c 1 " + answer5, "http 3 " + asksAs("A"), "s2c 3 " + answer5}, 2, AnswersAgain},
		"a session that begins":            {[]string{"http 3 " + open, "c2s 3 " + call5, "http 3 " + ok, "http 4 " + asksAs("B"), "c2s 4 " + cancel5}, 6, Cancels},
		"a refused one that names B":       {[]string{"http 3 " + open, "c2s 3 " + call5, "http 3 " + `{"what":"response","status":404,"header":{"Mcp-Session-Id":["B"]}}`, "http 4 " + asksAs("B"), "c2s 4 " + cancel5}, 6, CancelsPast},
		"over HTTP+SSE, at its own place":  {[]string{"http 3 " + `{"what":"request","method":"GET","path":"/sse"}`, "http 3 " + `{"what":"event","sse":{"event":"endpoint"},"body":"/m?s=1"}`, "http 4 " + `{"what":"request","method":"POST","path":"/m?s=1"}`, "c2s 4 " + call5, "s2c 3 " + answer5}, 8, Answers},
		"a cancelled call is not the next": {[]string{"http 3 " + open, "c2s 3 " + call5, "http 3 " + `{"what":"end"}`, "http 4 " + asksAs("A"), "c2s 4 " + cancel5, "http 5 " + asksAs("B"), "c2s 5 " + cancel5, "http 6 " + open, "c2s 6 " + cancel5}, 6, Cancels},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewModel(Remembered)
			step := play(t, m, append(two[:len(two):len(two)], test.more...)...)
			got := step.Messages[0]
			request := uint64(0)
			if got.Call != nil {
				request = got.Call.Request
			}
			if request != test.want || got.Role != test.role {
				t.Errorf("belongs to #%d as %d, want #%d as %d", request, got.Role, test.want, test.role)
			}
		})
	}
}

// TestForgets: a model keeps nothing of exchanges that have ended, nor of calls that are over but the latest.
func TestForgets(t *testing.T) {
	m := NewModel(2)
	for i := range 100 {
		ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		play(t, m, fmt.Sprintf("http %d ", i+1)+asksAs(fmt.Sprint(i%2)), fmt.Sprintf("c2s %d %s", i+1, ask),
			fmt.Sprintf(`s2c %d {"jsonrpc":"2.0","id":%d,"result":{}}`, i+1, i), fmt.Sprintf(`http %d {"what":"end"}`, i+1))
		play(t, m, fmt.Sprintf("http %d ", i+1)+asksAs(fmt.Sprint(i%2)), fmt.Sprintf("c2s %d %s", i+1, ask),
			fmt.Sprintf(`http %d {"what":"response","status":404}`, i+1), fmt.Sprintf(`http %d {"what":"end"}`, i+1))
	}
	r := &m.requests
	if len(r.ids) != 0 || len(r.tokens) != 0 || len(r.on) != 0 || len(m.exchanges) != 0 || len(r.pastIDs) > 2 || len(r.ring) != 2 {
		t.Errorf("%d ids, %d tokens, %d exchanges with calls, %d exchanges, %d past calls", len(r.ids), len(r.tokens), len(r.on), len(m.exchanges), len(r.pastIDs))
	}
}

// TestClone: a clone and its model take later events apart.
func TestClone(t *testing.T) {
	m := NewModel(Remembered)
	step := play(t, m, "http 1 "+asksAs("A"), "c2s 1 "+call5)
	call := step.Messages[0].Call
	clone, copies := m.Clone()
	copied := copies[call]
	if copied == nil || copied == call || copied.Exchange == call.Exchange || copied.Exchange == nil {
		t.Fatalf("the copy is %+v", copied)
	}
	if got := play(t, clone, "s2c 1 "+answer5).Messages[0]; got.Call != copied || !copied.Answered() || call.Answered() {
		t.Errorf("the clone has the answer to %p as %d; the model's call is answered: %t", got.Call, got.Role, call.Answered())
	}
	if got := play(t, m, "s2c 1 "+answer5).Messages[0]; got.Call != call || got.Role != Answers {
		t.Errorf("the model has %+v", got)
	}
}

// TestToldTasks: a step tells of each task whose status its messages name, also of one that is over.
func TestToldTasks(t *testing.T) {
	const failed = `s2c 0 {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"failed"}}`
	m := NewModel(Remembered)
	step := play(t, m, `c2s 0 {"jsonrpc":"2.0","id":1,"method":"tasks/list"}`,
		`s2c 0 {"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a","status":"working","statusMessage":"half"},{"taskId":"b","status":"completed"},{"taskId":"c"}]}}`)
	got := ""
	tell := func() {
		for _, task := range step.Told {
			got += fmt.Sprintf("#%d %s %s %q %t; ", step.Seq, task.ID, task.Status, task.Message, task.Over)
		}
	}
	tell()
	step = playOn(t, m, step, failed)
	tell()
	if task := step.Messages[0].Task; task == nil || task.Made.Seq != 2 || len(m.tasks) != 0 {
		t.Errorf("the notification is about %+v; %d tasks are kept", task, len(m.tasks))
	}
	step = playOn(t, m, step, failed)
	tell()
	if step.Messages[0].Task != nil {
		t.Errorf("a notification is about a task that was over: %+v", step.Messages[0].Task)
	}
	if want := `#2 a working "half" false; #2 b completed "" true; #3 a failed "" true; #4 a failed "" true; `; got != want {
		t.Errorf("the steps tell %s, want %s", got, want)
	}
}
