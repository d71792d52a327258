package surface

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// session is a surface of requests and answers, line by line; a line without an id is the result of
// the method before it.
func session(t *testing.T, lines ...string) *Surface {
	t.Helper()
	s := &Surface{}
	model := timeline.NewModel(timeline.Remembered)
	for i := 0; i+1 < len(lines); i += 2 {
		method, params, _ := strings.Cut(lines[i], " ")
		if params == "" {
			params = "{}"
		}
		for n, frame := range []string{
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i, lines[i+1]),
		} {
			dir := []transport.Direction{transport.ClientToServer, transport.ServerToClient}[n]
			if err := s.Take(model.Take(store.Event{Seq: uint64(i + n + 1), Kind: store.Frame, Dir: dir, Payload: []byte(frame)})); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// nested returns a schema of lists in lists, so many levels deep, with a type at the end.
func nested(word string, levels int) string {
	return strings.Repeat(`{"items":`, levels) + `{"type":"` + word + `"}` + strings.Repeat("}", levels)
}

// said writes changes, one a line.
func said(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "#%d %s: %s\n", c.Seq, c.Tier, c)
	}
	return b.String()
}

func TestSchemas(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{`{"type":"object"}`, `{"type":"object"}`, ""},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"},"b":{}},"required":["b"]}`, `breaking: the argument "b" is new and required`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}}}`, `minor: the argument "b" is new`},
		{`{"properties":{"a":{},"b":{}}}`, `{"properties":{"a":{}}}`, `breaking: the argument "b" is gone`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, `breaking: the argument "a" is now required`},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, `minor: the argument "a" is no longer required`},
		{`{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":{"type":"integer"}}}`, `breaking: the argument "a" is integer, not number`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"number"}}}`, `minor: the argument "a" is number, not only integer`},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":["null","string"]}}}`, `minor: the argument "a" is null or string, not only string`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"type":"string"}}}`, `breaking: the argument "a" is string, not of any type`},
		{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"properties":{"a":{"enum":["y","z"]}}}`, `breaking: the argument "a" has no value "x" any more; minor: the argument "a" has the new value "z"`},
		{`{"properties":{"a":{"const":1}}}`, `{"properties":{"a":{"const":1.0}}}`, ``},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"enum":[1]}}}`, `breaking: the argument "a" takes only [1]`},
		{`{"properties":{"a":{"enum":[1]}}}`, `{"properties":{"a":{}}}`, `minor: the argument "a" takes other values than [1], too`},
		{`{"properties":{"a":{"minimum":1}}}`, `{"properties":{"a":{"minimum":2}}}`, `breaking: the argument "a" has minimum 2, not 1`},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"properties":{"a":{"maxLength":2}}}`, `minor: the argument "a" has maxLength 2, not 1`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{"pattern":"x"}}}`, `breaking: the argument "a" has pattern: "x"`},
		{`{"properties":{"a":{"pattern":"x"}}}`, `{"properties":{"a":{}}}`, `minor: the argument "a" has no pattern any more`},
		{`{"properties":{"a":{"pattern":"x"}}}`, `{"properties":{"a":{"pattern":"y"}}}`, `risky: the argument "a" has another pattern: "y", not "x"`},
		{`{}`, `{"minimum":1}`, `breaking: the schema of its arguments has minimum: 1`},
		{`{"minimum":1}`, `{}`, `minor: the schema of its arguments has no minimum any more`},
		{`{"minimum":1}`, `{"minimum":"2"}`, `risky: the schema of its arguments has another minimum: "2", not 1`},
		{`{"default":1e999,"title":"a"}`, `{"default":1e999,"title":"b"}`, `minor: the schema of its arguments has another title`},
		{`{"default":1e999}`, `{"default":1e998}`, `risky: the schema of its arguments has another default: 1e998, not 1e999`},
		{`{"description":"same","properties":{"a":{"type":"string"},"b":{}},"required":["a"]}`, `{"description":"same","properties":{"a":{"type":"null"},"b":{}},"required":["a"]}`,
			`breaking: the argument "a" is null, not string`},
		{`{"items":{}}`, `{}`, `minor: the schema of its arguments has no items any more`},
		{`{}`, `{"items":{}}`, `breaking: the schema of its arguments has items: {}`},
		{`{"properties":{"a":{"description":"one"}}}`, `{"properties":{"a":{"description":"two"}}}`, `risky: the argument "a" has another description: "two", not "one"`},
		{`{"properties":{"a":{"default":1}}}`, `{"properties":{"a":{"default":2}}}`, `risky: the argument "a" has another default: 2, not 1`},
		{`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"properties":{"a":{"items":{"type":"integer"}}}}`, `breaking: the argument "a[]" is integer, not string`},
		{`{"properties":{"a":{"properties":{"b":{}}}}}`, `{"properties":{"a":{"properties":{}}}}`, `breaking: the argument "a.b" is gone`},
		{`{}`, `{"additionalProperties":false}`, `breaking: the schema of its arguments takes no further members`},
		{`{"additionalProperties":false}`, `{}`, `minor: the schema of its arguments takes further members`},
		{`{}`, `{"additionalProperties":{"type":"null"}}`, `breaking: the argument "*" is null, not of any type`},
		{`{"additionalProperties":{"type":"null"}}`, `{}`, `minor: the argument "*" is of any type, not only null`},
		{`{"additionalProperties":{"type":"null"}}`, `{"additionalProperties":{"type":"string"}}`, `breaking: the argument "*" is string, not null`},
		{`{"anyOf":[{},{"type":"null"}]}`, `{"anyOf":[{}]}`, `breaking: the schema of its arguments has 1 alternative in anyOf, not 2`},
		{`{"oneOf":[{}]}`, `{"oneOf":[{},{"type":"null"}]}`, `minor: the schema of its arguments has 2 alternatives in oneOf, not 1`},
		{`{"oneOf":[{}]}`, `{}`, `minor: the schema of its arguments has no oneOf any more`},
		{`{"anyOf":[{},{"type":"null"}]}`, `{"anyOf":[{},{"type":"string"}]}`, `breaking: the schema of its arguments is string, not null`},
		{`{"$defs":{"x":{"type":"string"}}}`, `{"$defs":{"x":{"type":"null"}}}`, `breaking: the argument "$x" is null, not string`},
		{`{"definitions":{"x":{"type":"string"}}}`, `{"definitions":{"x":{"type":"null"}}}`, `breaking: the argument "$x" is null, not string`},
		{`{"x":1}`, `7`, `risky: the schema of its arguments has another schema: 7, not {"x":1}`},
		{nested("string", 31), nested("null", 31), `breaking: the argument ` + phrase.QuotedName(strings.Repeat("[]", 31)) + ` is null, not string`},
		{nested("string", 33), nested("null", 33), `risky: the argument ` + phrase.QuotedName(strings.Repeat("[]", 33)) + ` has another schema: {"type":"null"}, not {"type":"string"}`},
		{`{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/b"}`, `risky: the schema of its arguments has another $ref: "#/$defs/b", not "#/$defs/a"`},
		{`{"title":"a","examples":[1],"$comment":"a","$id":"a","$schema":"a"}`, `{"title":"b","examples":[2],"$comment":"b","$id":"b","$schema":"b"}`,
			`minor: the schema of its arguments has another $comment; minor: the schema of its arguments has another $id; minor: the schema of its arguments has another $schema; minor: the schema of its arguments has another examples; minor: the schema of its arguments has another title`},
		{`{"$defs":{"x":{"type":"string"}}}`, `{"$defs":{"y":{"type":"string"}}}`, ``},
		{`{"properties":{"a":{"default":1}}}`, `{"properties":{"a":{"default":"1"}}}`, `risky: the argument "a" has another default: "1", not 1`},
		{`{}`, `{"anyOf":[{}]}`, `breaking: the schema of its arguments has anyOf: [{}]`},
		{`7`, `{}`, `risky: the schema of its arguments has another schema: {}, not 7`},
		{`{"required":7,"enum":{},"properties":[],"type":[{}]}`, `{"required":["x"],"type":[{}]}`, `breaking: the argument "x" is now required`},
	} {
		tool := `{"tools":[{"name":"t","inputSchema":%s}]}`
		was := session(t, "tools/list", fmt.Sprintf(tool, c.was))
		is := session(t, "tools/list", fmt.Sprintf(tool, c.is))
		var got []string
		for _, change := range Compare(was, is).Changes {
			if change.Item != `tool "t"` || change.Seq != 2 {
				t.Errorf("%+v", change)
			}
			got = append(got, change.Tier.String()+": "+change.Text)
		}
		text := strings.Join(got, "; ")
		if text != c.want {
			t.Errorf("%s\n%s: %s\nwant %s", c.was, c.is, text, c.want)
		}
	}
}

