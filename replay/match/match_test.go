package match

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

func TestMatchParams(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"order of keys, blanks, escapes", `{"a":"é","b":[1, 2]}`, " {\t\"b\":[1,2],\r\n\"a\":\"\\u00e9\" }", true},
		{"numbers as written", `{"x":9007199254740993}`, `{"x":9007199254740992}`, false},
		{"1 is 1.0 is 10e-1", `{"x":[1,1,-0]}`, `{"x":[1.0,10e-1,0]}`, true},
		{"none and empty", ``, `{}`, true},
		{"none and null", ``, `null`, true},
		{"progress token", `{"_meta":{"progressToken":1}}`, `{}`, true},
		{"who asks", `{"_meta":{"x":1,"io.modelcontextprotocol/clientInfo":{"name":"a"},"io.modelcontextprotocol/clientCapabilities":{}}}`, `{"_meta":{"x":1}}`, true},
		{"the rest of _meta", `{"_meta":{"x":1}}`, `{"_meta":{"x":2}}`, false},
		{"progressToken elsewhere", `{"progressToken":1}`, `{"progressToken":2}`, false},
		{"duplicate keys: the last", `{"a":1,"a":2}`, `{"a":2}`, true},
		{"duplicate keys of an object that is not sorted", `{"b":1,"a":2,"b":3,"c":5,"a":4}`, `{"a":4,"b":3,"c":5}`, true},
		{"lists are ordered", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, errA := MatchParams(transport.Message{ID: json.RawMessage("1"), Method: "m", Params: json.RawMessage(tt.a)})
			b, errB := MatchParams(transport.Message{ID: json.RawMessage("2"), Method: "m", Params: json.RawMessage(tt.b)})
			if tt.a == "" {
				a, errA = MatchParams(transport.Message{Method: "m"})
			}
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if (a == b) != tt.same {
				t.Errorf("%s and %s", a, b)
			}
		})
	}
}

