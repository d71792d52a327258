package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// TestDefinitions: each schema is read, with each keyword that it uses, and each request
// has a result.
func TestDefinitions(t *testing.T) {
	for _, revision := range revisions {
		s, err := parse(revision)
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
		{"2026-07-28", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"a","status":"working","createdAt":"x","lastUpdatedAt":"x","ttlMs":null,"pollIntervalMs":50}}`, nil},
		{"2026-07-28", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"a","status":"busy","createdAt":"x","lastUpdatedAt":"x"}}`, []string{"/result: missing property 'ttlMs'", "/result/status: value must be one of"}},
		{"2026-07-28", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"task":{"name":"x"}}}`, nil},
		{"2026-07-28", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"a","status":"working","createdAt":"x","lastUpdatedAt":"x","ttlMs":60000}}`, nil},
		{"2026-07-28", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"a","status":"completed","createdAt":"x","lastUpdatedAt":"x","ttlMs":1,"result":{"content":[]}}}`, nil},
		{"2026-07-28", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"a","status":"failed","createdAt":"x","lastUpdatedAt":"x","ttlMs":1,"error":{"code":1,"message":"x"}}}`, nil},
		{"2026-07-28", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"x","lastUpdatedAt":"x","ttlMs":1,"inputRequests":{"r":{"method":"roots/list"}}}}`, nil},
		{"2026-07-28", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"a","status":"input_required","createdAt":"x","lastUpdatedAt":"x","ttlMs":1}}`, []string{"/result: missing property 'inputRequests'"}},
		{"2026-07-28", "tasks/update", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, nil},
		{"2026-07-28", "tasks/cancel", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"/result: missing property 'resultType'"}},
		{"2026-07-28", "", `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"a","inputResponses":{"r":{"roots":[]}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, nil},
		{"2026-07-28", "", `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":7,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, []string{"/params: missing property 'inputResponses'", "/params/taskId: got number, want string"}},
		{"2026-07-28", "", `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"a","status":"cancelled","createdAt":"x","lastUpdatedAt":"x","ttlMs":null}}`, nil},
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
		{"2025-06-18", "resources/read", `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a/b","text":"a"}]}}`, []string{"/result/contents/0/uri: 'a/b' is not valid uri: relative url"}},
		{"2025-06-18", "resources/templates/list", `{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"name":"a","uriTemplate":"a/{b"},{"name":"a","uriTemplate":"a/{b}"}]}}`,
			[]string{"/result/resourceTemplates/0/uriTemplate: 'a/{b' is not valid uri-template: no matching closing brace"}},
		{"2025-06-18", "tools/call", `{"jsonrpc":"2.0","id":1,"result":{"task":{}}}`, []string{"/result: missing property 'content'"}},
		{"2025-06-18", "", `{"jsonrpc":"2.0","id":1,"error":{"code":null,"message":"x"}}`, []string{"/error/code: got null, want integer"}},
		{"2025-06-18", "", `{"id":1,"error":{"code":1,"message":"x"}}`, []string{": missing property 'jsonrpc'"}},
		{"2025-06-18", "", `{"error":{"code":1,"message":"x"}}`, []string{": missing properties 'id', 'jsonrpc'"}},
		{"2025-11-25", "sampling/createMessage", `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"tool_use","name":"a","input":{}}}}`, []string{"/result/content: missing property 'id'"}},
		{"2024-11-05", "resources/list", `{"jsonrpc":"2.0","id":1,"result":{"resources":[{"name":"a","uri":"a:b","annotations":{"priority":2}}]}}`, []string{"/result/resources/0/annotations/priority: maximum: got 2, want 1"}},
		{"2025-11-25", "tasks/get", `{"jsonrpc":"2.0","id":1,"result":{"taskId":7,"status":"working","createdAt":"x","lastUpdatedAt":"x","ttl":1.5}}`,
			[]string{"/result/taskId: got number, want string", "/result/ttl: got number, want integer or null"}},
		{"2025-11-25", "completion/complete", `{"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["a"]}}}`, nil},
		{"2026-07-28", "completion/complete", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{"values":[` + strings.Repeat(`"a",`, 100) + `"a"]}}}`,
			[]string{"/result/completion/values: maxItems: got 101, want 100"}},
		{"2026-07-28", "server/discover", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","cacheScope":"public","ttlMs":1,"supportedVersions":[],"capabilities":{"extensions":{"a/b":{"n":1.5}}},"serverInfo":{"name":"a","version":"1"}}}`,
			[]string{"/result/capabilities/extensions/a~1b/n: got number, want array or boolean or integer or object or string~"}},
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
	if len(v.schemas) != len(revisions)+1 {
		t.Errorf("%d schemas are kept", len(v.schemas))
	}
}

