package sourceline

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestReadNode: a promise that a library has made for a call of the program has both lines, each once; what a library awaits
// by itself is told where there is nothing of the program's.
func TestReadNode(t *testing.T) {
	const (
		inner = "    at new Promise (<anonymous>)\n    at Client.request (file:///p/node_modules/sdk/protocol.js:650:16)\n    at Client.callTool (file:///p/node_modules/sdk/client.js:70:9)\n    at work (file:///p/my%20c%C3%B6de/main.mjs:12:30)"
		outer = "    at async Client.callTool (file:///p/node_modules/sdk/client.js:71:9)\n    at async work (file:///p/my%20c%C3%B6de/main.mjs:12:30)"
		alone = "    at read (file:///p/node_modules/sdk/stdio.js:30:16)"
	)
	type promise struct {
		Request *Request `json:"request,omitempty"`
		Waits   bool     `json:"waits"`
		Stack   string   `json:"stack"`
	}
	text, err := json.Marshal(map[string]any{"program": "/p/my cöde/main.mjs", "open": []promise{
		{nil, true, alone}, {&Request{ID: json.RawMessage("3"), Method: "tools/call"}, true, alone}, {&Request{ID: json.RawMessage("3"), Method: "tools/call"}, true, inner}, {&Request{ID: json.RawMessage("3"), Method: "tools/call"}, true, outer},
		{nil, true, "    at work (file:///p/my%20c%C3%B6de/main.mjs:12:30)"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := readNode(text)
	want := []string{"tools/call (id 3) is held at protocol.js:650 (Client.request), called from main.mjs:12 (work)"}
	if got := answer.Words(9); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, got\n%q\nwant\n%q", err, got, want)
	}
	for i := range answer.Waits {
		answer.Waits[i].Request = nil
	}
	want = []string{
		"held at protocol.js:650 (Client.request), called from main.mjs:12 (work)",
		"held at main.mjs:12 (work)",
		"held at stdio.js:30 (read)",
	}
	if got := answer.Words(9); !slices.Equal(got, want) {
		t.Errorf("without requests, got\n%q\nwant\n%q", got, want)
	}
}
