package running

import (
	"fmt"
	"strings"
	"testing"
)

const (
	greet    = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	greetAll = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}`
	greeted  = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	ready    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	search   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search"}}`
	found    = `{"result":{"content":[]},"id":2,"jsonrpc":"2.0"}`
	roots    = `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`
	elicit   = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"sure?"}}`
	pingZero = `{"jsonrpc":"2.0","id":0,"method":"ping"}`
)

// What is open follows from the messages that are there, in any order, between any other bytes.
func TestHeld(t *testing.T) {
	for name, test := range map[string]struct {
		messages []string
		want     string
	}{
		"answered":                      {[]string{greet, greeted, ready, search, found}, ""},
		"a call":                        {[]string{greet, greeted, ready, search}, "server no-answer tools/call;"},
		"a call that was cancelled":     {[]string{greet, greeted, ready, search, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`}, ""},
		"the handshake":                 {[]string{greet, greeted}, "client handshake-not-finished initialize;"},
		"both sides use the id 2":       {[]string{greet, greeted, ready, search, roots, found}, "client asks-client roots/list;"},
		"the same, and the roots came":  {[]string{greet, greeted, ready, search, roots, `{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}`}, "server no-answer tools/call;"},
		"a ping of the server":          {[]string{greet, greeted, ready, pingZero}, "client asks-client ping;"},
		"a ping of either":              {[]string{greet, greeted, ready, `{"jsonrpc":"2.0","id":7,"method":"ping"}`}, ""},
		"a person":                      {[]string{greetAll, greeted, ready, elicit}, "client asks-client elicitation/create, of a person;"},
		"no person was promised":        {[]string{greet, greeted, ready, elicit}, "client asks-client elicitation/create;"},
		"an old call, and the last one": {[]string{search, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":9,"result":{"tools":[]}}`}, ""},
		"a listen without its answer":   {[]string{`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`}, "server listen-not-acknowledged subscriptions/listen;"},
		"a listen that is acknowledged": {[]string{`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`}, ""},
		"input that was asked for":      {[]string{search, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`}, "client input-not-supplied tools/call;"},
		"half a message":                {[]string{greet, greeted, ready, search[:40]}, ""},
	} {
		h := newHolding()
		h.take([]byte("\x00garbage{{\"" + strings.Join(test.messages, "\x00\x01 {\"x") + "\x00"))
		got := ""
		for _, call := range h.held().Open {
			got += fmt.Sprintf("%s %s %s", call.Culprit, call.Shape, call.Method)
			if call.AsksPerson {
				got += ", of a person"
			}
			got += ";"
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	h := newHolding()
	h.take([]byte(strings.Join([]string{greet, greeted, ready, search, found}, "\x00")))
	h.holdsBack = true
	if open := h.held().Open; len(open) != 1 || open[0].Method != "tools/call" {
		t.Errorf("an answer that was never written: %+v", open)
	}
}