// TestKeywords: what is said of a value by each keyword, and by forms of which none fits.
func TestKeywords(t *testing.T) {
	for _, test := range []struct {
		schema, value string
		want          []string
	}{
		{`true`, `7`, nil},
		{`{"const":1}`, `1.0`, nil},
		{`{"const":1}`, `2`, []string{": value must be 1"}},
		{`{"const":"a'\"b"}`, `1`, []string{`: value must be 'a\'"b'`}},
		{`{"enum":["a",1]}`, `1`, nil},
		{`{"enum":["a",1]}`, `{}`, []string{": value must be one of 'a', 1"}},
		{`{"type":"integer"}`, `1.0`, nil},
		{`{"type":"integer"}`, `1.5`, []string{": got number, want integer"}},
		{`{"minimum":0,"maximum":1}`, `0`, nil},
		{`{"minimum":0,"maximum":1}`, `1`, nil},
		{`{"minimum":0,"maximum":1}`, `-0.5`, []string{": minimum: got -0.5, want 0"}},
		{`{"minimum":0,"maximum":1}`, `2`, []string{": maximum: got 2, want 1"}},
		{`{"minimum":0}`, `2`, nil},
		{`{"maxItems":1}`, `[1]`, nil},
		{`{"maxItems":1}`, `[1,2]`, []string{": maxItems: got 2, want 1"}},
		{`{"format":"uri"}`, `7`, nil},
		{`{"format":"uri"}`, `"a{b"`, []string{": 'a{b' is not valid uri: relative url"}},
		{`{"format":"uri"}`, `"a:{b"`, nil},
		{`{"format":"uri-template"}`, `"a:b"`, nil},
		{`{"format":"date"}`, `"a{b"`, nil},
		{`{"additionalProperties":{"type":"string"},"properties":{"a":{"type":"null"}}}`, `{"a":null,"b/c~":2}`, []string{"/b~1c~0: got number, want string"}},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{": missing property 'a'", ": missing property 'b'"}},
		{`{"$ref":"#/x","required":["b"]}`, `{}`, []string{": missing property 'x'", ": missing property 'b'"}},
		// of several forms
		{`{"anyOf":[{"type":["string","null"]},{"type":["null","integer"]}]}`, `true`, []string{": got boolean, want integer or null or string"}},
		{`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]}`, `{"a":1}`, []string{"/a: got number, want string"}},
		{`{"anyOf":[{"required":["b"]},{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}]}`, `{"a":{"b":1}}`, []string{"/a/b: got number, want string"}},
		{`{"anyOf":[{"properties":{"a":{"type":"string"},"b":{"type":"string"}}},{"properties":{"b":{"type":"null"}}}]}`, `{"a":1,"b":1}`, []string{"/b: got number, want null"}},
		{`{"anyOf":[{"properties":{"t":{"const":"a"}},"required":["x","y"]},{"properties":{"t":{"const":"b"}}}]}`, `{"t":"c"}`, []string{"/t: value must be one of 'a', 'b'"}},
		{`{"anyOf":[{"properties":{"t":{"const":"a"}}},{"properties":{"t":{"const":"b"},"n":{"type":"null"}}}]}`, `{"t":"b","n":1}`, []string{"/n: got number, want null"}},
		{`{"anyOf":[{"properties":{"t":{"const":"a"}}},{"properties":{"u":{"const":"b"}}}]}`, `{"t":"x","u":"y"}`, []string{"/t: value must be 'a'"}},
		{`{"anyOf":[{"anyOf":[{"properties":{"t":{"const":"a"}}},{"properties":{"t":{"const":"b"}}}]},{"required":["z"]}]}`, `{"t":"x"}`, []string{"/t: value must be one of 'a', 'b'"}},
	} {
		definitions := map[string]*node{}
		if err := json.Unmarshal([]byte(`{"it":`+test.schema+`,"x":{"required":["x"]}}`), &definitions); err != nil {
			t.Fatal(test.schema, err)
		}
		if err := definitions["it"].link(definitions, true); err != nil {
			t.Fatal(test.schema, err)
		}
		var value any
		d := json.NewDecoder(strings.NewReader(test.value))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range (&schema{definitions: definitions}).faults("it", value, "") {
			got = append(got, f.Path+": "+f.Text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s in %s: %q, want %q", test.value, test.schema, got, test.want)
		}
	}
}

// TestOddSchemas: a keyword that is not known here, or has another form, is no schema.
func TestOddSchemas(t *testing.T) {
	for _, odd := range []string{`{"minLength":1}`, `{"type":7}`, `{"type":[7]}`, `{"properties":{"a":{"pattern":"a"}}}`, `false`, `{"anyOf":[{"$ref":"#/definitions/none"}]}`} {
		var n node
		err := json.Unmarshal([]byte(odd), &n)
		if err == nil {
			err = n.link(map[string]*node{}, true)
		}
		if err == nil {
			t.Errorf("%s is read", odd)
		}
	}
}