// TestOutput: what a client reads may be narrower, and not wider.
func TestOutput(t *testing.T) {
	tool := `{"tools":[{"name":"t","outputSchema":%s}]}`
	for _, c := range []struct{ was, is, want string }{
		{`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"number"}}}`, `breaking: the member "a" of its output is number, not integer`},
		{`{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":{"type":"integer"}}}`, `minor: the member "a" of its output is integer, not only number`},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, `breaking: the member "a" of its output is no longer required`},
		{`{"properties":{}}`, `{"properties":{"a":{}},"required":["a"]}`, `minor: the member "a" of its output is new`},
		{`{"properties":{"a":{}}}`, `{"properties":{}}`, `breaking: the member "a" of its output is gone`},
		{`{"maximum":1}`, `{"maximum":2}`, `breaking: the schema of its output has maximum 2, not 1`},
		{`{}`, `null`, `breaking: has no output schema any more`},
		{`null`, `{}`, `minor: has an output schema`},
	} {
		found := Compare(session(t, "tools/list", fmt.Sprintf(tool, c.was)), session(t, "tools/list", fmt.Sprintf(tool, c.is)))
		var got []string
		for _, change := range found.Changes {
			got = append(got, change.Tier.String()+": "+change.Text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s\n%s: %s\nwant %s", c.was, c.is, text, c.want)
		}
	}
}

