package workload

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// TestArguments: a value is made for each schema, it fits, and it is the one that a reader would expect.
func TestArguments(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{}`,
		`{"type":"object"}`: `{}`,
		`{}`:                `"a"`,
		`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}`:                                           `{"q":"a"}`,
		`{"type":"object","properties":{"q":{"type":"string","default":"x"}},"required":["q"]}`:                                                    `{"q":"x"}`,
		`{"type":"object","properties":{"q":{"type":"string","examples":["x"],"enum":["y","x"]}},"required":["q"]}`:                                `{"q":"x"}`,
		`{"type":"object","properties":{"q":{"enum":["y","x"]}},"required":["q"]}`:                                                                 `{"q":"y"}`,
		`{"type":"object","properties":{"q":{"type":"string","default":7}},"required":["q"]}`:                                                      `{"q":"a"}`,
		`{"type":"object","properties":{"path":{"type":"string"},"fileName":{"type":"string"}},"required":["path","fileName"]}`:                    `{"fileName":"%DIR/a.txt","path":"%DIR"}`,
		`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"},"minItems":2,"uniqueItems":true}},"required":["paths"]}`: `{"paths":["%DIR","%DIR2"]}`,
		`{"type":"string","minLength":5}`:                                `"aaaaa"`,
		`{"type":"string","maxLength":2,"format":"email","minLength":1}`: ``,
		`{"type":"string","pattern":"^[A-Z]{3}-\\d+$"}`:                  `"AAA-1"`,
		`{"type":"string","pattern":"^(GET|POST)$"}`:                     `"GET"`,
		`{"type":"string","pattern":"^[a-z]+$","minLength":4}`:           `"aaaa"`,
		`{"type":"string","pattern":"^(?!x)"}`:                           ``,
		`{"type":"string","format":"date-time"}`:                         `"2026-01-01T00:00:00Z"`,
		`{"type":"string","format":"uuid"}`:                              `"00000000-0000-4000-8000-000000000000"`,
		`{"type":"integer"}`:                                             `1`,
		`{"type":"integer","minimum":5}`:                                 `5`,
		`{"type":"integer","exclusiveMinimum":5}`:                        `6`,
		`{"type":"integer","maximum":-5}`:                                `-5`,
		`{"type":"integer","minimum":5,"multipleOf":4}`:                  `8`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.5}`:  `0.25`,
		`{"type":"number","maximum":0.5}`:                                `0`,
		`{"type":"number","minimum":2.5}`:                                `3`,
		`{"type":"integer","minimum":3,"maximum":2}`:                     ``,
		`{"type":["null","array"]}`:                                      `[]`,
		`{"type":"array","items":{"type":"string"}}`:                     `["a"]`,
		`{"type":"array","items":{"type":"string"},"maxItems":0}`:        `[]`,
		`{"type":"array","items":{"type":"string","pattern":"^(?!x)"}}`:  `[]`,
		`{"type":"object","properties":{"entities":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}},"required":["name","observations"]}}},"required":["entities"]}`: `{"entities":[{"name":"a","observations":["a"]}]}`,
		`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["children"]}`:                                                                                                                                           `{"children":[{"children":[]}]}`,
		`{"type":"array","items":{"type":"string"},"prefixItems":[{"type":"integer"}]}`:                                                                                                                                                                       `[]`,
		`{"type":["string","null"]}`:                                                                                                                  `"a"`,
		`{"type":"array","items":{"type":"boolean"},"minItems":1}`:                                                                                    `[false]`,
		`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2}`:                                                          `[1,"a"]`,
		`{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"const":1}}},{"type":"null"}]}`:                                               `{"a":1}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`:                `{"a":"a"}`,
		`{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}}},{"required":["a"]}]}`:                                                      `{"a":1}`,
		`{"type":"object","properties":{"k":{"$ref":"#/$defs/kind"}},"required":["k"],"$defs":{"kind":{"enum":["deep"]}}}`:                            `{"k":"deep"}`,
		`{"type":"object","properties":{"k":{"$ref":"#"}},"required":["k"]}`:                                                                          ``,
		`{"type":"object","properties":{"k":{"$ref":"https://example.com/x"}},"required":["k"]}`:                                                      ``,
		`{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`:                                                               `{"a1":1,"a2":1}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string","minLength":1}},"required":["b"]}},"required":["a"]}`: `{"a":{"b":"a"}}`,
		`{"type":"object","properties":{"n":{"not":{"type":"string"}}},"required":["n"]}`:                                                             `{"n":{}}`,
		`false`: ``,
	} {
		got, err := Arguments(json.RawMessage(schema))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: %s, want none", schema, got)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%s: %s, %v; want %s", schema, got, err, want)
		case err == nil && Misfit(json.RawMessage(schema), got) != "":
			t.Errorf("%s: %s does not fit: %s", schema, got, Misfit(json.RawMessage(schema), got))
		}
	}
}

