package gate

import (
	"testing"

	"github.com/mcprec/mcprec/transport"
)

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
		{s2c, "", `{"id":1,"result":{}}`, `response to tools/call "a b"#1`}, // the first that is open
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
