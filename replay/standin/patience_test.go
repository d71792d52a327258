package standin

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
)

// TestPlayerWithout holds that a player says what it went on without.
func TestPlayerWithout(t *testing.T) {
	p := NewPlayer(recordPlaybook(atOnce), match.Rules{})
	if perform(p, `> {"id":1,"method":"tools/call","params":{"name":"a"}}`); len(p.Without()) > 0 {
		t.Errorf("before: %q", p.Without())
	}
	p.GiveUpWaiting()
	if want := []string{"#3 (tools/call b)"}; !slices.Equal(p.Without(), want) {
		t.Errorf("got %q, want %q", p.Without(), want)
	}
	d := NewDriver(recordPlaybook(twoCalls), match.Rules{})
	converse(d, `
		< {"id":1,"result":{}}
		< {"id":2,"result":"a"}
		< {"id":3,"result":"b"}
		~`, "<", ">")
	if want := []string{"#9 (notifications/tools/list_changed)"}; !slices.Equal(d.Without(), want) {
		t.Errorf("got %q, want %q", d.Without(), want)
	}
}

// TestOnOneLine holds that a message which was recorded over several lines is said
// on one: a transport of lines would refuse it.
func TestOnOneLine(t *testing.T) {
	events := recordPlaybook("> {\"id\":1,\"method\":\"a\"}\n< {}")
	events[2].Payload = []byte("{\n  \"id\":1,\n  \"result\":\"a\"\n}")
	events[1].Payload = []byte("{\n\"id\":1,\"method\":\"a\"}")
	live := "> {\"id\":2,\"method\":\"a\"}\n< {   \"id\":2,   \"result\":\"a\" }\n"
	if got := perform(NewPlayer(events, match.Rules{}), live); got != live {
		t.Errorf("got %s, want %s", got, live)
	}
	if out := NewDriver(events, match.Rules{}).Start(); len(out) != 1 || string(out[0].Bytes) != `{ "id":1,"method":"a"}` {
		t.Errorf("driver: %v", out)
	}
}

// TestNearestTarget holds that a miss names the nearest request of the same tool,
// however alike another tool's is.
func TestNearestTarget(t *testing.T) {
	p := NewPlayer(recordPlaybook(`
		> {"id":1,"method":"tools/call","params":{"name":"search","arguments":{"q":"a","limit":1,"page":1}}}
		< {"id":1,"result":"a"}
		> {"id":2,"method":"tools/call","params":{"name":"read","arguments":{"q":"z"}}}
		< {"id":2,"result":"b"}`), match.Rules{})
	perform(p, `> {"id":1,"method":"tools/call","params":{"name":"search","arguments":{"q":"z"}}}`)
	if f := p.Findings(); len(f) != 1 || f[0].Seq != 2 || !strings.Contains(f[0].Text, "nearest is #2: differs at /params/arguments") {
		t.Errorf("findings %v", f)
	}
}
