//go:build amd64 || arm64

package external

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// stepping counts the calls that take their steps.
var stepping atomic.Int32

// isSecond is set as long as a call is in the second of its two steps.
var isSecond atomic.Bool

// stirred has a value when something has come while a call takes its steps.
var stirred = make(chan bool, 9)

// takeSteps answers a call behind two timers, or as soon as something else has come, if it heeds that, and says so.
func takeSteps(m transport.Message, done chan bool, heeds bool) {
	const first, second = time.Second, 2 * time.Second // in the recorded order nothing comes
	stirs := stirred
	if !heeds {
		stirs = nil
	}
	isStirred := func(most time.Duration) bool {
		select {
		case <-stirs:
			return true
		case <-time.After(most):
			return false
		}
	}
	stepping.Add(1)
	if !isStirred(first) {
		isSecond.Store(true)
		isStirred(second)
		isSecond.Store(false)
	}
	stepping.Add(-1)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
	done <- true
}

// playCalls plays a token of a session of calls once.
func playCalls(t *testing.T, fault, token string, tools ...string) play {
	t.Helper()
	schedule, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	played, err := serverPeer{Server: counter(fault), events: callsOf(tools...)}.play(schedule, child.Searching)
	if err != nil {
		t.Fatalf("%s, %s: %v", token, fault, err)
	}
	return played
}

// TestPromptWaits holds that one message alone comes in the middle of a call: the one behind that waits for both, and so does the
// end.
func TestPromptWaits(t *testing.T) {
	t.Parallel()
	if played := playCalls(t, "tells the third call what runs", "x1.prompt5-7.step5@0", "steps", "get", "get"); !strings.Contains(played.answers[9], `"0"`) {
		t.Errorf("the third call is answered by %s", played.answers[9])
	}
	if played := playCalls(t, "drops what runs at its end", "x1.prompt5-7.step5@0", "steps", "get"); played.found != nil || played.answers[5] == "" {
		t.Errorf("%+v, the first call is answered by %q", played.found, played.answers[5])
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
	for _, row := range []struct {
		token, fault string
		want         Fault
	}{
		{"x1.later5.step5@1", "dies in its second step", Died},
		{"x1.later5", "dies in its second step", ""},
		{"x1.prompt5-7.step5@1", "dies of a call in its second step", Died},
		{"x1.prompt5-7.step5@0", "dies of a call in its second step", ""},
		{"x1.later5.step5@9", "dies in its second step", ""}, // it has not so many
	} {
		found := playCalls(t, row.fault, row.token, "steps", "get").found
		if (found == nil) != (row.want == "") || found != nil && found.kind != row.want {
			t.Errorf("%s, %s: found %+v, want %q", row.token, row.fault, found, row.want)
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
	if got := strings.Join(words, " "); got != "x1.prompt5-7.step5@0 x1.prompt5-7.step5@1 x1.later5.step5@1" {
		t.Errorf("the orders with steps are %q", got)
	}
}

// giveUp queues a line, and throws away what waits there if nobody has read for a while.
func giveUp(queue chan string, line string) {
	for {
		select {
		case queue <- line:
			return
		case <-time.After(500 * time.Millisecond): // in which a client that reads has read
			for len(queue) > 0 {
				<-queue
			}
		}
	}
}

// TestFloodGivesUp holds that a client which does not read leaves the server the time to give up.
func TestFloodGivesUp(t *testing.T) {
	t.Parallel()
	if found := playCalls(t, "gives up on who does not read", "x1.flood5@100", "get", "get").found; found == nil || found.kind != Hang {
		t.Errorf("found %+v, want a hang", found)
	}
	if found := playCalls(t, "healthy", "x1.flood5@100", "get", "get").found; found != nil {
		t.Errorf("of one that waits: found %+v", found)
	}
}

// TestFloodEnds holds that a client which ends behind many calls at once reads their answers: a server that writes them one by one
// reads no more until then.
func TestFloodEnds(t *testing.T) {
	t.Parallel()
	report, err := Explore(counter("healthy"), callsOf("get", "get", "get"), Options{Token: "x1.leave5-7.flood5@999"})
	if err != nil || !report.Passed() {
		t.Errorf("%v, found:\n%s", err, report.Text())
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

// TestFlood holds that a call which goes out twenty times at once is answered each time, and has a progress token of its own.
func TestFlood(t *testing.T) {
	t.Parallel()
	events, say := greetedSession(`{"tools":{}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{},"_meta":{"progressToken":"p"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"has ten workers": "HANG (observed; not a proof): no answer to tools/call get (#5); ",
		"healthy":         "2 orders",
	} {
		report, err := Explore(counter(fault), *events, Options{Token: "x1.flood5@20", Keep: true})
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
		if len(tokens) != 20 {
			t.Errorf("%s: %d progress tokens, want 20", fault, len(tokens))
		}
	}
}
