package schema

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestEnvelope: what every reader of JSON-RPC refuses is found without a schema.
func TestEnvelope(t *testing.T) {
	for frame, want := range map[string]string{
		`{"id":1,"result":{}}`:                                            "",
		`{"id":"a","result":{"_meta":{}}}`:                                "",
		`{"id":1,"result":{"text":"\"_meta\":null"}}`:                     "",
		`{"id":1,"error":{"code":-32601,"message":"no"}}`:                 "",
		`{"id":1,"error":{"code":1e2,"message":"","data":1}}`:             "",
		`{"id":null,"error":{"code":-32700,"message":"no"}}`:              "",
		`{"error":{"code":-32700,"message":"no"}}`:                        "",
		`{"id":1,"method":"ping"}`:                                        "",
		`{"id":1,"method":"ping","params":{"_meta":{"progressToken":7}}}`: "",
		`{"method":"x","params":{}}`:                                      "",

		`{"id":1,"result":null}`:                                 "/result: got null, want object",
		`{"id":1,"result":"pong"}`:                               "/result: got string, want object",
		`{"id":1,"result":[]}`:                                   "/result: got array, want object",
		`{"id":1,"result":true}`:                                 "/result: got boolean, want object",
		`{"id":1,"result":{"_meta":null}}`:                       "/result/_meta: got null, want object",
		`{"id":1,"result":{"_meta":[]}}`:                         "/result/_meta: got array, want object",
		`{"id":1,"error":"boom"}`:                                "/error: got string, want object",
		`{"id":1,"error":{"code":"ENOENT","message":"no file"}}`: "/error/code: got string, want integer",
		`{"id":1,"error":{"code":1.5,"message":"x"}}`:            "/error/code: got number, want integer",
		`{"id":1,"error":{"code":1,"message":null}}`:             "/error/message: got null, want string",
		`{"id":1,"error":{"message":"x"}}`:                       "/error: missing a code or a message",
		`{"id":1,"error":{"code":1}}`:                            "/error: missing a code or a message",
		`{"id":1,"result":{},"error":null}`:                      "/error: got null beside a result, want no such member",
		`{"id":1,"result":null,"error":{"code":1,"message":""}}`: ": it has a result and an error",
		`{"id":true,"result":{}}`:                                "/id: got boolean, want string or number",
		`{"id":{},"method":"ping"}`:                              "/id: got object, want string or number",
		`{"method":"notifications/progress","params":{"progressToken":1,"progress":1,"_meta":null}}`: "/params/_meta: got null, want object",
		`{"id":1,"method":"ping","params":null}`:                                                     "/params: got null, want object",
		`{"id":1,"method":"ping","params":[]}`:                                                       "/params: got array, want object",
		`{"method":"x","params":{"_meta":null}}`:                                                     "/params/_meta: got null, want object",
		`{"id":1,"method":"ping","params":{"_meta":{"progressToken":null}}}`:                         "/params/_meta/progressToken: got null, want string or number",
	} {
		messages, err := transport.Frame{Bytes: []byte(frame)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range Envelope(&messages[0], true) {
			got = append(got, f.Path+": "+f.Text)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s: %q, want %q", frame, got, want)
		}
	}
	for _, frame := range []string{`{"id":1,"result":null}`, `{"id":1,"result":[]}`, `{"id":1,"method":"exit","params":[]}`, `{"method":"x","params":null}`} {
		messages, _ := transport.Frame{Bytes: []byte(frame)}.Messages()
		if faults := Envelope(&messages[0], false); len(faults) > 0 {
			t.Errorf("%s: %v, want none: it is no MCP", frame, faults)
		}
	}
}