// TestKey: whether two requests have one queue of answers, by how they are matched, and which have none.
func TestKey(t *testing.T) {
	fails := errors.New("refused")
	own := Rules{Match: func(m transport.Message) (Key, error) { return Key(m.ID), nil }}
	for _, tt := range []struct {
		rules   Rules
		a, b    string // method and params
		same    bool
		refusal string
	}{
		{Rules{}, `x {"a":1}`, `x {"a":2}`, false, ""},
		{Rules{}, `x {"a":1}`, `y {"a":1}`, false, ""},
		{Rules{By: ByMethod}, `x {"a":1}`, `x {"a":2}`, true, ""},
		{Rules{By: ByMethod}, `x {"a":1}`, `y {"a":1}`, false, ""},
		{Rules{By: ByOrder}, `x {"a":1}`, `x {"a":2}`, true, ""},
		{Rules{By: Strict}, `x {"a":1}`, `x {"a":2}`, false, ""},
		{Rules{}, `initialize {"a":1}`, `initialize {"a":2}`, true, ""},
		{Rules{}, `server/discover {"a":1}`, `server/discover {"a":2}`, true, ""},
		{own, `ping {"a":1}`, `ping {"a":2}`, true, ""},
		{own, `x {"a":1}`, `x {"a":1}`, false, ""},
		{Rules{}, `x {`, `x {`, false, "match x: params are "},
		{Rules{Match: func(transport.Message) (Key, error) { return "", fails }}, `x {}`, `x {}`, false, "refused"},
	} {
		key := func(id, text string) (Key, error) {
			method, params, _ := strings.Cut(text, " ")
			return tt.rules.Key(transport.Message{ID: json.RawMessage(id), Method: method, Params: json.RawMessage(params)})
		}
		a, err := key("1", tt.a)
		b, _ := key("2", tt.b)
		switch {
		case tt.refusal != "":
			if err == nil || !strings.HasPrefix(err.Error(), tt.refusal) {
				t.Errorf("%s: %v, want %s", tt.a, err, tt.refusal)
			}
		case err != nil || (a == b) != tt.same:
			t.Errorf("%+v: %q and %q, %v", tt.rules.By, a, b, err)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		recorded, live string
		count          int
		first          Difference
	}{
		{`{"a":1}`, `{"a":1}`, 0, Difference{}},
		{`{"a":1,"_meta":{"progressToken":1}}`, `{ "a" : 1.0 }`, 0, Difference{}},
		{`{"arguments":{"x":1}}`, `{"arguments":{"x":2}}`, 1, Difference{Path: "/params/arguments/x", Want: "1", Got: "2"}},
		{`{"a":{"b":1},"z":1}`, `{"z":2}`, 2, Difference{Path: "/params/a", Want: `{"b":1}`, Got: "nothing"}},
		{`{}`, `{"a/b~":null}`, 1, Difference{Path: "/params/a~1b~0", Want: "nothing", Got: "null"}},
		{`{"a":[1,2]}`, `{"a":[1,3,4]}`, 2, Difference{Path: "/params/a/1", Want: "2", Got: "3"}},
		{`{"a":[1,2,3,4]}`, `{"a":[1,2,9,3,4]}`, 1, Difference{Path: "/params/a/2", Want: "nothing", Got: "9"}},
		{`{"a":[1,2,3,4]}`, `{"a":[1,3,4]}`, 1, Difference{Path: "/params/a/1", Want: "2", Got: "nothing"}},
		{`{"a":5}`, `{"a":"5"}`, 1, Difference{Path: "/params/a", Want: "5", Got: `"5"`}},
		{`{"a":[1]}`, `{"a":{"0":1}}`, 1, Difference{Path: "/params/a", Want: "[1]", Got: `{"0":1}`}},
		{`{"a":{"0":1}}`, `{"a":[1]}`, 1, Difference{Path: "/params/a", Want: `{"0":1}`, Got: "[1]"}},
		{`{"a":{"b":1}}`, `{"a":5}`, 1, Difference{Path: "/params/a", Want: `{"b":1}`, Got: "5"}},
		{`{"a":"{\"b\":1}"}`, `{"a":"[1]"}`, 1, Difference{Path: "/params/a", Want: `{"b":1}`, Got: `[1]`}},
		{`{"a":"{\"b\":1} {\"c\":1}"}`, `{"a":"{\"b\":1} {\"c\":2}"}`, 1, Difference{Path: "/params/a", Want: `"{\"b\":1} {\"c\":1}"`, Got: `"{\"b\":1} {\"c\":2}"`}},
		{`{"a":"Bearer [redacted:0123456789abcdef]"}`, `{"a":"Bearer x"}`, 0, Difference{}},
		{`{"a":"x"}`, `{"a":{"b":1}}`, 1, Difference{Path: "/params/a", Want: `"x"`, Got: `{"b":1}`}},
		{`{"a":true}`, `{"a":null}`, 1, Difference{Path: "/params/a", Want: "true", Got: "null"}},
		{`{"a":"` + strings.Repeat("é", 100) + `"}`, `{"a":[]}`, 1, Difference{Path: "/params/a", Want: `"` + strings.Repeat("é", 60) + `"…`, Got: "[]"}},
		{`{"a":"` + strings.Repeat("é", 100) + `x"}`, `{"a":"` + strings.Repeat("é", 100) + `y"}`, 1,
			Difference{Path: "/params/a", Want: `…"` + strings.Repeat("é", 10) + `x"`, Got: `…"` + strings.Repeat("é", 10) + `y"`}},
		{`{"a":"\ud800"}`, `{"a":"\udbff"}`, 1, Difference{Path: "/params/a", Want: `"\ufffd\ufffd\ufffd"`, Got: `"\ufffd\ufffd\ufffd"`}},
		{`{"a":"<b>"}`, `{"a":"&"}`, 1, Difference{Path: "/params/a", Want: `"<b>"`, Got: `"&"`}},
		{"{\"a\":\"\xff\"}", "{\"a\":\"\xfe\"}", 1, Difference{Path: "/params/a", Want: `"\ufffd"`, Got: `"\ufffd"`}},
	} {
		c := Rules{}.Compare(transport.Message{Params: json.RawMessage(tt.recorded)}, transport.Message{Params: json.RawMessage(tt.live)}, nil)
		var first Difference
		if !c.Same() {
			first = c.Differences[0]
		}
		if c.Count() != tt.count || first != tt.first {
			t.Errorf("%s and %s: %d, %+v, want %d, %+v", tt.recorded, tt.live, c.Count(), first, tt.count, tt.first)
		}
	}
}
