package standin

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
)

// TestVerdictsOfOrder has what is said beside the answers: to which call it belongs,
// and on which side of the answer.
func TestVerdictsOfOrder(t *testing.T) {
	for _, tt := range []struct {
		name, recorded, live string
		want                 []string // but for matches
	}{
		{"a later kind comes early", `
			> {"id":1,"method":"a"}
			< {"id":1,"result":1}
			> {"id":2,"method":"b"}
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"id":2,"result":2}`, `
			< {"method":"notifications/message","params":{"data":"y"}}
			< {"id":1,"result":1}
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"id":2,"result":2}`,
			[]string{"extra: the server's notifications/message was not recorded"}},
		{"a timer's notification comes early", `
			> {"id":1,"method":"a"}
			< {"id":1,"result":1}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}
			> {"id":3,"method":"c"}
			> {"id":4,"method":"d"}
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"id":3,"result":3}
			< {"id":4,"result":4}`, `
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"id":1,"result":1}
			< {"id":2,"result":2}
			< {"id":3,"result":3}
			< {"id":4,"result":4}`, nil},
		{"late progress, early progress", `
			> {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"id":1,"result":1}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}`, `
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
			< {"id":1,"result":1}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
			[]string{
				"mismatch: #3, notifications/progress, came after #4, the answer to a; recorded before it",
				"mismatch: #5, notifications/progress, came before #4, the answer to a; recorded after it",
			}},
		{"progress that overtakes progress", `
			> {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":3}}
			< {"id":1,"result":1}`, `
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":3}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
			< {"id":1,"result":1}`,
			[]string{"mismatch: #4, notifications/progress, came after #5, notifications/progress; recorded before it"}},
		{"progress that is left out", `
			> {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
			< {"id":1,"result":1}`, `
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":2}}
			< {"id":1,"result":1}`,
			[]string{"missing: #3 notifications/progress did not come"}},
		{"progress of two calls, and what belongs to neither", `
			> {"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
			> {"id":2,"method":"b","params":{"_meta":{"progressToken":2}}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
			< {"method":"notifications/message","params":{"data":"y"}}
			< {"id":1,"result":1}
			< {"id":2,"result":2}`, `
			< {"method":"notifications/message","params":{"data":"y"}}
			< {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
			< {"method":"notifications/message","params":{"data":"x"}}
			< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			< {"id":1,"result":1}
			< {"id":2,"result":2}`, nil},
		{"a question after the answer", withSampling, `
			< {"id":1,"result":"asked"}
			~
			< {"id":8,"method":"sampling/createMessage","params":{}}
			< {"id":2,"result":[]}`,
			[]string{"mismatch: #3, sampling/createMessage, came after #5, the answer to tools/call ask; recorded before it"}},
		{"answers of overlapping calls, and what belongs to neither", atOnce, `
			< {"id":1,"result":"a"}
			< {"id":2,"result":"b"}
			< {"method":"notifications/message","params":{"data":"both"}}`, nil},
		{"a call that was cancelled", `
			> {"id":1,"method":"a"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}
			< {"id":1,"result":"late"}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`, `
			~
			< {"id":2,"result":2}`, nil},
		{"an answer that was never recorded", `
			> {"id":1,"method":"a"}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`, `
			< {"id":1,"result":1}
			< {"id":2,"result":2}`,
			[]string{"extra: the answer to a (#2) was not recorded"}},
		{"one that comes when all was heard", `
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}
			> {"id":1,"method":"a"}`, `
			< {"id":2,"result":2}
			< {"id":1,"result":1}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDriver(recordPlaybook(tt.recorded), match.Rules{})
			converse(d, tt.live, "<", ">")
			var got []string
			for _, v := range d.Verdicts() {
				if v.Result != match.Match {
					got = append(got, v.String())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestNullAnswer has the answer to a request that an HTTP server could not read, which
// only the exchange pairs with it, where there are no exchanges.
func TestNullAnswer(t *testing.T) {
	events := recordPlaybook(`
		> {"id":"probe","method":"server/discover"}
		< {"id":null,"error":{"code":-32000,"message":"not initialized"}}
		> {"id":0,"method":"ping"}
		< {"id":0,"result":{}}`)
	events[1].Stream, events[2].Stream, events[3].Stream, events[4].Stream = 1, 1, 2, 2
	d := NewDriver(events, match.Rules{})
	got := converse(d, `
		< {"id":null,"error":{"code":-32000,"message":"not initialized"}}
		< {"id":0,"result":{}}`, "<", ">")
	for _, v := range d.Verdicts() {
		if v.Result != match.Match {
			t.Errorf("%v in\n%s", v, got)
		}
	}
}
