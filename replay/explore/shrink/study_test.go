package shrink

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
)

// study is the session of the study: a handshake, lists, resources, many calls
// with as much progress as the queue holds, and one call with more.
func study(calls, queue, frames int) []store.Event {
	s := teller{lines: slices.Clone(handshake)}
	for i := range calls {
		progress := queue
		if i == calls*2/3 {
			progress++
		}
		switch i % 5 {
		case 0:
			s.call("tools/list", `"note":1`, `"tools":[{"name":"t","inputSchema":{"type":"object"}}]`, 0)
		case 1:
			s.call("resources/read", fmt.Sprintf(`"uri":"file:///%d"`, i), `"contents":[]`, 0)
		}
		s.call("tools/call", fmt.Sprintf(`"name":"tool %d","arguments":{"text":"some words"}`, i%7), `"content":[{"type":"text","text":"more"}]`, progress)
		if i%9 == 0 {
			s.lines = append(s.lines, `< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
	for len(s.lines) < frames {
		s.lines = append(s.lines, `< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
	return script(s.lines...)
}

type teller struct {
	lines []string
	id    int
}

func (s *teller) call(method, params, result string, progress int) {
	s.id++
	s.lines = append(s.lines, fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{"progressToken":%d}}}`, s.id, method, params, s.id))
	for i := range progress {
		s.lines = append(s.lines, fmt.Sprintf(`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d,"message":"step"}}`, s.id, i+1))
	}
	s.lines = append(s.lines, fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{%s}}`, s.id, result))
}

var studies = []struct {
	calls, queue, from, to int
	whole                  int // with the handshake
}{
	{155, 1, 615, 4, 7},
	{3570, 2, 17554, 5, 8},
}

func TestStudy(t *testing.T) {
	for _, c := range studies {
		events := study(c.calls, c.queue, c.from)
		for fragment, want := range map[bool]int{true: c.to, false: c.whole} {
			for guess := range 2 {
				try := Closed(closed.NotificationQueue(c.queue), closed.Independent)
				if guess == 0 {
					try = without(try)
				}
				r := Session(events, try, Options{fragment: fragment, Capacity: closed.Capacity{C2S: 9, S2C: 9}})
				if r.From != c.from || r.To != want || r.Tries >= 100 || r.Spent || !r.Boundary.Always || r.Capacity != (closed.Capacity{}) {
					t.Errorf("%d → %d messages (want %d) in %d tries, %v, buffer %v\n%s", r.From, r.To, want, r.Tries, r.Boundary, r.Capacity, lines(r.Events))
				}
				t.Logf("%d → %d messages, %d tries", r.From, r.To, r.Tries)
			}
		}
	}
}

// without tells nothing but the fingerprint.
func without(try Try) Try {
	return func(c Candidate) Outcome { return Outcome{Fingerprint: try(c).Fingerprint} }
}

func BenchmarkStudy(b *testing.B) {
	for _, c := range studies {
		b.Run(fmt.Sprint(c.from), func(b *testing.B) {
			events := study(c.calls, c.queue, c.from)
			tries := 0
			for b.Loop() {
				tries = Session(events, Closed(closed.NotificationQueue(c.queue), closed.Independent), Options{fragment: true}).Tries
			}
			b.ReportMetric(float64(tries), "tries")
		})
	}
}
