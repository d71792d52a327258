package standin

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// TestTwoSubscribers: two clients have a subscription with one id, and a notification belongs to that of its
// own exchange.
func TestTwoSubscribers(t *testing.T) {
	const listen = `"frame":{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}}`
	const changed = `"frame":{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}}`
	const post, stream = `"data":{"what":"request","method":"POST","path":"/mcp"}}`, `"data":{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}}`
	var events []store.Event
	for e, err := range jsonl.Decode(strings.NewReader(strings.Join([]string{
		`{"mcprec":1,"transport":"http"}`,
		`{"kind":"http","dir":"c2s","stream":1,` + post, `{"dir":"c2s","stream":1,` + listen, `{"kind":"http","dir":"s2c","stream":1,` + stream,
		`{"kind":"http","dir":"c2s","stream":2,` + post, `{"dir":"c2s","stream":2,` + listen, `{"kind":"http","dir":"s2c","stream":2,` + stream,
		`{"dir":"s2c","stream":1,` + changed, `{"dir":"s2c","stream":2,` + changed,
	}, "\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	for i, f := range loadPlayerScript(events, match.Rules{}, false).frames {
		if want := uint64(3 * (i + 1)); len(f.owners) != 1 || f.owners[0].seq != want {
			t.Errorf("#%d belongs to %d requests, the first #%d, want #%d alone", f.seq, len(f.owners), f.owners[0].seq, want)
		}
	}
	for i, m := range loadDriverScript(events, match.Rules{}).messages {
		if want := uint64(3 * (i + 1)); m.owner == nil || m.owner.frame.seq != want {
			t.Errorf("#%d does not belong to #%d", m.seq, want)
		}
	}
}
