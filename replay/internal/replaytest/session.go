// Package replaytest has what the tests of several packages below replay share: sessions
// written in a few words, random ones, and golden files. It imports none of these packages,
// so that their own tests can import it.
package replaytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Session makes events of lines: "> frame" goes c2s, "< frame" s2c. Words stand
// for frames:
//
//	id:method        a request; tools/call of tool "x" when the method is call
//	id:method!       the same, with a progress token
//	id=              a response
//	id!              an error response
//	~method          a notification; progress, cancelled:ID and log are short for it
//	@N               a delivered event of that direction, up to event N
//	anything else    is taken as it is
func Session(t testing.TB, lines string) []store.Event {
	t.Helper()
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: "019a0000-0000-7000-8000-000000000000", Transport: "memory"}.Encode()}}
	for line := range strings.SplitSeq(lines, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e := event(line)
		if e.Dir == transport.NoDirection {
			t.Fatalf("line %q: begin with > or <", line)
		}
		e.Seq = uint64(len(events) + 1)
		e.At = time.Duration(len(events)) * time.Millisecond
		events = append(events, e)
	}
	return events
}

func event(line string) store.Event {
	e := store.Event{Kind: store.Frame}
	e.Dir = map[byte]transport.Direction{'>': transport.ClientToServer, '<': transport.ServerToClient}[line[0]]
	word := strings.TrimSpace(line[1:])
	if upto, ok := strings.CutPrefix(word, "@"); ok {
		e.Kind = store.Delivered
		e.Payload = []byte(`{"upto":` + upto + `,"blocked_ns":1}`)
		return e
	}
	e.Payload = []byte(frame(word))
	return e
}

// FuzzEvents makes events of any bytes, line by line.
func FuzzEvents(data []byte) []store.Event {
	var events []store.Event
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" {
			continue
		}
		e := event(line)
		e.Seq = uint64(len(events) + 1)
		if e.Dir == transport.NoDirection {
			e.Kind = store.Kind(line)
			e.Payload = []byte(line)
		}
		events = append(events, e)
	}
	return events
}

func frame(word string) string {
	if inner, ok := strings.CutPrefix(word, "["); ok && strings.HasSuffix(inner, "]") {
		var all []string
		for w := range strings.FieldsSeq(inner[:len(inner)-1]) {
			all = append(all, frame(w))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	switch method, token, id := word, "", ""; {
	case strings.HasPrefix(word, "~progress"):
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`
	case strings.HasPrefix(word, "~cancelled:"):
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, word[len("~cancelled:"):])
	case strings.HasPrefix(word, "~"):
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s"}`, word[1:])
	case strings.HasSuffix(word, "="):
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, word[:len(word)-1])
	case strings.Contains(word, ":") && !strings.Contains(word, "{"):
		id, method, _ = strings.Cut(word, ":")
		if m, ok := strings.CutSuffix(method, "!"); ok {
			method, token = m, `"_meta":{"progressToken":7},`
		}
		if method == "call" {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":"x"}}`, id, token)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
	case strings.HasSuffix(word, "!"):
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, word[:len(word)-1])
	}
	return word
}

// SequenceOf yields the events, as a log does that is read without an error.
func SequenceOf(events []store.Event) func(yield func(store.Event, error) bool) {
	return func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Plain is a session without anything unusual.
const Plain = `> 1:initialize
	< 1=
	> ~initialized
	> 2:tools/list
	< 2=
	> 3:call!
	< ~progress
	< ~message
	< 3=
	> 4:tools/list
	< 4=`

// RefusedAnswer is a session over HTTP in the text form. The client answers the request #5 of the server, HTTP
// refuses that (#7, #8), and the client answers again (#11).
const RefusedAnswer = `{"mcprec":1,"transport":"http"}
{"at":"1ms","kind":"http","dir":"c2s","stream":1,"data":{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}}
{"at":"2ms","dir":"c2s","stream":1,"frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
{"at":"3ms","kind":"http","dir":"s2c","stream":1,"data":{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}}
{"at":"4ms","dir":"s2c","stream":1,"frame":{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?"}}}
{"at":"5ms","kind":"http","dir":"c2s","stream":2,"data":{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}}
{"at":"6ms","dir":"c2s","stream":2,"frame":{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}}
{"at":"7ms","kind":"http","dir":"s2c","stream":2,"data":{"what":"response","status":503}}
{"at":"8ms","kind":"http","dir":"s2c","stream":2,"data":{"what":"end"}}
{"at":"9ms","kind":"http","dir":"c2s","stream":3,"data":{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}}
{"at":"10ms","dir":"c2s","stream":3,"frame":{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}}
{"at":"11ms","kind":"http","dir":"s2c","stream":3,"data":{"what":"response","status":202}}
{"at":"12ms","dir":"s2c","stream":1,"frame":{"jsonrpc":"2.0","id":1,"result":{}}}
`
