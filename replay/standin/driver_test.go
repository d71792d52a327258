package standin

import (
	"testing"

	"github.com/mcprec/mcprec/replay/match"
)

const paged = `
	> {"id":1,"method":"tools/list"}
	< {"id":1,"result":{"nextCursor":"a","tools":[]}}
	> {"id":2,"method":"tools/list","params":{"cursor":"a"}}
	< {"id":2,"result":{"tools":[]}}`

const stated = `
	> {"id":1,"method":"tools/call","params":{"name":"x"}}
	< {"id":1,"result":{"resultType":"input_required","requestState":"s1"}}
	> {"id":2,"method":"tools/call","params":{"name":"x","inputResponses":{},"requestState":"s1"}}
	< {"id":2,"result":"done"}`

const sameIDs = `
	> {"id":1,"method":"tools/call","params":{"name":"a"}}
	> {"id":1,"method":"tools/call","params":{"name":"b"}}
	< {"id":1,"result":"a"}
	< {"id":1,"result":"b"}`

const sameIDsTurned = `
	> {"id":1,"method":"tools/call","params":{"name":"a"}}
	> {"id":1,"method":"tools/call","params":{"name":"b"}}
	< {"id":1,"result":"b"}
	< {"id":1,"result":"a"}`

func TestDriver(t *testing.T) {
	for _, tt := range []struct {
		name, recorded, live string
		findings             []string
	}{
		{"as recorded", twoCalls, twoCalls, nil},
		{"calls at once", atOnce, atOnce, nil},
		{"answers in another order", atOnce, `
			> {"id":1,"method":"tools/call","params":{"name":"a"}}
			> {"id":2,"method":"tools/call","params":{"name":"b"}}
			< {"id":1,"result":"a"}
			< {"method":"notifications/message","params":{"data":"both"}}
			< {"id":2,"result":"b"}`, nil},
		{"calls at once with one id", sameIDs, sameIDs, nil},
		{"calls at once with one id, answered in turn", sameIDsTurned, sameIDsTurned, nil},
		{"with progress", withProgress, withProgress, nil},
		{"without its progress", withProgress, `
			> {"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}
			< { "result" : {"x":1.50, "id":1}, "id" : 1 }
			the progress is not waited for any more
			> {"id":2,"method":"tools/list"}
			< {"id":2,"result":[]}`, nil},
		{"another answer", twoCalls, `
			> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
			< {"id":1,"result":{}}
			> {"method":"notifications/initialized"}
			> {"id":2,"method":"tools/call","params":{"name":"a"}}
			< {"id":2,"result":"z"}
			> {"id":3,"method":"tools/call","params":{"name":"b"}}
			< {"id":3,"error":{"code":-1}}
			~
			> {"id":4,"method":"tools/call","params":{"name":"c"}}`,
			[]string{
				`mismatch: #6, the answer to tools/call a, differs at /result: recorded "a", got "z"`,
				`mismatch: #8, the answer to tools/call b, is an error: recorded the result "b", got the error {"code":-1}`,
				`missing: #11, the answer to tools/call c, did not come`,
			}},
		{"a result in the place of an error", `
			> {"id":1,"method":"ping"}
			< {"id":1,"error":{"code":-1}}`, `
			> {"id":1,"method":"ping"}
			< {"id":1,"result":{}}`,
			[]string{`mismatch: #3, the answer to ping, is no error: recorded the error {"code":-1}, got the result {}`}},
		{"a notification that does not come", twoCalls, `
			> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
			< {"id":1,"result":{}}
			> {"method":"notifications/initialized"}
			> {"id":2,"method":"tools/call","params":{"name":"a"}}
			~
			< {"id":2,"result":"a"}
			> {"id":3,"method":"tools/call","params":{"name":"b"}}
			< {"id":3,"result":"b"}
			~
			> {"id":4,"method":"tools/call","params":{"name":"c"}}
			< {"id":4,"result":"c"}`, nil},
		{"sampling", withSampling, withSampling, nil},
		{"sampling with another id", withSampling, `
			> {"id":1,"method":"tools/call","params":{"name":"ask"}}
			< {"id":"s-1","method":"sampling/createMessage","params":{"messages":[]}}
			> {"id":"s-1","result":{"role":"assistant"}}
			< {"id":1,"result":"asked"}
			> {"id":2,"method":"tools/list"}
			< {"id":2,"result":[]}`, nil},
		{"sampling not asked", withSampling, `
			> {"id":1,"method":"tools/call","params":{"name":"ask"}}
			< {"id":1,"result":"asked"}
			~
			> {"id":2,"method":"tools/list"}
			< {"id":2,"result":[]}`,
			[]string{"missing: #3 sampling/createMessage was not asked"}},
		{"questions that nobody recorded", twoCalls, `
			> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
			< {"id":7,"method":"ping"}
			> {"jsonrpc":"2.0","id":7,"result":{}}
			< {"id":8,"method":"roots/list"}
			> {"jsonrpc":"2.0","id":8,"error":{"code":-32010,"message":"mcprec: no recorded answer for the server's roots/list"}}
			< {"id":9,"result":{}}`,
			[]string{
				"extra: an answer with id 9, which no open request of the client has",
				"extra: no recorded answer for the server's roots/list",
				"missing: #3, the answer to initialize, did not come",
				"not sent: #10 tools/call c was still waiting for the server", "not sent: #4 notifications/initialized was still waiting for the server",
				"not sent: #5 tools/call a was still waiting for the server", "not sent: #7 tools/call b was still waiting for the server",
			}},
		{"an early question", `
			> {"id":1,"method":"a"}
			< {"id":1,"result":1}
			> {"id":2,"method":"b"}
			< {"id":5,"method":"roots/list"}
			> {"id":5,"result":[]}
			< {"id":2,"result":2}`, `
			> {"id":1,"method":"a"}
			< {"id":6,"method":"roots/list"}
			> {"id":6,"result":[]}
			< {"id":1,"result":1}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`, nil},
		{"a cancelled call", `
			> {"id":1,"method":"a"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			< {"id":1,"result":"late"}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`, `
			> {"id":1,"method":"a"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			~
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`,
			nil},
		{"another cursor", paged, `
			> {"id":1,"method":"tools/list"}
			< {"id":1,"result":{"nextCursor":"b","tools":[]}}
			> {"id":2,"method":"tools/list","params":{"cursor":"b"}}
			< {"id":2,"result":{"tools":[]}}`, nil},
		{"another task, and the status of none", `
			> {"id":1,"method":"tools/call","params":{"task":{}}}
			< {"id":1,"result":{"task":{"taskId":"t1"}}}
			< {"method":"notifications/tasks/status","params":{"taskId":"t1"}}
			> {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}
			< {"id":2,"result":{}}`, `
			> {"id":1,"method":"tools/call","params":{"task":{}}}
			< {"id":1,"result":{"task":{"taskId":"t7"}}}
			< {"method":"notifications/tasks/status","params":{"taskId":"t5"}}
			> {"id":2,"method":"tasks/get","params":{"taskId":"t7"}}
			< {"id":2,"result":{}}`, nil},
		{"another request state", stated, `
			> {"id":1,"method":"tools/call","params":{"name":"x"}}
			< {"id":1,"result":{"resultType":"input_required","requestState":"s9"}}
			> {"id":2,"method":"tools/call","params":{"name":"x","inputResponses":{},"requestState":"s9"}}
			< {"id":2,"result":"done"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDriver(recordPlaybook(tt.recorded), match.Rules{})
			if got := converse(d, tt.live, "<", ">"); got != tidy(tt.live) {
				t.Errorf("got\n%s\nwant\n%s", got, tidy(tt.live))
			}
			compareFindings(t, d.Close(), tt.findings)
		})
	}
}
