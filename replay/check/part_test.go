package check_test

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestPart holds who is at fault for a line without an end.
func TestPart(t *testing.T) {
	const half = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"te`
	stopped := store.EOFInfo{By: "receiver", Error: "broken pipe", Read: int64(len(half)) + 10, Passed: 30}
	for _, tt := range []struct {
		name  string
		text  string
		end   *store.EOFInfo
		rule  string
		fault transport.Direction
		words string
	}{
		{"the server stopped reading", half, &stopped, "E1", transport.ServerToClient, "the server stopped reading in the middle of a message of the client, of which 59 bytes had come and 20 were passed on"},
		{"it was no message anyway", "Loading model... Loading model... Loading model... Loading", &stopped, "E4", transport.ClientToServer, "not JSON-RPC"},
		{"all of it was passed on", half, &store.EOFInfo{By: "receiver", Error: "broken pipe"}, "E4", transport.ClientToServer, "not JSON-RPC"},
		{"none of it was passed on, nor what was before", half, &store.EOFInfo{By: "receiver", Read: 1000, Passed: 30}, "E4", transport.ClientToServer, "not JSON-RPC"},
		{"the client ended in it", half, &store.EOFInfo{By: "sender"}, "E4", transport.ClientToServer, "not JSON-RPC"},
		{"the recording ends", half, nil, "E4", transport.ClientToServer, "not JSON-RPC"},
	} {
		var found []check.Finding
		fold := check.New(check.Gate{}, func(f check.Finding) {
			if f.Rule == "E1" || f.Rule == "E4" {
				found = append(found, f)
			}
		})
		events := []store.Event{
			{Seq: 1, Kind: store.Opened, Payload: store.Header{Transport: "stdio"}.Encode()},
			{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Unterminated: true, Payload: []byte(tt.text)}}
		if tt.end != nil {
			events = append(events, store.Event{Seq: 3, Kind: store.EOF, Dir: transport.ClientToServer, Payload: store.EncodePayload(tt.end)})
		}
		if err := timeline.Project(timeline.Steps(jsonl.Each(events)), fold); err != nil {
			t.Fatal(err)
		}
		fold.Close(0)
		if len(found) != 1 || found[0].Rule != tt.rule || found[0].Dir != tt.fault || !strings.Contains(found[0].Text, tt.words) {
			t.Errorf("%s: %+v", tt.name, found)
		}
	}
}
