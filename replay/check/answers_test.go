package check_test

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/check"
)

// TestAnswers: an answer that goes to nobody, to another request, or under an id of another type is one
// finding, with no false ones behind it.
func TestAnswers(t *testing.T) {
	const (
		init   = `> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
		ready  = `> {"method":"notifications/initialized"}`
		list   = `> {"id":1,"method":"tools/list"}`
		tools  = `< {"id":1,"result":{"tools":[]}}`
		refuse = `< {"id":null,"error":{"code":-32601,"message":"x"}}`
		bye    = `eof/c2s {"by":"sender"}`
		closed = `closed {}`
	)
	greet := func(id string) string { return `< {"id":` + id + `,"result":{"protocolVersion":"2025-06-18"}}` }
	begin := []string{init, greet("0"), ready}
	for name, test := range map[string]struct {
		lines []string
		rules string
		text  string // in the first finding
	}{
		"a reply, and the client goes on": {join(begin, []string{refuse, list, tools, bye, closed}), "P1 error",
			"answered the notification notifications/initialized (#4) with error -32601 (x) under the id null: a notification has no answer"},
		"a reply, and the client leaves": {join(begin, []string{refuse, bye, closed}), "P1 error", "; the client left right behind it (#6)"},
		"a reply, and the client leaves later": {join(begin, []string{refuse, bye, closed}), "P1 error",
			"a notification has no answer"},
		"replies to several":                 {join(begin, []string{refuse, `> {"method":"notifications/roots/list_changed"}`, refuse, list, tools, bye, closed}), "P1 error", "; it did so 1 more time"},
		"a reply over HTTP":                  {join(post(1, "", ready[2:]), reply(1, 200, `{"id":null,"result":{}}`), []string{closed}), "P17 error E13 warning", "with the status 200 and a body"},
		"a refusal over HTTP":                {join(post(1, "", ready[2:]), reply(1, 400, `{"id":null,"error":{"code":-32600,"message":"x"}}`), []string{closed}), "E13 warning", ""},
		"an error about what cannot be read": {join(begin, []string{`> {"id"`, `< {"id":null,"error":{"code":-32700,"message":"x"}}`, list, tools, bye, closed}), "E4 error", ""},
		"ids as texts":                       {[]string{init, greet(`"0"`), ready, list, `< {"id":"1","result":{"tools":[]}}`, bye, closed}, "P1 error", `the response to initialize (id 0) under the id "0": the same but for its type`},
		"a progress token as a text": {join(begin, []string{`> {"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":7}}}`,
			`< {"method":"notifications/progress","params":{"progressToken":"7","progress":1}}`, `< {"id":1,"result":{}}`, bye, closed}), "P3 error", "the same but for its type"},
		"one id for two, and the results tell": {join(begin, []string{list, `> {"id":1,"method":"prompts/list"}`, `< {"id":1,"result":{"prompts":[]}}`, tools, bye, closed}), "P2 error", ""},
		"exchanged results": {join(begin, []string{list, `> {"id":2,"method":"prompts/list"}`, `< {"id":1,"result":{"prompts":[]}}`, `< {"id":2,"result":{"tools":[]}}`, bye, closed}), "P1 error",
			"the answers of id 1 and id 2 are exchanged"},
	} {
		t.Run(name, func(t *testing.T) {
			events := lines(test.lines...)
			for i := range events { // a second each, unless the client leaves at once
				if !strings.HasSuffix(name, "later") {
					events[i].At /= 1000
				}
			}
			found, _ := findings(t, check.Gate{}, events)
			if rules := rulesOf(found); rules != test.rules {
				t.Fatalf("%s, want %s: %v", rules, test.rules, found)
			}
			if len(found) > 0 && !strings.Contains(found[0].Text, test.text) {
				t.Errorf("%s, want %s", found[0].Text, test.text)
			}
		})
	}
}
