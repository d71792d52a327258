package standin

import (
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// TestUnrecorded: what a live client asks for and the recorded one did not is said.
func TestUnrecorded(t *testing.T) {
	const (
		hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`
		offers  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{}}}}`
		call    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find"}}`
		asks    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","_meta":{"progressToken":"p"}}}`
		states  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
		again   = "record it again with MCPREC_MODE=all"
		tokened = "the client asks for progress here (request #4); the recording has none: " + again
	)
	for _, tt := range []struct {
		name                   string
		recorded               string // the call
		liveHello, liveRequest string
		want                   []string
	}{
		{"the same", call, hello, call, nil},
		{"no call", call, hello, "", nil},
		{"progress in both", asks, hello, asks, nil},
		{"progress", call, hello, asks, []string{tokened}},
		{"a capability", call, offers, call, []string{"the client offers sampling here (request #2), and the recorded client did not: " + again}},
		{"a capability of a request", call, hello, states, []string{"the client offers elicitation here (request #4), and the recorded client did not: " + again}},
		{"fewer", asks, hello, call, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer(recordPlaybook("> "+hello+"\n< "+`{"jsonrpc":"2.0","id":0,"result":{}}`+"\n> "+tt.recorded+"\n< "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"), match.Rules{})
			for _, line := range []string{tt.liveHello, tt.liveRequest} {
				if line != "" {
					p.Receive(transport.Frame{Bytes: []byte(line)})
				}
			}
			if got := p.Unrecorded(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
