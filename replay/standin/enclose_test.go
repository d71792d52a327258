package standin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// What is added to a recording over HTTP stands in exchanges: an answer and its progress
// in that of the request, what belongs to none in that of the last one.
func TestExtendHTTP(t *testing.T) {
	_, recorded := rejectionsOf(t, `
POST /mcp - | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 200 Mcp-Session-Id=s | {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
	c2s, s2c := transport.ClientToServer, transport.ServerToClient
	var added []store.Event
	for _, f := range []struct {
		dir  transport.Direction
		text string
	}{
		{c2s, `{"jsonrpc":"2.0","id":2,"method":"a","params":{"_meta":{"progressToken":9}}}`},
		{c2s, `{"jsonrpc":"2.0","id":3,"method":"b"}`},
		{s2c, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`},
		{s2c, `{"jsonrpc":"2.0","id":0,"method":"ping"}`},
		{c2s, `{"jsonrpc":"2.0","id":0,"result":{}}`},
		{s2c, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		{s2c, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		{c2s, `{"jsonrpc":"2.0","id":4,"method":"c"}`},
		{s2c, `{"jsonrpc":"2.0","id":4,"result":{}}`},
	} {
		added = append(added, store.Event{Kind: store.Frame, Dir: f.dir, Payload: []byte(f.text)})
	}
	all := Extend(recorded, added)
	var got []string
	for i, e := range all {
		if e.Seq != uint64(i+1) {
			t.Errorf("event %d has Seq %d", i+1, e.Seq)
		}
		what := "frame"
		if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil && e.Kind == store.HTTP {
			what = strings.TrimSpace(fmt.Sprint(info.What, " ", strings.Join(info.Header["Mcp-Session-Id"], "")))
			if kind := info.Header["Content-Type"]; info.What == store.HTTPResponse {
				what += fmt.Sprint(" ", info.Status, kind)
			}
		}
		got = append(got, fmt.Sprintf("%d %s", e.Stream, what))
	}
	want := `2 request s, 2 frame, 3 request s, 3 frame, 2 response 200 [text/event-stream], 2 frame, ` +
		`3 response 200 [text/event-stream], 3 frame, 4 request s, 4 frame, 4 response 202 [], 4 end, 3 frame, 3 end, 2 frame, 2 end, ` +
		`5 request s, 5 frame, 5 response 200 [application/json], 5 frame, 5 end`
	if text := strings.Join(got[len(recorded):], ", "); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
