package diff

import (
	"context"
	"iter"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// Comparison compares two sessions, A and B: the events of both go to the sessions of Sides, and
// Report returns the differences.
type Comparison struct {
	options Options
	digest  *Digester
	names   *names
	sides
}

// sides are the two sessions of a comparison.
type sides struct{ a, b *Session }

func (x sides) both() [2]*Session { return [2]*Session{x.a, x.b} }

// New returns a comparison of two empty sessions.
func New(d *Digester, options Options) *Comparison {
	n := &names{known: map[name]int32{}}
	return &Comparison{options: options, digest: d, names: n, sides: sides{newSession(d, n), newSession(d, n)}}
}

// Sides returns the sessions A and B.
func (c *Comparison) Sides() (a, b *Session) { return c.a, c.b }

// Report pairs the messages of the complete sessions, and returns the differences.
func (c *Comparison) Report() *Report {
	report, _ := c.ReportContext(context.Background()) // it never ends
	return report
}

// ReportContext is Report until a context ends. Then there is no report, and the error is the context's.
func (c *Comparison) ReportContext(ctx context.Context) (*Report, error) {
	flag := interrupt.On(ctx)
	for _, s := range c.both() {
		s.close()
	}
	var clocks []match.Clock
	if c.a.Header.ID == "" || c.a.Header.ID != c.b.Header.ID { // else both are one recording
		for _, s := range c.both() {
			clocks = append(clocks, match.Clock{From: s.Header.Start, To: s.Header.Start.Add(s.took)})
		}
	}
	comparer := match.NewComparer(c.options.Rules, func(dir transport.Direction) iter.Seq2[int, transport.Frame] {
		return c.framesOfA(dir, flag)
	}, clocks...)
	p := &pairing{c.sides, c.digest.seed, flag}
	f := &findings{
		sides: c.sides, names: c.names, flag: flag, anyOrder: c.options.Rules.AnyOrder,
		report: &Report{
			A: c.a.side(), B: c.b.side(), Counts: map[string]int{}, Notes: map[string]int{}, Compared: map[string]int{}, Mapped: map[string]int{},
		},
	}
	changes, order := changeFinder{f, comparer}, orderFinder{f}
	for _, find := range []func(){
		p.byContent, func() { p.byShape(comparer) },
		f.alone, changes.payloads, order.aroundAnswers, order.withinCalls,
		func() {
			for _, dir := range directions {
				order.calls(dir)
				order.answers(dir)
			}
		},
		changes.tools, f.compared, f.statuses, f.endings,
		func() { f.report.Timing, f.report.Slower = f.latencies(), f.slower() },
	} {
		find()
		if err := flag.Err(); err != nil {
			return nil, err
		}
	}
	return f.report, nil
}

// framesOfA yields the messages of a direction of A that B has not, until the flag is raised.
func (c *Comparison) framesOfA(dir transport.Direction, flag *interrupt.Flag) iter.Seq2[int, transport.Frame] {
	return func(yield func(int, transport.Frame) bool) {
		for i := range c.a.list {
			m := &c.a.list[i]
			if flag.Raised() {
				return
			}
			isSame := m.pair != none && c.b.list[m.pair].content == m.content
			if m.dir == dir && m.raw != nil && !isSame && !yield(int(m.seq), transport.Frame{Bytes: m.raw}) {
				return
			}
		}
	}
}
