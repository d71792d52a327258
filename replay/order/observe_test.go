package order

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestForget: of a session of many calls little is kept, and what is said anew of
// the first call is still found.
func TestForget(t *testing.T) {
	c := New("")
	observe := func(line string) (broken []string) {
		dir := transport.ClientToServer
		if line[0] == '<' {
			dir = transport.ServerToClient
		}
		for _, v := range c.Observe(dir, Parse(transport.Frame{Bytes: []byte(line[2:])})) {
			broken = append(broken, v.Rule+": "+v.Title)
		}
		return broken
	}
	for _, line := range shaken() {
		observe(line)
	}
	request := `> {"id":%[1]d,"method":"x","params":{"_meta":{"progressToken":"t%[1]d"}}}`
	for n := 1; n < 4*remembered; n++ {
		for _, line := range []string{request, `< {"method":"notifications/progress","params":{"progressToken":"t%[1]d","progress":1}}`, `< {"id":%[1]d,"result":{}}`} {
			if broken := observe(fmt.Sprintf(line, n)); broken != nil {
				t.Fatalf("call %d breaks %v", n, broken)
			}
		}
	}
	if n := len(c.Requests(transport.ClientToServer)); n > 2*remembered {
		t.Errorf("%d requests are kept", n)
	}
	for _, test := range [][2]string{
		{`< {"id":1,"result":{}}`, "P1: a request is answered once"},
		{`< {"method":"notifications/progress","params":{"progressToken":"t1","progress":2}}`, "P3: progress stops when the request is answered"},
		{`> {"method":"notifications/cancelled","params":{"requestId":2}}`, "P6: a cancellation names a request that is believed open"},
		{fmt.Sprintf(request, 1), "P2: the id of a request was not used before in the session"},
		{`< {"id":"never","result":{}}`, "P1: a response answers a request"},
	} {
		line, want := test[0], test[1]
		if got := observe(line); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %v, want %s", line, got, want)
		}
	}
}