// TestExamples: what a description gives as an example is an example.
func TestExamples(t *testing.T) {
	for description, want := range map[string]string{
		"Station code, e.g. KGX or EUS":          `["KGX","EUS"]`,
		"City (for example: New York, Oslo)":     `["New York","Oslo"]`,
		"City, e.g. New York. Defaults to none.": `["New York"]`,
		"One of: 'red', 'green' or 'dark blue'":  `["red","green","dark blue"]`,
		"Kind, e.g. espresso in the morning":     `["espresso"]`,
		"Minutes, e.g. 30":                       `["30",30]`,
		"Day, e.g. 2026-01-31.":                  `["2026-01-31"]`,
		"File, e.g. report.txt":                  `[]`,
		"Where, e.g. /srv/a":                     `[]`,
		"Whom, e.g. a@example.com":               `[]`,
		"Pattern, e.g. `a|b`":                    `[]`,
		"The name, e.g. ":                        `[]`,
		"The name, e.g. 'open":                   `["open"]`,
		"e.g.":                                   `[]`,
		"One of the boats":                       `[]`,
		"A name":                                 `[]`,
		"Code of a shelf, such as kale-nero":     `["kale-nero"]`,
		"Player with black, such as anders":      `["anders"]`,
		"Words such as the first":                `[]`,
		"A name like 'Rosa', or another":         `["Rosa"]`,
		"Day as YYYY-MM-DD.":                     `["2026-10-15","2026-11-15"]`,
		"When (YYYY-MM-DDTHH:MM)":                `["2026-10-15T10:30","2026-11-15T11:45"]`,
		"From, HH:MM":                            `["10:30","11:45"]`,
		"İİİİİİ e.g. Oslo":                       `["Oslo"]`,
		"Far, e.g. 1e999999999":                  `["1e999999999"]`,
	} {
		got, err := json.Marshal(append([]any{}, examplesIn(description)...))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s, %v", description, got, want, err)
		}
	}
	const schema = `{"type":"object","properties":{"n":{"type":"integer","description":"Minutes, e.g. 30"},"s":{"type":"string","description":"e.g. Oslo, Rome"}},"required":["n","s"]}`
	got, err := Arguments(json.RawMessage(schema))
	if others := otherArguments(json.RawMessage(schema), got, nil); err != nil || string(got) != `{"n":30,"s":"Oslo"}` || len(others) == 0 || string(others[len(others)-1]) != `{"n":30,"s":"Rome"}` {
		t.Errorf("%s, and others %s, %v", got, others, err)
	}
}

