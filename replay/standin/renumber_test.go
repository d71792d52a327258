package standin

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

func TestRenumber(t *testing.T) {
	for _, tt := range []struct{ name, recorded, added, want string }{
		{"numbers", `
			> {"id":1,"method":"a"}
			> {"id":7,"method":"b"}`, `
			> {"id":1,"method":"c"}
			> {"id":2,"method":"d"}
			> {"id":8,"method":"e"}
			< {"id":2,"result":1}
			< { "result":{"id":1}, "id": 1 }`, `
			> {"id":9,"method":"c"}
			> {"id":2,"method":"d"}
			> {"id":8,"method":"e"}
			< {"id":2,"result":1}
			< { "result":{"id":1}, "id": 9 }`},
		{"strings", `
			> {"id":"a","method":"a"}
			> {"id":"a-2","method":"a"}`, `
			> {"id":"a","method":"c"}
			> {"method":"notifications/cancelled","params":{"requestId":"a"}}
			< {"id":"a","error":{}}`, `
			> {"id":"a-3","method":"c"}
			> {"method":"notifications/cancelled","params":{"requestId":"a-3"}}
			< {"id":"a-3","error":{}}`},
		{"progress", `
			> {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}`, `
			> {"id":2,"method":"a","params":{"_meta":{"progressToken":1}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
			< {"id":2,"result":1}`, `
			> {"id":2,"method":"a","params":{"_meta":{"progressToken":2}}}
			< {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
			< {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
			< {"id":2,"result":1}`},
		{"each direction has its own", `
			> {"id":1,"method":"a"}
			< {"id":0,"method":"ping"}`, `
			> {"id":0,"method":"b"}
			< {"id":0,"method":"roots/list"}
			> {"id":0,"result":"roots"}
			< {"id":0,"result":"b"}`, `
			> {"id":0,"method":"b"}
			< {"id":1,"method":"roots/list"}
			> {"id":1,"result":"roots"}
			< {"id":0,"result":"b"}`},
		{"a subscription, a batch, no message", `
			> {"id":1,"method":"a"}`, `
			>
			> nonsense
			> [{"id":1,"method":"subscriptions/listen"},{"id":2,"method":"b"}]
			< {"method":"x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
			< [{"id":2,"result":"b"},{"id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}]`, `
			>
			> nonsense
			> [{"id":3,"method":"subscriptions/listen"},{"id":2,"method":"b"}]
			< {"method":"x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}
			< [{"id":2,"result":"b"},{"id":3,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			added := recordPlaybook(tt.added)
			before := playbookOf(added)
			if got, want := playbookOf(Renumber(recordPlaybook(tt.recorded), added)), playbookOf(recordPlaybook(tt.want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if playbookOf(added) != before {
				t.Error("what was given is changed")
			}
		})
	}
}

// playbookOf is the inverse of recordPlaybook.
func playbookOf(events []store.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == store.Frame {
			b.WriteString(map[transport.Direction]string{transport.ClientToServer: "> ", transport.ServerToClient: "< "}[e.Dir] + string(e.Payload) + "\n")
		}
	}
	return b.String()
}
