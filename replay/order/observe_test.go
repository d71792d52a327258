package order

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// TestForget: of a session of many calls little is kept. What is said anew of the first call is
// still found, and what is still open is known, with an id and a token that others had before.
func TestForget(t *testing.T) {
	const again = `> {"id":%[1]d,"method":"x","params":{"_meta":{"progressToken":"t%[1]d"}}}`
	modernCall := strings.Replace(again, `{"_meta":{`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, 1)
	for _, session := range []struct {
		name  string
		first []string
		call  string
		later [][2]string
	}{
		{"a handshake", tasked(fmt.Sprintf(again, 1), result, `> {"id":"long","method":"x"}`, strings.Replace(callTask, `"id":1`, `"id":"made"`, 1), strings.Replace(taskMade, `"id":1`, `"id":"made"`, 1)), again, [][2]string{
			{`< {"id":1,"result":{}}`, "P1: a request is answered once"},
			{`< {"method":"notifications/progress","params":{"progressToken":"t1","progress":2}}`, "P3: progress stops when the request is answered"},
			{`> {"method":"notifications/cancelled","params":{"requestId":2}}`, "P6: a cancellation names a request that is believed open"},
			{fmt.Sprintf(again, 1), "P2: the id of a request was not used before in the session"},
			{`< {"id":"never","result":{}}`, "P1: a response answers a request"},
			{`> {"method":"notifications/cancelled","params":{"requestId":0}}`, "P4: initialize is not cancelled"},
			{`< {"id":"long","result":{}}`, ""},
			{progress + "1}}", ""},
		}},
		{"none", []string{fmt.Sprintf(modernCall, 1), result, fmt.Sprintf(modernCall, 1)}, modernCall, [][2]string{
			{`< {"method":"notifications/progress","params":{"progressToken":"t1","progress":1}}`, ""},
			{`< {"id":1,"result":{}}`, ""},
			{fmt.Sprintf(modernCall, 2), ""},
			{`< {"method":"notifications/progress","params":{"progressToken":"t2","progress":1}}`, ""},
			{`> {"method":"notifications/cancelled","params":{"requestId":2}}`, ""},
			{fmt.Sprintf(modernCall, 3), ""},
			{`< {"id":3,"result":{}}`, ""},
		}},
	} {
		t.Run(session.name, func(t *testing.T) {
			s := newSession("", nil)
			s.model = timeline.NewModel(timeline.Remembered)
			observe := func(line string) (broken string) {
				for _, v := range s.observe(line) {
					broken += v.Rule + ": " + v.Title
				}
				return broken
			}
			for _, line := range session.first {
				observe(line)
			}
			for n := 2; n < 10*timeline.Remembered; n++ {
				for _, line := range []string{session.call, `< {"method":"notifications/progress","params":{"progressToken":"t%[1]d","progress":1}}`, `< {"id":%[1]d,"result":{}}`} {
					if broken := observe(fmt.Sprintf(line, n)); broken != "" {
						t.Fatalf("call %d breaks %v", n, broken)
					}
				}
			}
			client := s.c.end(transport.ClientToServer)
			if n := len(client.ids.ranges) + len(client.ids.hashes) + len(client.again); n > 4 { // the numbers, and a few names
				t.Errorf("%d ids and ranges of them are kept", n)
			}
			for _, test := range session.later {
				line, want := test[0], test[1]
				if got := observe(line); got != want {
					t.Errorf("%s: got %q, want %q", line, got, want)
				}
			}
		})
	}
}