// TestOtherArguments: another value is made in place of one that was made, and another taken that the schema names.
func TestOtherArguments(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"properties":{"a":{"type":"string"},"b":{"enum":["x","y"]}},"required":["a","b"]}`, `{"a":"a","b":"x"}`, `{"a":"a2` + moreWords + `","b":"x"} {"a":"a","b":"y"}`},
		{`{"properties":{"b":{"enum":["x","y"],"default":"y"}}}`, `{}`, `{"b":"x"}`},
		{`{"properties":{"b":{"$ref":"#/$defs/kind"}},"$defs":{"kind":{"enum":["x","y"]}}}`, `{}`, `{"b":"y"}`},
		{`{"properties":{"b":{"default":"y"}}}`, `{}`, ``},
		{`{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":"a"}`, `{"a":"a2` + moreWords + `"}`},
		{`{"properties":{"a":{"type":"string","maxLength":9}},"required":["a"]}`, `{"a":"a"}`, `{"a":"a2"}`},
		{`{"properties":{"a":{"type":"string","maxLength":1}},"required":["a"]}`, `{"a":"a"}`, `{"a":"b"}`},
		{`{"properties":{"a":{"type":"string","pattern":"^[0-2]\\d:\\d\\d$"}},"required":["a"]}`, `{"a":"11:19"}`, `{"a":"11:10"}`},
		{`{"properties":{"n":{"type":"integer","maximum":1},"path":{"type":"string"}}}`, `{"n":1,"path":"%DIR"}`, ``},
		{`{"properties":{"n":{"type":"integer"},"path":{"type":"string"}}}`, `{"n":1,"path":"%DIR"}`, `{"n":2,"path":"%DIR"}`},
		{`{"type":"object"}`, `{}`, ``},
		{``, `{}`, ``},
	} {
		var got []string
		for _, other := range otherArguments(json.RawMessage(tt[0]), json.RawMessage(tt[1]), nil) {
			got = append(got, string(other))
		}
		if strings.Join(got, " ") != tt[2] {
			t.Errorf("%s in place of %s: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestLarger: more of something is asked for, and nothing that takes longer.
func TestLarger(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"rows":{"type":"integer","minimum":1,"maximum":200},"q":{"type":"string"}}}`: `{"q":"a","rows":200}`,
		`{"type":"object","properties":{"rows":{"type":"integer","maximum":1e9}}}`:                                   `{"q":"a","rows":500}`,
		`{"type":"object","properties":{"delay_ms":{"type":"integer","maximum":200}}}`:                               ``,
		`{"type":"object","properties":{"rows":{"type":"integer"}}}`:                                                 ``,
		`{"type":"object","properties":{"share":{"type":"number","maximum":1}}}`:                                     ``,
		`{"type":"object","properties":{"rows":{"type":"integer","maximum":99,"multipleOf":10}}}`:                    ``,
		`{`: ``,
	} {
		if got := larger(json.RawMessage(schema), json.RawMessage(`{"q":"a"}`)); string(got) != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

// TestMisfit: a value that does not fit is told, with its place.
func TestMisfit(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`, `a: want integer`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, ``},
		{`{"required":["a"]}`, `{}`, `a: is required`},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"a":1,"b":2}`, `b: its schema takes nothing`},
		{`{"items":{"maximum":3}}`, `[1,4]`, `1: want maximum 3`},
		{`{"items":[{"type":"string"}]}`, `[1]`, `0: want string`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, `2: is there already`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, `: fits 2 alternatives of oneOf`},
		{`{"not":{"type":"string"}}`, `"a"`, `: fits what its schema excludes`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `b: is required`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, `c: is required`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `b: is required beside a`},
		{`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xy":"a"}`, ``},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `ab: has 2, want maxLength 1`},
		{`{"contains":{"const":1}}`, `[2]`, `: has no element as contains wants it`},
		{`{"minimum":1,"exclusiveMinimum":true}`, `1`, `: want minimum 1`},
		{`{"multipleOf":0.1}`, `0.3`, ``},
		{`{"type":"string","nullable":true}`, `null`, ``},
		{`{"format":"date"}`, `"2026-13-01"`, `: want format date`},
		{`{"format":"uri"}`, `"a/b"`, `: want format uri`},
		{`{"maxLength":1}`, `"ö"`, ``},
		{`{"enum":[1,"a"]}`, `1.0`, ``},
	} {
		if got := Misfit(json.RawMessage(tt[0]), json.RawMessage(tt[1])); got != tt[2] {
			t.Errorf("%s in %s: %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
}

// TestHostileSchemas: a schema that refers to itself in many ways costs a bounded time.
func TestHostileSchemas(t *testing.T) {
	forms := strings.Repeat(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},`, 8)
	for _, schema := range []string{
		`{"anyOf":[` + strings.TrimSuffix(forms, ",") + `]}`,
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"array","minItems":1e9,"items":{"type":"array","minItems":1e9}}`,
		`{"type":"string","minLength":1e12}`,
		`{"type":"number","minimum":1e999999999}`,
		`{"type":"string","pattern":"^(((a{1000}){1000}){1000})$"}`,
	} {
		if value, err := Arguments(json.RawMessage(schema)); err == nil && Misfit(json.RawMessage(schema), value) != "" {
			t.Errorf("%s: %.100s does not fit", schema, value)
		}
	}
}

// TestCaller: the client asks for what is offered, page by page, calls what only reads, and answers questions.
func TestCaller(t *testing.T) {
	var offered Offer
	c := NewCaller(func(o Offer) Agenda {
		offered = o
		return Choose(o, Wishes{Calls: []NamedCall{{"write", json.RawMessage(`{"x":1}`)}}})
	})
	var said []string
	hear := func(frames []transport.Frame) {
		for _, f := range frames {
			said = append(said, string(f.Bytes))
		}
	}
	hear(c.Start())
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}}`,
		`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`,
		`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]},"annotations":{"readOnlyHint":true}},{"name":"far","annotations":{"readOnlyHint":true,"openWorldHint":true}}],"nextCursor":"more"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"write"},{"name":"drop"},{"name":"odd","inputSchema":false,"annotations":{"readOnlyHint":true}}]}}`,
		`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`,
		`{"jsonrpc":"2.0","id":"m","method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"sum it up"}}]}}`,
		`{"jsonrpc":"2.0","id":"z","method":"unknown/thing"}`,
	} {
		hear(c.Receive(transport.Frame{Bytes: []byte(frame)}))
	}
	want := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + hello + `}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"q","result":{"roots":[{"uri":"file://%DIR","name":"explored"}]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"more"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"write","arguments":{"x":1},"_meta":{"progressToken":"progress-4"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write","arguments":{"x":1},"_meta":{"progressToken":"progress-5"}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"},"_meta":{"progressToken":"progress-6"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"},"_meta":{"progressToken":"progress-7"}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"},"_meta":{"progressToken":"progress-8"}}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read","arguments":{"q":"a2` + moreWords + `"},"_meta":{"progressToken":"progress-9"}}}`,
		`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"write","arguments":{"x":1}}}`,
		`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"}}}`,
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"},"_meta":{"progressToken":"progress-12"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}`,
		`{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"read","arguments":{"q":"a"},"_meta":{"progressToken":"progress-13"}}}`,
		`{"jsonrpc":"2.0","id":"e","result":{"action":"accept","content":{"n":1}}}`,
		`{"jsonrpc":"2.0","id":"m","result":{"role":"assistant","content":{"type":"text","text":"a: sum it up"},"model":"none","stopReason":"endTurn"}}`,
		`{"jsonrpc":"2.0","id":"z","error":{"code":-32601,"message":"mcprec explore does not know this method"}}`,
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the client says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if offered.Server != "s 2" || offered.Revision != "2025-06-18" || len(offered.Tools) != 5 {
		t.Errorf("offered: %+v", offered)
	}
	if c.Together(5) != 6 || c.Together(8) != 9 || c.Together(9) != 9 || c.Together(13) != 14 || !c.CallsOff(13) || c.CallsOff(9) {
		t.Errorf("together: %v, called off: %v", c.together, c.calledOff)
	}
	text := Choose(offered, Wishes{}).Text()
	for _, line := range []string{
		"  tools/call read {\"q\":\"a\"}\n",
		"  tools/call read {\"q\":\"a2" + moreWords + "\"}\n",
		"  and again, with progress: tools/call read twice at once, tools/call read cancelled\n",
		"  not called: far: it says that it reaches out of this machine\n",
		"  not called: write, drop: it does not say that it only reads\n",
		"  not called: odd: no arguments were found that fit its schema: its schema takes nothing\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the agenda lacks %q:\n%s", line, text)
		}
	}
}

