package gate

import (
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// Names of an odd session, in which the calls are those that the Model of package timeline says.
func TestContentNamesOfOddSessions(t *testing.T) {
	const c2s, s2c = transport.ClientToServer, transport.ServerToClient
	for name, test := range map[string][]struct {
		dir         transport.Direction
		stream      uint64
		frame, want string
	}{
		"an answer that fits the second of two": {
			{c2s, 0, `{"id":1,"method":"tools/call","params":{"name":"a"}}`, `tools/call "a"#1`},
			{c2s, 0, `{"id":1,"method":"tools/list"}`, `tools/list#1`},
			{s2c, 0, `{"id":1,"result":{"tools":[]}}`, `response to tools/list#1`},
			{s2c, 0, `{"id":1,"result":{"content":[]}}`, `response to tools/call "a"#1`},
		},
		"an id of another type": {
			{c2s, 0, `{"id":1,"method":"ping"}`, `ping#1`},
			{s2c, 0, `{"id":"1","result":{}}`, `response to ping#1`},
		},
		"two exchanges": {
			{c2s, 1, `{"id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}`, `ping#1`},
			{c2s, 2, `{"id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}`, `ping#2`},
			{s2c, 1, `{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, `notifications/progress (ping#1)#1`},
			{s2c, 2, `{"id":1,"result":{}}`, `response to ping#2`},
			{c2s, 3, `{"method":"notifications/cancelled","params":{"requestId":1}}`, `notifications/cancelled (ping#1)#1`},
			{s2c, 1, `{"id":1,"result":{}}`, `response to ping#1`},
		},
		"a cancellation of the latest of two": {
			{c2s, 1, `{"id":1,"method":"ping"}`, `ping#1`},
			{c2s, 2, `{"id":1,"method":"ping"}`, `ping#2`},
			{c2s, 3, `{"method":"notifications/cancelled","params":{"requestId":1}}`, `notifications/cancelled (ping#2)#1`},
		},
	} {
		n := NewNamer(nil)
		pair := &Pair{Number: 1}
		for _, f := range test {
			lane := &Lane{Dir: f.dir, pair: pair}
			if f.stream > 0 && f.dir == c2s {
				n.begin(&Exchange{Stream: f.stream, Lane: lane})
			}
			got := &Flight{Dir: f.dir, Lane: lane, Frame: transport.Frame{Bytes: []byte(f.frame), Stream: f.stream}}
			n.name(got)
			if got.Name != f.want {
				t.Errorf("%s: %s: %s, want %s", name, f.frame, got.Name, f.want)
			}
		}
	}
}

func TestContentNames(t *testing.T) {
	const c2s, s2c = transport.ClientToServer, transport.ServerToClient
	n := NewNamer(nil)
	for _, f := range []struct {
		dir         transport.Direction
		op          string
		frame, want string
	}{
		{c2s, "", `{"id":1,"method":"tools/call","params":{"name":"a b","_meta":{"progressToken":"t9"}}}`, `tools/call "a b"#1`},
		{c2s, "twin", `{"id":2,"method":"tools/call","params":{"name":"a b"}}`, `tools/call "a b" by twin#1`},
		{c2s, "", `{"id":3,"method":"tools/call","params":{"name":"a b"}}`, `tools/call "a b"#2`},
		{s2c, "", `{"method":"notifications/progress","params":{"progressToken":"t9","progress":1}}`, `notifications/progress (tools/call "a b"#1)#1`},
		{s2c, "", `{"method":"notifications/progress","params":{"progressToken":"t9","progress":2}}`, `notifications/progress (tools/call "a b"#1)#2`},
		{s2c, "", `{"method":"notifications/progress","params":{"progressToken":5}}`, `notifications/progress#1`},
		{s2c, "", `{"id":1,"method":"ping"}`, `ping#1`},
		{s2c, "", `{"id":2,"result":{}}`, `response to tools/call "a b" by twin#1`},
		{s2c, "", `{"id":2,"error":{}}`, `another response to tools/call "a b" by twin#1#1`},
		{s2c, "", `{"id":77,"result":{}}`, `response to nothing#1`},
		{c2s, "", `{"id":1,"result":{}}`, `response to ping#1`},
		{c2s, "", `{"method":"notifications/cancelled","params":{"requestId":3}}`, `notifications/cancelled (tools/call "a b"#2)#1`},
		{c2s, "", `{"id":4,"method":"resources/read","params":{"uri":"file:///x"}}`, `resources/read "file:///x"#1`},
		{c2s, "", `{"id":1,"method":"ping"}`, `ping#1`},
		{s2c, "", `{"id":1,"result":{"content":[]}}`, `response to tools/call "a b"#1`}, // the first that it fits
		{s2c, "", `{"id":1.0,"result":{}}`, `response to ping#1`},
		{c2s, "", `[{"id":5,"method":"ping"},{"method":"x"}]`, `batch [ping#2, x#1]#1`},
		{s2c, "", `listening on stdio`, `not JSON cff7b77a#1`},
		{s2c, "", `{}`, `not a message#1`},
		{c2s, "", `{"method":"a\nb"}`, `"a\nb"#1`},
	} {
		got := &Flight{Dir: f.dir, Op: f.op, Frame: transport.Frame{Bytes: []byte(f.frame)}}
		n.name(got)
		if got.Name != f.want {
			t.Errorf("%s: %s, want %s", f.frame, got.Name, f.want)
		}
	}
}
