package standin

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
)

const three = `
	> {"id":1,"method":"tools/call","params":{"name":"a"}}
	> {"id":2,"method":"tools/call","params":{"name":"b"}}
	> {"id":3,"method":"tools/call","params":{"name":"c"}}
	< {"id":1,"result":"a"}
	< {"id":3,"result":"c"}
	< {"id":2,"result":"b"}`

func TestOneByOne(t *testing.T) {
	for _, tt := range []struct {
		name, recorded, live string
		without              []string
	}{
		{"one by one, but for an answer that came first", three, `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			< {"id":1,"result":"a"}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			> {"id":3,"method":"tools/call","params":{"name":"c"}}
			< {"id":3,"result":"c"}
			< {"id":2,"result":"b"}`, nil},
		{"a call that waits for the later one", `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":1,"result":"a"}
			< {"id":2,"result":"b"}`, `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			~
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":1,"result":"a"}
			< {"id":2,"result":"b"}`,
			[]string{"#4 (the answer to tools/call a; #3 was sent beside that call, as recorded)"}},
		{"a question while the next call waits", `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":9,"method":"sampling/createMessage","params":{}}
			> {"method":"notifications/roots/list_changed"}
			> {"id":9,"result":{"role":"assistant"}}
			< {"id":1,"result":"a"}
			< {"id":2,"result":"b"}`, `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			< {"id":7,"method":"sampling/createMessage","params":{}}
			> {"id":7,"result":{"role":"assistant"}}
			< {"id":1,"result":"a"}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			> {"method":"notifications/roots/list_changed"}
			< {"id":2,"result":"b"}`, nil},
		{"behind a cancelled call, a subscription and one never answered", `
			> {"id":1,"method":"slow"}
			> {"id":2,"method":"subscriptions/listen"}
			> {"id":3,"method":"never"}
			> {"id":4,"method":"quick"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			< {"id":4,"result":1}
			< {"id":1,"result":1}
			< {"id":2,"result":1}`, `
			> {"id":1,"method":"slow"}
			> {"id":2,"method":"subscriptions/listen"}
			> {"id":3,"method":"never"}
			> {"id":4,"method":"quick"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			< {"id":4,"result":1}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDriver(recordPlaybook(tt.recorded), match.Rules{})
			d.OneByOne()
			if got := converse(d, tt.live, "<", ">"); got != tidy(tt.live) {
				t.Errorf("got\n%s\nwant\n%s", got, tidy(tt.live))
			}
			if got := d.Without(); !slices.Equal(got, tt.without) {
				t.Errorf("without %q, want %q", got, tt.without)
			}
			if !d.IsDone() && tt.without == nil {
				t.Errorf("not done: %s", strings.Join(d.Pending(), "; "))
			}
		})
	}
}

func TestPending(t *testing.T) {
	d := NewDriver(recordPlaybook(`
		> {"id":1,"method":"tools/call","params":{"name":"a"}}
		< {"id":1,"result":"a"}
		> {"id":2,"method":"tools/list"}`), match.Rules{})
	d.Start()
	want := []string{
		"the client waits for the answer to #2 tools/call a (id 1)",
		"#4 tools/list was not sent: it waits for the answer to tools/call a, recorded as #3",
	}
	if got := d.Pending(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
