package explore

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport"
)

// plain runs the session of a plan's Setup without a gate: the same peers over a
// [transport.Pipe], in a bubble of its own.
func plain(t *testing.T, setup func(*Run)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		pipe := transport.NewPipe(0, 0, nil)
		r := newRun(terms{plan: &Plan{}}, 0)
		r.peers.gate, r.peers.ctx = gate.New(gate.Options{Split: true}), ctx
		r.peers.pairs = []*Pair{{client: pipe.Client(), server: pipe.Server()}}
		setup(r)
		for _, op := range r.peers.ops {
			op.start(0)
		}
		synctest.Wait()
		if !r.peers.finished() || r.Failures() != nil {
			t.Fatal("the session did not end well")
		}
		cancel()
		_, _ = pipe.Client().Close(), pipe.Server().Close()
		synctest.Wait()
	})
}

// BenchmarkConforming compares explored schedules of the conforming pair with
// the same session run without a gate, turn by turn in one process. Processor time counts:
// other programs hardly change it.
func BenchmarkConforming(b *testing.B) {
	inTest(b, func(t *testing.T) {
		defer raiseGC()()
		one := search{t: t, plan: withDefaults(Plan{Setup: conforming}), length: 60}
		used := workTime(1)
		var gated, bare time.Duration
		steps := 0
		for i := range b.N {
			start := used()
			steps += len(one.run(Capacity{}, i).course.steps)
			middle := used()
			plain(t, conforming)
			gated, bare = gated+middle-start, bare+used()-middle
		}
		b.ReportMetric(float64(b.N)/gated.Seconds(), "schedules/s")
		b.ReportMetric(float64(steps)/gated.Seconds(), "steps/s")
		b.ReportMetric(bare.Seconds()/gated.Seconds(), "of-ungated")
	})
}

// BenchmarkHang is the cost of a proved hang, with its stacks.
func BenchmarkHang(b *testing.B) {
	inTest(b, func(t *testing.T) {
		one := search{t: t, plan: withDefaults(Plan{Setup: seed(2, 0)})}
		for range b.N {
			if r := one.run(Capacity{}, 0); r.outcome.verdict != Hang {
				b.Fatal(r.outcome.verdict)
			}
		}
	})
}

// inTest lends a benchmark the test that a bubble wants.
func inTest(b *testing.B, f func(*testing.T)) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "bubble", F: f}})
	if !ok {
		b.Fatal("the benchmark's test failed")
	}
}

// BenchmarkCoverage is the part of a schedule's time that its coverage costs.
func BenchmarkCoverage(b *testing.B) {
	inTest(b, func(t *testing.T) {
		defer raiseGC()()
		var met [][]Step
		var chosen []int
		watched := StrategyFunc(func(seed uint64, run, length int) Chooser {
			choose := schedule.Mix.Begin(seed, run, length)
			return func(at int, enabled []Step) int {
				i := choose(at, enabled)
				met, chosen = append(met, slices.Clone(enabled)), append(chosen, i)
				return i
			}
		})
		one := search{t: t, plan: withDefaults(Plan{Setup: conforming, Strategy: watched}), length: 60}
		seen := schedule.NewTally()
		var whole, part time.Duration
		for i := range b.N {
			met, chosen = met[:0], chosen[:0]
			start := time.Now()
			r := one.run(Capacity{}, i)
			middle := time.Now()
			again := schedule.Trail{Touching: r.course.trail.Touching}
			for j := range met {
				again.Step(met[j], chosen[j])
			}
			seen.Add(&again)
			whole, part = whole+middle.Sub(start), part+time.Since(middle)
		}
		b.ReportMetric(100*part.Seconds()/whole.Seconds(), "%of-schedule")
	})
}