func TestLists(t *testing.T) {
	was := session(t,
		"initialize", `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{},"off":{},"x":false,"y":false,"z":1},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list", `{"tools":[{"name":"old","inputSchema":{"properties":{"x":{}}}},{"name":"same","description":"one","_meta":{}},{"name":"kept","inputSchema":{"properties":{"x":{}}}}],"nextCursor":"2"}`,
		`tools/call {"name":"same"}`, `{"protocolVersion":"7","capabilities":{}}`,
		`tools/list {"cursor":"2"}`, `{"tools":[{"name":"last","annotations":{"readOnlyHint":true}}]}`,
		"prompts/list", `{"prompts":[{"name":"p","title":"P","arguments":[{"name":"a"},{"name":"b","required":true},{"name":"d","required":true},{"name":"e","required":true,"description":"one"},{"name":"g","description":"one"}]}]}`,
		"resources/list", `{"resources":[{"uri":"file:///a","mimeType":"text/plain"}]}`,
		"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"x:{y}"}],"nextCursor":"more"}`,
	)
	is := session(t,
		"tools/list", `{"tools":[{"name":"stale"}]}`,
		"initialize", `{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":false},"prompts":{},"off":false,"v":false,"y":true,"z":2},"serverInfo":{"name":"s","version":"2"},"instructions":"be quick"}`,
		"tools/list", `{"tools":[{"name":"another","inputSchema":{"properties":{"y":{}}}},{"name":"new","inputSchema":{"properties":{"x":{}}}},{"name":"kept","inputSchema":{"properties":{"x":{}}}},{"name":"same","description":"two","annotations":{"readOnlyHint":true}},{"name":"last"}]}`,
		"prompts/list", `{"prompts":[{"name":"p","title":"Q","arguments":[{"name":"a","required":true},{"name":"c"},{"name":"d"},{"name":"e","required":true,"description":"two"},{"name":"f","required":true},{"name":"g","description":"two"}]}]}`,
		"resources/list", `{"resources":[{"uri":"file:///b"}]}`,
		"resources/templates/list", `{"resourceTemplates":[]}`,
	)
	found := Compare(was, is)
	const want = `#2 breaking: the server settled on revision "2025-03-26", not "2025-06-18"
#2 risky: the server gives other instructions
#2 breaking: the server no longer has the capability logging
#2 breaking: the server no longer has the capability off
#2 minor: the server has the capability prompts
#2 breaking: the server no longer has the capability tools.listChanged
#2 minor: the server has the capability y
#2 risky: the server has another capability z: 2, not 1
#8 risky: tool "last" has no annotations any more
#4 breaking: tool "old" is gone; "new", which is new, takes the same arguments
#4 risky: tool "same" has annotations: {"readOnlyHint":true}
#4 risky: tool "same" has another description: "two", not "one"
#8 minor: tool "another" is new
#8 minor: tool "new" is new
#10 breaking: prompt "p": the argument "a" is now required
#10 breaking: prompt "p": the argument "b" is gone
#10 minor: prompt "p": the argument "c" is new
#10 minor: prompt "p": the argument "d" is no longer required
#10 risky: prompt "p": the argument "e" has another description
#10 breaking: prompt "p": the argument "f" is new and required
#10 risky: prompt "p": the argument "g" has another description
#10 risky: prompt "p" has another title: "Q", not "P"
#12 breaking: resource "file:///a" is gone
#12 minor: resource "file:///b" is new
`
	if got := said(found.Changes); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !found.Greeted || found.Lists != 3 || found.Items != 6 || was.Items() != 6 {
		t.Errorf("%+v", found)
	}
	older := session(t, `initialize {"protocolVersion":"2025-03-26"}`, `{"protocolVersion":"2025-03-26"}`)
	newer := session(t, `initialize {"protocolVersion":"2025-06-18"}`, `{"protocolVersion":"2025-06-18"}`)
	if found := Compare(older, newer); len(found.Changes) > 0 || !found.Greeted {
		t.Errorf("each client was given the revision that it asked for: %+v", found)
	}
	cursor := `tools/list {"cursor":"2"}`
	for name, other := range map[string]*Surface{
		"nothing":      {},
		"a page":       session(t, "resources/templates/list", `{"resourceTemplates":[],"nextCursor":"more"}`),
		"later pages":  session(t, cursor, `{"tools":[]}`, cursor, `{"tools":[]}`),
		"odd messages": session(t, `initialize`, `7`, "tools/list", `7`),
	} {
		for _, pair := range [][2]*Surface{{was, other}, {other, was}} {
			if nothing := Compare(pair[0], pair[1]); len(nothing.Changes) > 0 || nothing.Lists > 0 || nothing.Greeted {
				t.Errorf("%s to compare with: %+v", name, nothing)
			}
		}
		if answers := other.Answers(); len(answers) > 0 || other.Items() > 0 {
			t.Errorf("%s: the answers %v are compared, %d items", name, answers, other.Items())
		}
	}
	answers := was.Answers()
	if slices.Sort(answers); !slices.Equal(answers, []uint64{2, 4, 8, 10, 12}) {
		t.Errorf("the answers %v are compared", answers)
	}
}

