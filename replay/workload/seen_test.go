package workload

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestSeen holds which arguments are taken from what a server has answered.
func TestSeen(t *testing.T) {
	var events []store.Event
	say := func(dir transport.Direction, format string, args ...any) {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, format, args...)})
	}
	for id, call := range []struct{ tool, result string }{
		{"submit", `{"content":[{"type":"text","text":"EX-4 submitted, file a/b7."}]}`},
		{"create", `{"content":[{"type":"text","text":"{\"id\":\"n17\",\"title\":\"first\",\"size\":3}"}],"structuredContent":{"items":[{"id":"n18"}],"nextCursor":"p2"}}`},
		{"bikes", `{"content":[],"structuredContent":{"bikes":[{"name":"Rosa","km":7}],"depots":["north"]}}`},
		{"open", `{"content":[{"type":"text","text":"no note a, see EX-9"}],"isError":true}`},
	} {
		say(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, call.tool)
		say(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"result":%s}`, id, call.result)
	}
	say(transport.ClientToServer, `{"jsonrpc":"2.0","id":"list","method":"resources/list"}`)
	say(transport.ServerToClient, `{"jsonrpc":"2.0","id":"list","result":{"resources":[{"uri":"noise://meters/harbour"}]}}`)
	seen := See(events)
	const text = `{"type":"object","properties":{%q:{"type":"string"%s}},"required":[%[1]q]}`
	for _, row := range []struct {
		name, tool, schema, arguments string
		better, alike                 string
	}{
		{"of the same form", "decide", fmt.Sprintf(text, "expense", `,"default":"EX-1"`), `{"expense":"EX-1"}`, `{"expense":"EX-1"}`, `{"expense":"EX-4"}`},
		{"a default that is left out", "decide", `{"type":"object","properties":{"expense":{"type":"string","default":"EX-1"}}}`, `{}`, `{}`, `{"expense":"EX-4"}`},
		{"an id of which a call has failed", "open", fmt.Sprintf(text, "note_id", ""), `{"note_id":"a"}`, `{"note_id":"n18"}`, ""},
		{"one of several, by its name", "open", fmt.Sprintf(text, "bike", ""), `{"bike":"a"}`, `{"bike":"Rosa"}`, ""},
		{"one of several", "open", fmt.Sprintf(text, "depot", ""), `{"depot":"a"}`, `{"depot":"north"}`, ""},
		{"what a URI names", "open", fmt.Sprintf(text, "meter", ""), `{"meter":"a"}`, `{"meter":"harbour"}`, ""},
		{"the same, of a call that has not", "create", fmt.Sprintf(text, "note_id", ""), `{"note_id":"a"}`, `{"note_id":"a"}`, ""},
		{"one that was seen", "open", fmt.Sprintf(text, "noteId", ""), `{"noteId":"n18"}`, `{"noteId":"n18"}`, `{"noteId":"n17"}`},
		{"an example of the description", "open", `{"type":"object","properties":{"depot":{"type":"string","description":"e.g. south"}},"required":["depot"]}`, `{"depot":"south"}`, `{"depot":"north"}`, ""},
		{"a name that no answer has", "open", fmt.Sprintf(text, "colour", ""), `{"colour":"a"}`, `{"colour":"a"}`, ""},
		{"a further page", "list", `{"type":"object","properties":{"cursor":{"type":"string"},"kind":{"type":"string"}}}`, `{"kind":"a"}`, `{"kind":"a"}`, `{"cursor":"p2","kind":"a"}`},
		{"what does not fit", "open", fmt.Sprintf(text, "title", `,"maxLength":2`), `{"title":"a"}`, `{"title":"a"}`, ""},
		{"no schema", "open", ``, `{}`, `{}`, ""},
	} {
		if got := seen.improve(row.tool, json.RawMessage(row.schema), json.RawMessage(row.arguments)); string(got) != row.better {
			t.Errorf("%s: the better arguments are %s, want %s", row.name, got, row.better)
		}
		if got := seen.alike(json.RawMessage(row.schema), json.RawMessage(row.arguments), nil); string(got) != row.alike {
			t.Errorf("%s: the other arguments are %s, want %s", row.name, got, row.alike)
		}
	}
	if got := (Seen{}).alike(json.RawMessage(fmt.Sprintf(text, "a", "")), json.RawMessage(`{"a":"a1"}`), nil); got != nil {
		t.Errorf("of nothing: %s", got)
	}
}
