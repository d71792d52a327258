package standin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

const twoCalls = `
	> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
	< {"id":1,"result":{}}
	> {"method":"notifications/initialized"}
	> {"id":2,"method":"tools/call","params":{"name":"a"}}
	< {"id":2,"result":"a"}
	> {"id":3,"method":"tools/call","params":{"name":"b"}}
	< {"id":3,"result":"b"}
	< {"method":"notifications/tools/list_changed"}
	> {"id":4,"method":"tools/call","params":{"name":"c"}}
	< {"id":4,"result":"c"}`

const withProgress = `
	> {"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}
	< {"method":"notifications/progress","params":{ "progress":1, "progressToken" : 1 }}
	< {"method":"notifications/message","params":{"data":"half"}}
	< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
	< { "result" : {"x":1.50, "id":1}, "id" : 1 }
	> {"id":2,"method":"tools/list"}
	< {"id":2,"result":[]}`

const atOnce = `
	> {"id":1,"method":"tools/call","params":{"name":"a"}}
	> {"id":2,"method":"tools/call","params":{"name":"b"}}
	< {"method":"notifications/message","params":{"data":"both"}}
	< {"id":2,"result":"b"}
	< {"id":1,"result":"a"}`

const withSampling = `
	> {"id":1,"method":"tools/call","params":{"name":"ask"}}
	< {"id":1,"method":"sampling/createMessage","params":{}}
	> {"id":1,"result":{"role":"assistant"}}
	< {"id":1,"result":"asked"}
	> {"id":2,"method":"tools/list"}
	< {"id":2,"result":[]}`

