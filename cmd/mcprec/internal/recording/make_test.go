package recording

import (
	"testing"

	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestMadeText holds that the requests of a made session are those of its client.
func TestMadeText(t *testing.T) {
	frame := func(seq uint64, dir transport.Direction, text string) store.Event {
		return store.Event{Seq: seq, Kind: store.Frame, Dir: dir, Payload: []byte(text)}
	}
	made := external.Made{Events: []store.Event{
		frame(1, transport.ClientToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`),
		frame(2, transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`),
		frame(3, transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`),
	}}
	const want = "the session has 1 request; 1 answered with an error, the first is tools/call search: --call 'TOOL {…}' gives better arguments"
	if got := madeText(made); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
