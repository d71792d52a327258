package shrink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Each case is a session; the want lists its parts as the frames in them (from 1)
// and what they need: "1,3 <2" is part of frames 1 and 3 that happens inside the
// part of frame 2, "4 ^1" one that needs the part of frame 1, "|" either.
var partsTests = []struct{ name, session, want string }{
	{"call with progress", `
			> "id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}
			< "method":"notifications/progress","params":{"progressToken":"t","progress":1}
			< "method":"notifications/message","params":{}
			< "id":1,"result":{}`,
		"1,4; 2 <1; 3"},
	{"the same id both ways", `
			> "id":1,"method":"tools/call"
			< "id":1,"method":"ping"
			> "id":1,"result":{}
			< "id":1,"result":{}`,
		"1,4; 2,3"},
	{"an id used again", `
			> "id":1,"method":"tools/list"
			< "id":1,"result":{}
			> "id":1,"method":"tools/list"
			< "id":1,"result":{}
			< "id":1,"result":{}`,
		"1,2; 3,4; 5 <3"},
	{"cancelled and answered", `
			> "id":1,"method":"tools/call"
			> "method":"notifications/cancelled","params":{"requestId":1}
			< "id":1,"result":{}`,
		"1,3; 2 <1"},
	{"cancelled for good", `
			> "id":1,"method":"tools/call"
			> "method":"notifications/cancelled","params":{"requestId":1}`,
		"1,2"},
	{"nested, one of two", `
			> "id":1,"method":"tools/call"
			> "id":2,"method":"tools/call"
			< "id":1,"method":"elicitation/create"
			< "id":2,"method":"roots/list"
			> "id":1,"result":{}
			> "id":2,"result":{}
			< "id":1,"result":{}
			< "id":2,"result":{}`,
		"1,7; 2,8; 3,5 <1|2; 4,6"},
	{"handshake", `
			> "id":1,"method":"initialize"
			< "id":1,"result":{}
			> "method":"notifications/initialized"
			> "id":2,"method":"tools/list"
			< "id":2,"result":{}`,
		"1,2,3; 4,5 ^1"},
	{"pages", `
			> "id":1,"method":"tools/list"
			< "id":1,"result":{"nextCursor":"p"}
			> "id":2,"method":"tools/list","params":{"cursor":"p"}
			< "id":2,"result":{}`,
		"1,2; 3,4 ^1"},
	{"task", `
			> "id":1,"method":"tools/call"
			< "id":1,"result":{"task":{"taskId":"k"}}
			< "method":"notifications/tasks/status","params":{"taskId":"k"}
			> "id":2,"method":"tasks/get","params":{"taskId":"k"}
			< "id":2,"result":{"taskId":"k"}
			> "id":3,"method":"tasks/result","params":{"taskId":"k"}
			< "id":3,"result":{}`,
		"1,2; 3 ^1; 4,5 ^1; 6,7 ^1|4"},
	{"asked again with a state", `
			> "id":1,"method":"tools/call"
			< "id":1,"result":{"resultType":"input_required","requestState":"s"}
			> "id":2,"method":"tools/call","params":{"requestState":"s"}
			< "id":2,"result":{}`,
		"1,2; 3,4 ^1"},
	{"subscriptions", `
			> "id":1,"method":"resources/subscribe","params":{"uri":"u"}
			< "id":1,"result":{}
			< "method":"notifications/resources/updated","params":{"uri":"u"}
			< "method":"notifications/resources/updated","params":{"uri":"other"}`,
		"1,2; 3 ^1; 4"},
	{"listen", `
			> "id":5,"method":"subscriptions/listen"
			< "method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}
			< "method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}`,
		"1,2; 3 <1"},
	{"messages of a call that asked", `
			> "id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}
			> "id":2,"method":"tools/call"
			< "method":"notifications/message"
			< "id":1,"result":{}
			< "id":2,"result":{}`,
		"1,4; 2,5; 3 <1"},
	{"batch", `
			> ["id":1,"method":"tools/list"] ["id":2,"method":"ping"]
			< "id":2,"result":{}
			< "id":1,"result":{}
			< "method":"notifications/message"`,
		"1,2,3; 4"},
	{"noise and orphans", `
			< not JSON
			< "id":9,"result":{}
			< "method":"notifications/progress","params":{"progressToken":"t"}`,
		"1; 2; 3"},
}

func TestParts(t *testing.T) {
	for _, test := range partsTests {
		if got := partsText(takeApart(script(frames(test.session)...), false)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Over HTTP a message is in the part of the call that the Model says: of its exchange, or of its session.
func TestPartsOverHTTP(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	const answer, cancel = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	type line struct {
		stream uint64
		text   string // a frame; or the method of a request and its session
	}
	for _, test := range []struct {
		name  string
		lines []line
		want  string
	}{
		{"each in its exchange", []line{{1, "POST a"}, {1, call}, {2, "POST a"}, {2, call}, {2, answer}, {1, answer}}, "1,4; 2,3"},
		{"on resumed streams of two sessions", []line{
			{1, "POST a"}, {1, call}, {2, "POST b"}, {2, call}, {3, "GET b"}, {3, progress}, {3, answer}, {4, "GET a"}, {4, answer},
		}, "1,5; 2,4; 3 <2"},
		{"a cancellation of another session", []line{
			{1, "POST a"}, {1, call}, {2, "POST b"}, {2, call}, {3, "POST a"}, {3, cancel}, {2, answer},
		}, "1,3; 2,4"},
	} {
		events := script()[:1]
		for _, l := range test.lines {
			e := store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Stream: l.stream, Dir: transport.ClientToServer, Payload: []byte(l.text)}
			if method, session, isRequest := strings.Cut(l.text, " "); isRequest {
				e.Kind = store.HTTP
				e.Payload = store.EncodePayload(store.HTTPInfo{What: store.HTTPRequest, Method: method, Header: map[string][]string{mcp.HeaderSessionID: {session}}})
			} else if l.text == progress || l.text == answer {
				e.Dir = transport.ServerToClient
			}
			events = append(events, e)
		}
		if got := partsText(takeApart(events, false)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// frames adds to the lines of a case what all messages have.
func frames(session string) []string {
	var list []string
	for line := range strings.SplitSeq(strings.TrimSpace(session), "\n") {
		arrow, body, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch body[0] {
		case '"':
			body = `{"jsonrpc":"2.0",` + body + "}"
		case '[':
			body = strings.NewReplacer("[", `{"jsonrpc":"2.0",`, "] ", "},", "]", "}").Replace(body)
			body = "[" + body + "]"
		}
		list = append(list, arrow+" "+body)
	}
	return list
}

func partsText(c *cut) string {
	first := func(p int) string { return fmt.Sprint(c.parts[p].frames[0] + 1) }
	var parts []string
	for _, p := range c.parts {
		var numbers []string
		for _, f := range p.frames {
			numbers = append(numbers, fmt.Sprint(f+1))
		}
		text := strings.Join(numbers, ",")
		for _, n := range p.needs {
			var any []string
			for _, q := range n.any {
				any = append(any, first(q))
			}
			mark := "^"
			if n.inside {
				mark = "<"
			}
			text += " " + mark + strings.Join(any, "|")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
