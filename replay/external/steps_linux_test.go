//go:build amd64 || arm64

package external

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// stepping counts the calls that take their steps.
var stepping atomic.Int32

// isSecond is set as long as a call is in the second of its two steps.
var isSecond atomic.Bool

// takeSteps answers a call behind two timers, and says so.
func takeSteps(m transport.Message, done chan bool) {
	const step = 500 * time.Millisecond // that a busy machine meets it: no result depends on it
	stepping.Add(1)
	time.Sleep(step)
	isSecond.Store(true)
	time.Sleep(step)
	isSecond.Store(false)
	stepping.Add(-1)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
	done <- true
}

// TestPromptWaits holds that one message alone comes in the middle of a call: the one behind that waits for both.
func TestPromptWaits(t *testing.T) {
	t.Parallel()
	report, err := Explore(counter("tells the third call what runs"), callsOf("steps", "get", "get"), Options{Token: "x1.prompt5-7.step5@0"})
	if err != nil || !report.Passed() {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// crowded is the failure of the last of more calls at once than are played in all orders, by fault.
var crowded = map[string]string{"fails in a crowd": "the lamp is off", "refuses a crowd": "too many calls"}

func callsOf(tools ...string) []store.Event {
	events, say := greetedSession(`{"tools":{}}`)
	for id, tool := range tools {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+1, tool)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id+1)
	}
	return *events
}

// TestSteps holds that a cancellation, and another call, come between two steps of a call that tells nothing of them.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ token, fault, want string }{
		{"x1.later5.step5@1", "dies in its second step", "DIED: the server ended: exit status 3"},
		{"x1.later5", "dies in its second step", ""},
		{"x1.prompt5-7.step5@1", "dies of a call in its second step", "DIED: the server ended: exit status 3"},
		{"x1.prompt5-7.step5@1", "dies in its second step", ""},
		{"x1.prompt5-7.step5@1", "drops what runs at its end", ""}, // the client waits for both before it ends
		{"x1.later5.step5@9", "dies in its second step", ""},       // it has not so many
	} {
		report, err := Explore(counter(row.fault), callsOf("steps", "get"), Options{Token: row.token})
		if err != nil || !strings.HasPrefix(report.Text(), row.want) || report.Passed() != (row.want == "") {
			t.Errorf("%s, %s: %v, found:\n%s", row.token, row.fault, err, report.Text())
		}
	}
	x := newExplorer(serverPeer{Server: counter("healthy"), events: callsOf("steps", "get")}, Options{})
	plain, err := x.play(nil)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, schedule := range slices.Concat(x.peer.choices(plain.frames)...) {
		if strings.Contains(schedule.Token(), "step") {
			words = append(words, schedule.Token())
		}
	}
	if got := strings.Join(words, " "); got != "x1.prompt5-7.step5@0 x1.later5.step5@1 x1.prompt5-7.step5@1" {
		t.Errorf("the orders with steps are %q", got)
	}
}

// TestExplains: an order explains answers that list the same in another order, and no others.
func TestExplains(t *testing.T) {
	s := &serial{outcomes: []map[uint64]string{{7: `{"text":"rose: Ines, Jakob, Ines, Jakob\nlily: empty"}`, 9: `["a","b"]`}}}
	for row, want := range map[[2]string]bool{
		{`{"text":"rose: Ines, Ines, Jakob, Jakob\nlily: empty"}`, `["b","a"]`}: true,
		{`{"text":"rose: Ines, Ines, Jakob\nlily: empty"}`, `["a","b"]`}:        false,
		{`{"text":"rose: Ines, Jakob, Ines, Jakob\nlily: Ines"}`, `["a","b"]`}:  false,
		{`{"text":"rose: Ines, Jakob, Ines, Jakob\nlily: empty"}`, ""}:          false,
	} {
		if got := s.explains(map[uint64]string{7: row[0], 9: row[1]}); got != want {
			t.Errorf("%q: %t", row, got)
		}
	}
}

// TestCrowd holds that a call may not fail in a burst, of more calls than are played in all orders, that it does not fail in
// when it comes first or last, but that a server may refuse it.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"fails in a crowd": "RACE: these calls affect each other: together with what goes before it, another answer than alone: tools/call get (#13); reproduced 3 times out of 3\n  tools/call get (#13) is answered by\n    {\"content\":[{\"text\":\"the lamp is off\"",
		"refuses a crowd":  "2 orders",
		"healthy":          "2 orders",
	} {
		report, err := Explore(counter(fault), callsOf("get", "get", "get", "get", "get"), Options{Token: "x1.join5-13"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestFlood holds that a call which goes out twelve times at once is answered each time, and has a progress token of its own.
func TestFlood(t *testing.T) {
	t.Parallel()
	events, say := greetedSession(`{"tools":{}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{},"_meta":{"progressToken":"p"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"has ten workers": "HANG (observed; not a proof): no answer to tools/call get (#5); ",
		"healthy":         "2 orders",
	} {
		report, err := Explore(counter(fault), *events, Options{Token: "x1.flood5@12", Keep: true})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
		tokens := map[string]bool{}
		for _, e := range report.Shown.Events(store.Header{}) {
			for _, m := range timeline.MessagesOf(transport.Frame{Bytes: e.Payload}) {
				if token := transport.Member(m.Params, mcp.MemberMeta, mcp.MemberProgressToken); token != nil {
					tokens[string(token)] = true
				}
			}
		}
		if len(tokens) != copies {
			t.Errorf("%s: %d progress tokens, want %d", fault, len(tokens), copies)
		}
	}
}