// TestUpdates: the client is subscribed to some resources while it calls tools, where the server tells of changes.
func TestUpdates(t *testing.T) {
	c := NewCaller(func(o Offer) Agenda { return Choose(o, Wishes{AllTools: true}) })
	c.Start()
	var methods []string
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"2"}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"write"}]}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"resources":[{"uri":"a://1","name":"1"},{"uri":"a://2","name":"2"}]}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"resourceTemplates":[]}}`,
	} {
		for _, f := range c.Receive(transport.Frame{Bytes: []byte(frame)}) {
			m := timeline.MessagesOf(f)[0]
			methods = append(methods, strings.TrimSpace(m.Method+" "+timeline.TargetOf(m)))
		}
	}
	want := "notifications/initialized, tools/list, resources/list, resources/templates/list, resources/read a://1, resources/read a://2, resources/subscribe a://1, resources/subscribe a://2, " +
		"tools/call write, tools/call write, tools/call write, tools/call write, notifications/cancelled, tools/call write, resources/unsubscribe a://1, resources/unsubscribe a://2"
	if got := strings.Join(methods, ", "); got != want {
		t.Errorf("the client says\n%s\nwant\n%s", got, want)
	}
}

// TestCompletions: the client asks for all log messages, and for the completions of an argument while somebody types two letters.
func TestCompletions(t *testing.T) {
	var agenda Agenda
	c := NewCaller(func(o Offer) Agenda { agenda = Choose(o, Wishes{}); return agenda })
	c.Start()
	var said []string
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"completions":{},"prompts":{},"tools":{}},"serverInfo":{"name":"s","version":"2"}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}]}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"prompts":[{"name":"none"},{"name":"p","arguments":[{"name":"x"}]}]}}`,
	} {
		for _, f := range c.Receive(transport.Frame{Bytes: []byte(frame)}) {
			said = append(said, string(f.Bytes))
		}
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"a"}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"ab"}}}`,
	} {
		if !slices.Contains(said, want) {
			t.Errorf("the client does not say %s, but\n%s", want, strings.Join(said, "\n"))
		}
	}
	if at := slices.Index(said, `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"a"}}}`); at < 0 || c.Together(at+1) != at+2 {
		t.Errorf("the two completions do not go out together: %v", c.together)
	}
	if text := agenda.Text(); strings.Contains(text, "completion/complete p twice at once") || !strings.Contains(text, `completion/complete p {"name":"x","value":"ab"}`) {
		t.Errorf("the agenda has two completions for one, or does not say which:\n%s", text)
	}
}

// TestParseCall: how a user names a call.
func TestParseCall(t *testing.T) {
	for text, want := range map[string]string{
		`search`:              "search ",
		`search {"q": "x"}`:   `search {"q": "x"}`,
		` search  {"q":"x"}`:  `search {"q":"x"}`,
		`get (all) {"q":"x"}`: `get (all) {"q":"x"}`,
		`get (all)`:           "get (all) ",
		`search [1]`:          "",
		`{"q":"x"}`:           "",
		``:                    "",
	} {
		call, err := ParseCall(text)
		if got := call.Tool + " " + string(call.Arguments); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestExchanged holds in which arguments two members have each other's value.
func TestExchanged(t *testing.T) {
	const pair = `{"properties":{"from":{"type":"integer","minimum":1,"default":1},"count":{"type":"integer","default":3},"to":{"type":"integer","minimum":1,"description":"where"}}}`
	for _, tt := range [][3]string{
		{pair, `{"from":1,"to":2}`, `{"from":2,"to":1}`},
		{pair, `{"to":2}`, `{"from":2,"to":1}`},
		{pair, `{"from":2,"to":2}`, ``},
		{`{"properties":{"a":{"type":"integer"},"from":{"type":"integer","description":"the plot that gives"},"to":{"type":"integer","description":"the plot that gets"}}}`, `{"a":3,"from":1,"to":2}`, `{"a":3,"from":2,"to":1}`},
		{pair, `{}`, ``},
		{`{"properties":{"a":{"enum":["x","y"]},"b":{"enum":["x","y","z"]}}}`, `{"a":"x","b":"y"}`, ``},
		{`{"properties":{"a":{"enum":["x","y"]},"b":{"enum":["x","y"]}}}`, `{"a":"x","b":"y"}`, `{"a":"y","b":"x"}`},
		{``, `{}`, ``},
		{`{"properties":{"a":{"default":1},"b":{"default":2}}}`, `[]`, ``},
	} {
		if got := string(exchanged(json.RawMessage(tt[0]), json.RawMessage(tt[1]))); got != tt[2] {
			t.Errorf("%s in place of %s: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestReadsBehind holds that what only reads comes once more behind what changes something.
func TestReadsBehind(t *testing.T) {
	const bell, cents = `"bell":{"type":"string","enum":["a","b"]}`, `"cents":{"type":"integer"}`
	schema := func(properties string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":["bell"]}`)
	}
	for _, row := range []struct {
		offer []OfferedTool
		want  string
	}{
		{[]OfferedTool{{Name: "get", IsReadOnly: true}, {Name: "set"}}, "get{} get{} set{} set{} get{} get{} set{} get{} set{} set{} get{}"},
		{ // the value is another, of the same bell, behind one that reads that bell
			[]OfferedTool{{Name: "all", IsReadOnly: true}, {Name: "set", Schema: schema(bell + "," + cents + `,"x":{"type":"string","enum":["u","v"]}`)}, {Name: "get", Schema: schema(bell), IsReadOnly: true}},
			`all{} all{} set{"bell":"a"} set{"bell":"a"} set{"bell":"a","x":"v"} get{"bell":"a"} set{"bell":"b"} get{"bell":"a"} get{"bell":"a"} get{"bell":"b"} all{} ` +
				`set{"bell":"a"} get{"bell":"a"} set{"bell":"a","x":"v"} get{"bell":"a"} get{"bell":"a"} get{"bell":"a"} get{"bell":"a"}`,
		},
	} {
		var calls []string
		for _, item := range Choose(Offer{Tools: row.offer}, Wishes{AllTools: true}).Items {
			calls = append(calls, item.Target+string(argumentsOf(item)))
		}
		if got := strings.Join(calls, " "); got != row.want {
			t.Errorf("the calls are %s, want %s", got, row.want)
		}
	}
}
