package standin

import (
	"testing"

	"github.com/mcprec/mcprec/replay/match"
)

func TestDiscover(t *testing.T) {
	const stated = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, tt := range []struct{ name, recorded, live string }{
		{"of an older server", `
			> {"id":1,"method":"tools/list"}
			< {"id":1,"result":{}}`, `
			> {"id":"p","method":"server/discover","params":{` + stated + `}}
			< {"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"Method not found"}}`},
		{"said again", `
			> {"id":1,"method":"server/discover","params":{` + stated + `}}
			< {"id":1,"result":{"capabilities":{"recorded":{}}}}`, `
			> {"id":"p","method":"server/discover","params":{` + stated + `}}
			< {"id":"p","result":{"capabilities":{"recorded":{}}}}
			> {"id":"q","method":"server/discover","params":{` + stated + `}}
			< {"jsonrpc":"2.0","id":"q","result":{"capabilities":{"recorded":{}}}}`},
		{"as far as the recording shows", `
			> {"id":1,"method":"tools/list","params":{` + stated + `}}
			< {"id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}
			> {"id":2,"method":"prompts/list","params":{` + stated + `}}
			< {"id":2,"error":{"code":-32601,"message":"Method not found"}}
			> {"id":3,"method":"completion/complete","params":{` + stated + `}}
			< {"id":3,"result":{}}
			> {"id":4,"method":"subscriptions/listen","params":{` + stated + `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}}`, `
			> {"id":"p","method":"server/discover","params":{` + stated + `}}
			< {"jsonrpc":"2.0","id":"p","result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}},"cacheScope":"private","capabilities":{"completions":{},"resources":{"subscribe":true},"tools":{"listChanged":true}},"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}`},
		{"each group that was asked for", `
			> {"id":1,"method":"tools/call","params":{"name":"x",` + stated + `}}
			< {"id":1,"result":{}}
			> {"id":2,"method":"prompts/list","params":{` + stated + `}}
			< {"id":2,"result":{}}
			> {"id":3,"method":"resources/read","params":{"uri":"a:b",` + stated + `}}
			< {"id":3,"result":{}}`, `
			> {"id":"p","method":"server/discover","params":{` + stated + `}}
			< {"jsonrpc":"2.0","id":"p","result":{"_meta":{},"cacheScope":"private","capabilities":{"prompts":{},"resources":{},"tools":{}},"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}`},
	} {
		p := NewPlayer(recordPlaybook(tt.recorded), match.Rules{})
		if got := perform(p, tt.live); got != tidy(tt.live) {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tidy(tt.live))
		}
		if s := p.Findings(); len(s) != 0 {
			t.Errorf("%s: %v", tt.name, s)
		}
	}
}