// TestMany: the change that breaks is found behind many others.
func TestMany(t *testing.T) {
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, `"a%d":{},`, i)
	}
	tool := `{"tools":[{"name":"t","inputSchema":{"properties":{%s"z":{"type":%q}}}}]}`
	was, is := session(t, "tools/list", fmt.Sprintf(tool, "", "string")), session(t, "tools/list", fmt.Sprintf(tool, many.String(), "null"))
	if changes := Compare(was, is).Changes; len(changes) != 61 || changes[60].Tier != Breaking {
		t.Errorf("%d changes: %v", len(changes), changes)
	}
}

// TestCrossing: a request of the server and the client's answer to it have the id of an open
// request of the client, and what is no message stands between.
func TestCrossing(t *testing.T) {
	s := &Surface{}
	model := timeline.NewModel(timeline.Remembered)
	for i, e := range []store.Event{
		{Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)},
		{Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)},
		{Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)},
		{Kind: store.Stderr, Dir: transport.ServerToClient, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`)},
		{Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`no message`)},
		{Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`)},
	} {
		e.Seq = uint64(i + 1)
		if err := s.Take(model.Take(e)); err != nil {
			t.Fatal(err)
		}
	}
	if answers := s.Answers(); !slices.Equal(answers, []uint64{6}) {
		t.Errorf("the answers %v are taken", answers)
	}
}
