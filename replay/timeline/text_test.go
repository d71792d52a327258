package timeline

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// lastLine returns the line of the last of the events, without number, time and size.
func lastLine(t *testing.T, events []store.Event) string {
	t.Helper()
	line := ""
	transcript := NewTranscript(func(e Entry) error {
		line, _, _ = strings.Cut(e.Summary(), " (redacted")
		line = line[:max(strings.LastIndex(line, " ("), 0)]
		return nil
	})
	if err := Project(Steps(replaytest.SequenceOf(events)), transcript); err != nil {
		t.Fatal(err)
	}
	return line
}

// TestText: the line of a message has its words for people.
func TestText(t *testing.T) {
	call := `> {"id":1,"method":"tools/call","params":{"name":"x"}}` + "\n"
	long := strings.Repeat("ä", textLimit)
	for _, row := range []struct{ session, want string }{
		{call + `< {"id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such file"},{"type":"image"},{"type":"text","text":"at line 3"}]}}`,
			`response tool error of tools/call "x" id 1 after 1ms: no such file at line 3`},
		{call + `< {"id":1,"result":{"isError":true,"structuredContent":{"code":5}}}`, `response tool error of tools/call "x" id 1 after 1ms: {"code":5}`},
		{call + `< {"id":1,"result":{"isError":true,"content":"none"}}`, `response tool error of tools/call "x" id 1 after 1ms`},
		{call + `< {"id":1,"result":{"content":[{"type":"text","text":"fine"}]}}`, `response result of tools/call "x" id 1 after 1ms`},
		{call + `< {"id":1,"error":{"code":-32602,"message":"bad\n\targument ` + "\u202e" + `name"}}`, `response error -32602 of tools/call "x" id 1 after 1ms: bad  argument  name`},
		{call + `< {"id":1,"error":{"code":-32602,"message":"` + long + `"}}`, `response error -32602 of tools/call "x" id 1 after 1ms: ` + long[:textLimit] + "…"},
		{call + `< {"id":1,"error":{"code":5,"message":7}}`, `response error 5 of tools/call "x" id 1 after 1ms`},
		{`< {"method":"notifications/message","params":{"level":"error","logger":"db","data":"cannot reach it"}}`, `notification notifications/message: error db: cannot reach it`},
		{`< {"method":"notifications/message","params":{"data":{"a":1}}}`, `notification notifications/message: {"a":1}`},
		{call + `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"timed out"}}`, `notification notifications/cancelled of #2: timed out`},
		{`< {"method":"notifications/progress","params":{"progressToken":1,"progress":3,"total":10.0,"message":"copying"}}`, `notification notifications/progress token 1: 3 of 10.0, copying`},
		{`< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is "}}}}`,
			`notification session/update: agent_message_chunk It is`},
		{`< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}}}`,
			`notification session/update: tool_call_update completed`},
		{`> {"id":1,"method":"session/prompt"}` + "\n" + `< {"id":1,"result":{"stopReason":"end_turn"}}`, `response result of session/prompt id 1 after 1ms: end_turn`},
		{`< {"id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"1","title":"Run tests"}}}`,
			`request session/request_permission id 1: Run tests`},
	} {
		if got := lastLine(t, replaytest.Session(t, row.session)); got != row.want {
			t.Errorf("%s:\n%s\nwant\n%s", row.session, got, row.want)
		}
	}
}

// TestNotLookedUp: a transcript that begins late does not say that a response has no request.
func TestNotLookedUp(t *testing.T) {
	answer := store.Event{Seq: 7, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"id":1,"result":{"isError":true,"content":[{"text":"full"}]}}`)}
	for first, want := range map[uint64]string{
		1: "response result id 1, to no request",
		2: "response tool error id 1 (request not looked up): full",
	} {
		events := []store.Event{{Seq: first, Kind: store.Stderr}, answer}
		if got := lastLine(t, events); got != want {
			t.Errorf("from #%d: %s, want %s", first, got, want)
		}
	}
	noID := answer
	noID.Payload = []byte(`{"id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	if got, want := lastLine(t, []store.Event{noID}), "response error -32700 id null, to no request: Parse error"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestShortID: of a masked id, as of any other, enough is shown to tell it from the next one.
func TestShortID(t *testing.T) {
	for id, want := range map[string]string{
		"s1": "s1", "123456789012": "123456789012", "1234567890123": "123456789012…",
		"[redacted:0123456789abcdef]": "[redacted:0123456789ab…",
	} {
		if got := shortID(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
