package standin

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestChanges holds what caused a change, and what a server had of a page when.
func TestChanges(t *testing.T) {
	var events []store.Event
	for i, line := range strings.Split(`> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"b"}}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"install"}}
> {"jsonrpc":"2.0","id":3,"method":"ping"}
< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}
> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"b"}}
> {"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///a"}}
< {"jsonrpc":"2.0","id":5,"result":{"contents":[]}}
< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no such cursor"}}
> {"jsonrpc":"2.0","id":6,"method":"tools/list"}
< {"jsonrpc":"2.0","id":6,"result":{"tools":[]}}
> {"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"file:///a"}}
< {"jsonrpc":"2.0","id":7,"result":{}}
< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}
> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"install"}}
< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`, "\n") {
		dir := transport.ClientToServer
		if line[0] == '<' {
			dir = transport.ServerToClient
		}
		events = append(events, store.Event{Seq: uint64(i + 1), Kind: store.Frame, Dir: dir, Payload: []byte(line[2:])})
	}
	causes, versions, unasked := Changes(events)
	if want := (Unasked{14: {15}}); !reflect.DeepEqual(unasked, want) {
		t.Errorf("unasked are %v, want %v", unasked, want)
	}
	if want := (Causes{5: 2, 6: 2, 15: 7, 17: 8}); !reflect.DeepEqual(causes, want) {
		t.Errorf("the causes are %v, want %v", causes, want)
	}
	want := Versions{
		"tools/list":               {{Event: 2, Place: 1, Result: []byte(`{"tools":[],"nextCursor":"b"}`)}, {Event: 12, Place: 6, Cause: 2, Result: []byte(`{"tools":[]}`)}},
		"resources/read file:///a": {{Event: 9, Place: 5, Cause: 2, Result: []byte(`{"contents":[]}`)}},
	}
	if !reflect.DeepEqual(versions, want) {
		t.Errorf("the versions are %v, want %v", versions, want)
	}
	for heard, want := range map[int]string{1: `{"tools":[],"nextCursor":"b"}`, 2: `{"tools":[]}`} {
		if got := versions.Latest("tools/list", heard); string(got) != want {
			t.Errorf("behind %d frames the list is %s, want %s", heard, got, want)
		}
	}
	if got := versions.Behind("tools/list", 12); got != nil {
		t.Errorf("behind the last version: %s", got)
	}
}
