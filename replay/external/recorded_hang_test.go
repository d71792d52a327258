package external

import (
	"fmt"
	"testing"
	"time"
)

// TestWithoutEndsOfHangs holds which cancellations are left out: those of calls that hung until then, also where the
// client went on.
func TestWithoutEndsOfHangs(t *testing.T) {
	t.Parallel()
	call, cancel := `> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}`, `> {"method":"notifications/cancelled","params":{"requestId":1}}`
	progress := `< {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}`
	for name, test := range map[string]struct {
		frames string
		last   []time.Duration // of each frame
		want   string
	}{
		"a hang":                  {call + "\n" + cancel, []time.Duration{0, 25}, "[1]"},
		"the client went on":      {call + "\n" + cancel + "\n" + `> {"id":2,"method":"ping"}` + "\n" + `< {"id":2,"result":{}}`, []time.Duration{0, 25, 26, 26}, "[1 3 4]"},
		"soon":                    {call + "\n" + cancel, []time.Duration{0, 1}, "[1 2]"},
		"progress came":           {call + "\n" + progress + "\n" + cancel, []time.Duration{0, 24, 25}, "[1 2 3]"},
		"answered all the same":   {call + "\n" + cancel + "\n" + `< {"id":1,"result":{}}`, []time.Duration{0, 25, 26}, "[1 2 3]"},
		"the client did not move": {call + "\n" + `< {"id":"q","method":"roots/list"}` + "\n" + cancel, []time.Duration{0, 1, 25}, "[1 2 3]"},
	} {
		events := framesOf(test.frames)
		for i, at := range test.last {
			events[i].At = at * time.Second
		}
		var kept []uint64
		for _, e := range withoutEndsOfHangs(events) {
			kept = append(kept, e.Seq)
		}
		if got := fmt.Sprint(kept); got != test.want {
			t.Errorf("%s: %s are left, want %s", name, got, test.want)
		}
	}
}
