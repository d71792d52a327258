package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

func TestMatchParams(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"order of keys, blanks, escapes", `{"a":"é","b":[1, 2]}`, ` { "b":[1,2],"a":"\u00e9" }`, true},
		{"numbers as written", `{"x":9007199254740993}`, `{"x":9007199254740992}`, false},
		{"1 is not 1.0", `{"x":1}`, `{"x":1.0}`, false},
		{"none and empty", ``, `{}`, true},
		{"none and null", ``, `null`, true},
		{"progress token", `{"_meta":{"progressToken":1}}`, `{}`, true},
		{"who asks", `{"_meta":{"x":1,"io.modelcontextprotocol/clientInfo":{"name":"a"},"io.modelcontextprotocol/clientCapabilities":{}}}`, `{"_meta":{"x":1}}`, true},
		{"the rest of _meta", `{"_meta":{"x":1}}`, `{"_meta":{"x":2}}`, false},
		{"progressToken elsewhere", `{"progressToken":1}`, `{"progressToken":2}`, false},
		{"duplicate keys: the last", `{"a":1,"a":2}`, `{"a":2}`, true},
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

func TestContrast(t *testing.T) {
	for _, tt := range []struct {
		recorded, live       string
		count                int
		path, was, isInstead string
	}{
		{`{"a":1}`, `{"a":1}`, 0, "", "", ""},
		{`{"arguments":{"x":1}}`, `{"arguments":{"x":2}}`, 1, "/params/arguments/x", "1", "2"},
		{`{"a":{"b":1},"z":1}`, `{"z":2}`, 2, "/params/a", `{"b":1}`, "nothing"},
		{`{}`, `{"a/b~":null}`, 1, "/params/a~1b~0", "nothing", "null"},
		{`{"a":[1,2]}`, `{"a":[1,3,4]}`, 2, "/params/a/1", "2", "3"},
		{`{"a":"` + strings.Repeat("é", 100) + `"}`, `{"a":[]}`, 1, "/params/a", `"` + strings.Repeat("é", 59) + "…", "[]"},
	} {
		c := contrastParams(transport.Message{Params: json.RawMessage(tt.recorded)}, transport.Message{Params: json.RawMessage(tt.live)})
		if want := (contrast{tt.count, tt.path, tt.was, tt.isInstead}); c != want {
			t.Errorf("%s and %s: got %+v, want %+v", tt.recorded, tt.live, c, want)
		}
	}
}