func TestPlayer(t *testing.T) {
	for _, tt := range []struct {
		name, recorded, live string
		findings             []string
	}{
		{"as recorded", twoCalls, twoCalls, nil},
		{"ids of another kind", twoCalls, `
			> {"id":"init","method":"initialize","params":{"clientInfo":{"name":"b"}}}
			< {"id":"init","result":{}}
			> {"method":"notifications/initialized"}
			> {"id":1e2,"method":"tools/call","params":{"name":"a"}}
			< {"id":1e2,"result":"a"}`,
			[]string{"missing: #7 tools/call b was not asked", "missing: #10 tools/call c was not asked"}},
		{"a call skipped", twoCalls, `
			> {"id":1,"method":"initialize"}
			< {"id":1,"result":{}}
			> {"method":"notifications/initialized"}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":2,"result":"b"}
			< {"method":"notifications/tools/list_changed"}
			> {"id":3,"method":"tools/call","params":{"name":"c"}}
			< {"id":3,"result":"c"}`,
			[]string{"missing: #5 tools/call a was not asked"}},
		{"calls in another order", twoCalls, `
			> {"id":3,"method":"tools/call","params":{"name":"c"}}
			the list changed before c was called
			< {"method":"notifications/tools/list_changed"}
			< {"id":3,"result":"c"}
			> {"id":1,"method":"initialize"}
			< {"id":1,"result":{}}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":2,"result":"b"}`,
			[]string{"missing: #5 tools/call a was not asked"}},
		{"nothing recorded", twoCalls, `
			> {"id":1,"method":"tools/call","params":{"name":"z"}}
			< {"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"mcprec: no recorded answer for tools/call; nearest is #5: differs at /params/name: recorded \"a\", got \"z\""}}
			> {"id":"x","method":"prompts/list"}
			< {"jsonrpc":"2.0","id":"x","error":{"code":-32010,"message":"mcprec: no recorded answer for prompts/list: no request of that method was recorded"}}
			> {"id":2,"method":"initialize"}
			< {"id":2,"result":{}}
			> {"id":3,"method":"initialize"}
			< {"jsonrpc":"2.0","id":3,"error":{"code":-32010,"message":"mcprec: no recorded answer left for initialize: it was recorded once, last as #2"}}
			> {"id":4,"method":"ping"}
			< {"jsonrpc":"2.0","id":4,"result":{}}`,
			[]string{
				`extra: no recorded answer for tools/call; nearest is #5: differs at /params/name: recorded "a", got "z"`,
				"extra: no recorded answer for prompts/list: no request of that method was recorded",
				"extra: no recorded answer left for initialize: it was recorded once, last as #2",
				"missing: #5 tools/call a was not asked", "missing: #7 tools/call b was not asked", "missing: #10 tools/call c was not asked",
			}},
		{"identical calls in recorded order", `
			> {"id":1,"method":"x"}
			< {"id":1,"result":"first"}
			> {"id":2,"method":"x"}
			< {"id":2,"result":"second"}`, `
			> {"id":7,"method":"x","params":{}}
			< {"id":7,"result":"first"}
			> {"id":8,"method":"x","params":{"_meta":{"progressToken":1}}}
			< {"id":8,"result":"second"}`, nil},
		{"a probe for a newer revision", "> {\"id\":1,\"method\":\"initialize\"}\n< {\"id\":1,\"result\":{}}", `
			> {"id":"probe","method":"server/discover"}
			< {"jsonrpc":"2.0","id":"probe","error":{"code":-32601,"message":"Method not found"}}
			> {"id":1,"method":"initialize"}
			< {"id":1,"result":{}}`, nil},
		{"noise before the first message", "< > npm run\n> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}",
			"< > npm run\n> {\"id\":5,\"method\":\"ping\"}\n< {\"id\":5,\"result\":{}}", nil},
		{"progress as recorded", withProgress, withProgress, nil},
		{"another token", withProgress, `
			> {"id":9,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"tok"}}}
			< {"method":"notifications/progress","params":{ "progress":1, "progressToken" : "tok" }}
			< {"method":"notifications/message","params":{"data":"half"}}
			< {"method":"notifications/progress","params":{"progressToken":"tok","progress":2}}
			< { "result" : {"x":1.50, "id":1}, "id" : 9 }
			> {"id":10,"method":"tools/list"}
			< {"id":10,"result":[]}`, nil},
		{"no token", withProgress, `
			> {"id":1,"method":"tools/call","params":{"name":"slow"}}
			< {"method":"notifications/message","params":{"data":"half"}}
			< { "result" : {"x":1.50, "id":1}, "id" : 1 }`,
			[]string{
				"not sent: #3: tools/call gave no progress token", "not sent: #5: tools/call gave no progress token",
				"missing: #7 tools/list was not asked",
			}},
		{"answers out of order", atOnce, atOnce, nil},
		{"the other call alone", atOnce, `
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			the first may still come
			~
			< {"method":"notifications/message","params":{"data":"both"}}
			< {"id":2,"result":"b"}`,
			[]string{"missing: #2 tools/call a was not asked"}},
		{"the other call first", atOnce, `
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			< {"method":"notifications/message","params":{"data":"both"}}
			< {"id":2,"result":"b"}
			< {"id":1,"result":"a"}`, nil},
		{"one call at a time", atOnce, `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			~
			< {"method":"notifications/message","params":{"data":"both"}}
			< {"id":1,"result":"a"}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":2,"result":"b"}
			~`, nil},
		{"silence is no reason to speak", twoCalls, "~\n> {\"id\":1,\"method\":\"initialize\"}\n< {\"id\":1,\"result\":{}}\n~",
			[]string{"missing: #5 tools/call a was not asked", "missing: #7 tools/call b was not asked", "missing: #10 tools/call c was not asked"}},
		{"a call held back", atOnce, `> {"id":1,"method":"tools/call","params":{"name":"a"}}`,
			[]string{"not sent: #6, the answer to tools/call a, was still waiting for the client", "missing: #3 tools/call b was not asked"}},
		{"sampling", withSampling, withSampling, nil},
		{"sampling refused", withSampling, `
			> {"id":5,"method":"tools/call","params":{"name":"ask"}}
			< {"id":1,"method":"sampling/createMessage","params":{}}
			> {"id":1,"error":{"code":-1}}
			< {"id":5,"result":"asked"}
			> {"id":1,"result":{}}`,
			[]string{"extra: an answer with id 1, which no request of the server has", "missing: #6 tools/list was not asked"}},
		{"sampling not answered", withSampling, `
			> {"id":5,"method":"tools/call","params":{"name":"ask"}}
			< {"id":1,"method":"sampling/createMessage","params":{}}
			> {"id":6,"method":"tools/list"}
			< {"id":6,"result":[]}
			a person may still be thinking
			~
			.
			< {"id":5,"result":"asked"}`, nil},
		{"roots not answered", strings.ReplaceAll(withSampling, "sampling/createMessage", "roots/list"), `
			> {"id":5,"method":"tools/call","params":{"name":"ask"}}
			< {"id":1,"method":"roots/list","params":{}}
			~
			< {"id":5,"result":"asked"}
			> {"id":6,"method":"tools/list"}
			< {"id":6,"result":[]}`,
			[]string{"missing: #4, the answer to roots/list, was not given"}},
		{"roots answered late", strings.ReplaceAll(withSampling, "sampling/createMessage", "roots/list"), `
			> {"id":5,"method":"tools/call","params":{"name":"ask"}}
			< {"id":1,"method":"roots/list","params":{}}
			~
			< {"id":5,"result":"asked"}
			> {"id":6,"method":"tools/list"}
			< {"id":6,"result":[]}
			> {"id":1,"result":{}}`, nil},
		{"roots that the recorded client did not answer either", `
			> {"id":1,"method":"tools/list"}
			< {"id":1,"method":"roots/list"}
			< {"id":1,"result":[]}`, `
			> {"id":1,"method":"tools/list"}
			< {"id":1,"method":"roots/list"}
			< {"id":1,"result":[]}
			~`, nil},
		{"sampling not asked", withSampling, `
			> {"id":6,"method":"tools/list"}
			< {"id":6,"result":[]}`,
			[]string{"missing: #2 tools/call ask was not asked"}},
		{"cancelled", `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			< {"id":2,"result":"b"}`, `
			> {"id":11,"method":"tools/call","params":{"name":"a"}}
			> {"id":12,"method":"tools/call","params":{"name":"b"}}
			> {"method":"notifications/cancelled","params":{"requestId":99}}
			> {"method":"notifications/cancelled","params":{"requestId":11}}
			< {"id":12,"result":"b"}`, nil},
		{"a subscription", `
			> {"id":"l","method":"subscriptions/listen"}
			< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
			> {"id":2,"method":"tools/list"}
			< {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
			< {"id":2,"result":[]}
			< {"id":"l","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}`, `
			> {"id":0,"method":"subscriptions/listen"}
			< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}
			> {"id":1,"method":"tools/list"}
			< {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}
			< {"id":1,"result":[]}
			< {"id":0,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}`, nil},
		{"batches", `
			> [{"id":1,"method":"a"},{"id":2,"method":"b"}]
			< [{"id":2,"result":"b"}, {"id":1,"result":"a"}]`, `
			> {"id":"x","method":"a"}
			> {"id":"y","method":"b"}
			< [{"id":"y","result":"b"}, {"id":"x","result":"a"}]`, nil},
		{"lines that are no message", `
			> {"id":1,"method":"a"}
			>
			> nonsense
			> {"jsonrpc":"2.0"}
			< nonsense, too
			<
			< {"id":1,"result":"a"}`, `
			> {"id":1,"method":"a"}
			nothing but the blank line is left out, and nothing is waited for
			< nonsense, too
			< {"id":1,"result":"a"}
			> other nonsense`, nil},
		{"a request never answered", `
			> {"id":1,"method":"a"}
			> {"id":2,"method":"b"}
			< {"id":2,"result":"b"}`, `
			> {"id":2,"method":"b"}
			< {"id":2,"result":"b"}
			> {"id":3,"method":"a"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer(recordPlaybook(tt.recorded), match.Rules{})
			if got := perform(p, tt.live); got != tidy(tt.live) {
				t.Errorf("got\n%s\nwant\n%s", got, tidy(tt.live))
			}
			found := p.Close()
			compareFindings(t, found, tt.findings)
			held := slices.ContainsFunc(found, func(v match.StepVerdict) bool { return strings.Contains(v.String(), "still waiting") })
			if p.Waiting() != held {
				t.Errorf("waiting: %v", p.Waiting())
			}
		})
	}
}

func TestPlayerOwnMatcher(t *testing.T) {
	byMethod := func(m transport.Message) (match.Key, error) { return match.Key(m.Method), nil }
	p := NewPlayer(recordPlaybook(twoCalls), match.Rules{Match: byMethod})
	live := "> {\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"z\"}}\n< {\"id\":5,\"result\":\"a\"}\n"
	if got := perform(p, live); got != live {
		t.Errorf("got\n%s\nwant\n%s", got, live)
	}
	refuse := func(m transport.Message) (match.Key, error) { return "", fmt.Errorf("not today") }
	p = NewPlayer(recordPlaybook(twoCalls), match.Rules{Match: refuse})
	live = "> {\"id\":5,\"method\":\"tools/call\"}\n< {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32010,\"message\":\"mcprec: no recorded answer for tools/call: not today\"}}\n"
	if got := perform(p, live); got != live {
		t.Errorf("got\n%s\nwant\n%s", got, live)
	}
}

// replies counts the recorded frames that were sent.
func replies(p *Player) (n int) {
	for _, f := range p.out {
		if f != nil {
			n++
		}
	}
	return n
}

// TestPlayerStreams holds that an answer goes to the stream its request came on.
func TestPlayerStreams(t *testing.T) {
	p := NewPlayer(recordPlaybook(twoCalls), match.Rules{})
	out := p.Receive(transport.Frame{Bytes: []byte(`{"id":1,"method":"initialize"}`), Stream: 7})
	if len(out) != 1 || out[0].Stream != 7 {
		t.Errorf("got %+v", out)
	}
}

// FuzzPlayer plays any recording to the client it recorded, and to that client
// with other ids: nothing panics, and nothing is said twice.
func FuzzPlayer(f *testing.F) {
	for _, text := range []string{twoCalls, withProgress, atOnce, withSampling} {
		f.Add(text, text)
		f.Add(text, strings.ReplaceAll(text, `"id":`, `"id":1`))
	}
	f.Fuzz(func(t *testing.T, recorded, live string) {
		events := recordPlaybook(recorded)
		p := NewPlayer(events, match.Rules{})
		perform(p, live)
		for p.Waiting() {
			before := replies(p) + len(p.Findings())
			p.GiveUpWaiting()
			if replies(p)+len(p.Findings()) == before {
				t.Fatal("waiting for ever")
			}
		}
		p.End()
		p.Close()
		if n := strings.Count(recorded, "<"); replies(p) > n {
			t.Fatalf("%d messages said of %d", replies(p), n)
		}
	})
}

// BenchmarkPlayer makes 10,000 calls of which the first was skipped.
func BenchmarkPlayer(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "> {\"id\":%d,\"method\":\"tools/call\",\"params\":{\"n\":%d}}\n< {\"id\":%d,\"result\":\"%d\"}\n", i, i, i, i)
	}
	events := recordPlaybook(text.String())
	b.ReportAllocs()
	for b.Loop() {
		p := NewPlayer(events, match.Rules{})
		for _, e := range events[3:] {
			if e.Dir == transport.ClientToServer {
				p.Receive(transport.Frame{Bytes: e.Payload})
				p.Waiting()
			}
		}
		if replies(p) != 9_999 {
			b.Fatal(replies(p))
		}
	}
}
