package explore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Whoever finishes first, the report is that of one worker, to the letter.
func TestWorkers(t *testing.T) {
	for _, bug := range planted {
		for trial := range scale(1, 100) {
			p := Plan{Setup: bug.setup, Check: bug.check, Schedules: 500, Seed: uint64(trial)}
			if trial%2 == 1 {
				p.Capacities = fixed(bug.capacity, bug.capacity)
			}
			want := Search(t, p).Text()
			for _, p.Workers = range []int{2, 5} {
				if got := Search(t, p).Text(); got != want {
					t.Fatalf("%s, seed %d, %d workers:\n%s\nwant\n%s", bug.name, trial, p.Workers, got, want)
				}
			}
		}
	}
}

func TestWorkersConforming(t *testing.T) {
	for _, workers := range []int{1, 2, 7, 1000} {
		r := Explore(t, Plan{Setup: conforming, Schedules: 100, Workers: workers})
		want := []Tried{{Capacity: Capacity{}, Verdict: Pass, Schedules: 34}, {Capacity: Capacity{C2S: 1, S2C: 1}, Verdict: Pass, Schedules: 33}, {Capacity: Capacity{C2S: Unbounded, S2C: Unbounded}, Verdict: Pass, Schedules: 33}}
		if r.Schedules != 100 || r.Ended != EndSchedules || !slices.Equal(r.Tried, want) {
			t.Errorf("%d workers: %s", workers, r.Text())
		}
	}
}

// The first run at each capacity is made however little time there is.
func TestCPU(t *testing.T) {
	for _, workers := range []int{1, 3} {
		r := Explore(t, Plan{Setup: conforming, Schedules: 1 << 40, CPU: time.Nanosecond, Workers: workers})
		if r.Schedules != 3 || r.Ended != EndCPU || len(r.Tried) != 3 {
			t.Error(r.Text())
		}
		r = Explore(t, Plan{Setup: conforming, Schedules: 1 << 40, CPU: 5 * time.Millisecond, Workers: workers})
		if r.Schedules < 3 || r.Ended != EndCPU {
			t.Error(r.Text())
		}
	}
}

// Progress is told of each schedule in turn, however many workers there are.
func TestProgress(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var done []int
		last := Progress{}
		Explore(t, Plan{Setup: conforming, Schedules: 20, Workers: workers, Progress: func(p Progress) {
			if done = append(done, p.Done); p.Elapsed < last.Elapsed || p.Total != 20 {
				t.Errorf("%+v after %+v", p, last)
			}
			last = p
		}})
		if len(done) != 20 || !slices.IsSorted(done) || done[19] != 20 {
			t.Errorf("%d workers: %v", workers, done)
		}
	}
}

func TestBudget(t *testing.T) {
	used := time.Duration(10)
	spent := cpuBudget(3, func() time.Duration { return used })
	for ; used < 20; used++ {
		if spent() != (used >= 13) {
			t.Errorf("spent at %d: %v", used, spent())
		}
	}
	if cpuBudget(0, func() time.Duration { return used })() {
		t.Error("no limit, and spent")
	}
}

// Runs are taken in the order of their numbers, and no more once take has had
// enough.
func TestSeries(t *testing.T) {
	for workers := range 6 {
		for last := range 60 {
			taken := 5
			s := series{from: 5, to: 50,
				make: func(i int) *Run { return &Run{terms: terms{limit: i}} },
				take: func(r *Run) bool {
					if r.terms.limit != taken {
						t.Fatalf("%d workers: took %d, want %d", workers, r.terms.limit, taken)
					}
					taken++
					return r.terms.limit != last
				}}
			want := 50
			if last >= 5 && last < 50 {
				want = last + 1
			}
			if got := s.run(workers); got != want || taken != want {
				t.Errorf("%d workers, until %d: took up to %d, returned %d, want %d", workers, last, taken, got, want)
			}
		}
	}
}

func TestRecordedCapacity(t *testing.T) {
	r := Explore(t, Plan{Setup: conforming, Schedules: 8, Recorded: Capacity{C2S: 3, S2C: 7}})
	want := []Tried{{Capacity: Capacity{}, Verdict: Pass, Schedules: 2}, {Capacity: Capacity{C2S: 1, S2C: 1}, Verdict: Pass, Schedules: 2}, {Capacity: Capacity{C2S: 3, S2C: 7}, Verdict: Pass, Schedules: 2}, {Capacity: Capacity{C2S: Unbounded, S2C: Unbounded}, Verdict: Pass, Schedules: 2}}
	if !slices.Equal(r.Tried, want) {
		t.Error(r.Text())
	}
	if got := withDefaults(Plan{Recorded: Capacity{C2S: 1, S2C: 1}}).Capacities; !slices.Equal(got, Sweep) {
		t.Errorf("recorded at 1, swept %v", got)
	}
}

// eagerWriter hangs where nobody can take its frame before it has read another,
// and is refused above a capacity that it does not expect.
func eagerWriter(expects int) func(*Run) {
	return func(r *Run) {
		r.Op("write", func(ctx context.Context) error {
			for range 2 {
				if err := r.Client().Write(ctx, note("x")); err != nil {
					return err
				}
			}
			if expects == 0 {
				return errors.New("two writes went through")
			}
			return nil
		})
	}
}

func TestSlack(t *testing.T) {
	for want, p := range map[string]Plan{
		"hangs at 0 and 1, not met at unbounded in 20 orders":                      {Setup: eagerWriter(2)},
		"it depends on the buffer: hangs at 0 and 1, fails its check at unbounded": {Setup: eagerWriter(0)},
		"hangs at all tried: 0, 1, unbounded; no buffer of the transport hides it": {Setup: seed(2, 0)},
		"hangs at c2s=1 s2c=0, not met at c2s=2 s2c=0 in 20 orders":                {Setup: eagerWriter(2), Capacities: []Capacity{{C2S: 2, S2C: 0}, {C2S: 1, S2C: 0}}},
		"fails its check at all tried: 5, 6":                                       {Setup: eagerWriter(0), Capacities: []Capacity{{C2S: 5, S2C: 5}, {C2S: 6, S2C: 6}}},
		"":                                                                         {Setup: eagerWriter(0), Capacities: fixed(5, 5)},
	} {
		if r := Search(t, p); r.Slack != want {
			t.Errorf("%q, want %q\n%s", r.Slack, want, r.Text())
		}
	}
}
