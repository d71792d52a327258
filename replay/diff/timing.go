package diff

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Latency is how long the calls to one tool, or of one method, took in both sessions.
type Latency struct {
	What   string        `json:"what"`
	CallsA int           `json:"calls_a"`
	CallsB int           `json:"calls_b"`
	P50A   time.Duration `json:"p50_a_ns"`
	P50B   time.Duration `json:"p50_b_ns"`
	P95A   time.Duration `json:"p95_a_ns"`
	P95B   time.Duration `json:"p95_b_ns"`
	Ratio  float64       `json:"ratio"` // of the medians, B's to A's; 0 where there is none
}

// Slower is a call that took much longer in one session than in the other.
type Slower struct {
	What string        `json:"what"`
	A    uint64        `json:"a"`
	B    uint64        `json:"b"`
	InA  time.Duration `json:"in_a_ns"`
	InB  time.Duration `json:"in_b_ns"`
}

// What counts as much longer, and how many are told.
const (
	muchSlower   = 5
	slowerBy     = 100 * time.Millisecond
	slowestCalls = 10
)

// measure compares how long the client's calls took.
func (c *Comparison) measure() {
	var took [2]map[int32][]time.Duration
	for side, s := range c.sides {
		took[side] = map[int32][]time.Duration{}
		for i := range s.list {
			if m := &s.list[i]; m.kind == transport.Request && m.reply != none && m.dir == transport.ClientToServer && s.isChosen(m.seq) {
				took[side][m.name] = append(took[side][m.name], s.latency(m))
			}
		}
	}
	for at, n := range c.names.list {
		a, b := took[0][int32(at)], took[1][int32(at)]
		if len(a) == 0 && len(b) == 0 {
			continue
		}
		slices.Sort(a)
		slices.Sort(b)
		t := Latency{
			What: n.String(), CallsA: len(a), CallsB: len(b),
			P50A: quantile(a, 50), P50B: quantile(b, 50), P95A: quantile(a, 95), P95B: quantile(b, 95),
		}
		if t.P50A > 0 && len(b) > 0 {
			t.Ratio = float64(t.P50B) / float64(t.P50A)
		}
		c.report.Timing = append(c.report.Timing, t)
	}
	slices.SortStableFunc(c.report.Timing, func(x, y Latency) int { return cmp.Compare(x.What, y.What) })
	c.findSlower()
}

func (s *Session) latency(m *message) time.Duration { return max(0, s.list[m.reply].at-m.at) }

// quantile returns how long the fastest percent took at most.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*percent+99)/100, 1)-1]
}

// findSlower finds the calls whose times differ most.
func (c *Comparison) findSlower() {
	a, b := c.sides[0], c.sides[1]
	var list []Slower
	for i := range a.list {
		m := &a.list[i]
		if m.kind != transport.Request || m.dir != transport.ClientToServer || m.pair == none || m.reply == none || b.list[m.pair].reply == none {
			continue
		}
		if !a.isChosen(m.seq) && !b.isChosen(b.list[m.pair].seq) {
			continue
		}
		one := Slower{A: m.seq, B: b.list[m.pair].seq, InA: a.latency(m), InB: b.latency(&b.list[m.pair])}
		low, high := min(one.InA, one.InB), max(one.InA, one.InB)
		if high-low < slowerBy || high < muchSlower*low {
			continue
		}
		one.What = c.names.list[m.name].String()
		if list = append(list, one); len(list) > 100*slowestCalls {
			list = slowest(list)
		}
	}
	c.report.Slower = slowest(list)
}

// slowest keeps the calls that differ most.
func slowest(list []Slower) []Slower {
	slices.SortStableFunc(list, func(x, y Slower) int { return cmp.Compare((y.InB - y.InA).Abs(), (x.InB - x.InA).Abs()) })
	return list[:min(len(list), slowestCalls)]
}
