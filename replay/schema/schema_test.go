package schema

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// TestDefinitions: each schema is read, with each keyword that it uses, and each request
// has a result.
func TestDefinitions(t *testing.T) {
	for _, revision := range revisions {
		s, err := read(revision)
		if err != nil {
			t.Fatal(err)
		}
		for method, name := range s.methods {
			if strings.HasSuffix(name, "Request") && s.resultOf(method, nil) == "" {
				t.Errorf("%s: %s has no result", revision, method)
			}
		}
		if len(s.methods) < 20 || s.first("JSONRPCErrorResponse", "JSONRPCError") == "" || s.first("JSONRPCResultResponse", "JSONRPCResponse") == "" {
			t.Errorf("%s: %d methods", revision, len(s.methods))
		}
	}
}

// TestCheck: what is said of a message, place by place.
func TestCheck(t *testing.T) {
	var v Validator
	for _, test := range []struct {
		revision, method, message string
		want                      []string // path, text; a reason behind it is a ~
	}{
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, nil},
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":7}}`, []string{"/params: missing property 'name'", "/params/arguments: got number, want object"}},
		{"2025-11-25", "", `{"id":1.5,"method":"ping"}`, []string{": missing property 'jsonrpc'", "/id: got number, want integer or string"}},
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"vendor/any","params":{"x":[1]}}`, nil},
		{"2025-11-25", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, []string{"/params: missing property 'progressToken'"}},
		{"2025-11-25", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"text","text":1}]}}`, []string{"/result/content/1/text: got number, want string"}},
		{"2025-03-26", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"a:b","name":"n"}]}}`, []string{"/result/content/0/type: value must be one of"}},
		{"2025-11-25", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"a","status":"working","createdAt":"x","lastUpdatedAt":"x","ttl":null}}}`, nil},
		{"2025-11-25", "elicitation/create", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":3.5}}}`, []string{"/result/content/n: got number, want array or boolean or integer or string~"}},
		{"2025-06-18", "elicitation/create", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":3.5}}}`, []string{"/result/content/n: got number, want boolean or integer or string~"}},
		{"2025-06-18", "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, []string{"/id: got null, want integer or string~"}},
		{"2025-06-18", "", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, []string{": missing property 'id'~"}},
		{"2025-06-18", "", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, []string{"/id: got null, want integer or string"}},
		{"2026-07-28", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{": missing property 'params'"}},
		{"2026-07-28", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, nil},
		{"2026-07-28", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":7}}`, []string{"/result/requestState: got number, want string"}},
		{"2026-07-28", "tools/list", `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"resultType":"complete"}}`, []string{"/result: missing properties 'cacheScope', 'ttlMs'"}},
		{"2025-11-25", "", `{"id":1.5,"result":{}}`, []string{": missing property 'jsonrpc'", "/id: got number, want integer or string"}},
		{"2025-11-25", "ping", `{"jsonrpc":"2.0","id":1,"result":7}`, []string{"/result: got number, want object"}},
		{"2025-06-18", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`, []string{"/result: missing property 'content'"}},
		{"2025-06-18", "", `{"jsonrpc":"2.0","id":true,"error":{"code":-32700,"message":"x"}}`, []string{"/id: got boolean, want integer or string"}},
		{"2025-06-18", "elicitation/create", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":{}}}}`, []string{"/result/content/n: got object, want boolean or integer or string"}},
		{"2025-06-18", "resources/read", `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"%zz","text":"a"}]}}`, []string{"/result/contents/0/uri: '%zz' is not valid uri"}},
		{"2025-11-25", "resources/read", `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"%zz","text":"a"}]}}`, nil},
		{"2025-11-25", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"a"}]}}`, []string{"/result/content/0: missing property 'type'"}},
		{"2025-11-25", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"content":[7]}}`, []string{"/result/content/0: got number, want object"}},
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"x"},"argument":{"name":"a","value":"b"}}}`, []string{"/params/ref/type: value must be one of 'ref/prompt', 'ref/resource'"}},
		{"2099-01-01", "", `{"id":true}`, nil},
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_001), nil},
	} {
		messages, err := transport.Frame{Bytes: []byte(test.message)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		faults, err := v.Check(test.revision, &messages[0], test.method)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range faults {
			got := f.Path + ": " + f.Text
			if f.Reason != "" {
				got += "~"
			}
			if i >= len(test.want) || !strings.HasPrefix(got, test.want[i]) || strings.HasSuffix(got, "~") != strings.HasSuffix(test.want[i], "~") {
				t.Errorf("%s %.120s: fault %d is %s", test.revision, test.message, i+1, got)
			}
		}
		if len(faults) != len(test.want) {
			t.Errorf("%s %.120s: %d faults, want %v", test.revision, test.message, len(faults), test.want)
		}
	}
}
