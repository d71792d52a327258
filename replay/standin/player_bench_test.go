package standin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// BenchmarkPlayerEqual makes 50,000 equal calls one after another.
func BenchmarkPlayerEqual(b *testing.B) {
	const n = 50_000
	events := recordPlaybook(strings.Repeat(`> {"id":1,"method":"resources/list"}
		< {"id":1,"result":{}}

	`, n))
	for b.Loop() {
		p := NewPlayer(events, match.Rules{})
		for i := range n {
			p.Receive(transport.Frame{Bytes: fmt.Appendf(nil, `{"id":"live-%d","method":"resources/list"}`, i)})
			p.Waiting()
		}
		if s := p.Findings(); replies(p) != n || len(s) != 0 {
			b.Fatal(s)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
}
