package explore

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
)

// TestLateRuns holds that a search whose time is up does not wait for the end of its runs, counts none that did not
// come to its end, and says what it has not tried.
func TestLateRuns(t *testing.T) {
	for _, strategy := range []Strategy{nil, Exhaustive} {
		for last, want := range map[int]string{
			1: "UNDECIDED delivery order only, 0 of 9 orders (then it was interrupted): no order came to its end in that time\n",
			2: "PASS delivery order only, 1 of 9 orders (then it was interrupted), c2s=0 s2c=0 pass (1 order",
			3: "note: not tried in that time: c2s=unbounded s2c=unbounded\n",
		} {
			stop, runs := make(chan struct{}), 0
			var one search
			plan := Plan{Schedules: 9, Strategy: strategy, Stop: stop, Setup: func(r *Run) {
				if runs++; runs == last {
					close(stop)
					one.late.Store(true)
				}
				conforming(r)
			}}
			one.t, one.plan, one.seen, one.limits = t, withDefaults(plan), schedule.NewTally(), limits{stop: stop}
			if r := one.explore(); !strings.Contains(r.Text(), want) || r.Schedules != last-1 || len(r.Tried) != last-1 {
				t.Errorf("late in run %d: %+v\n%s", last, r.Tried, r.Text())
			}
		}
	}
}

// TestManyRaces holds that a search keeps no more than so many pairs of steps, and says so.
func TestManyRaces(t *testing.T) {
	tally := schedule.NewTally()
	var trail schedule.Trail
	var steps []gate.Step
	for i := range 1500 {
		steps = append(steps, gate.Step{Kind: gate.Start, What: strconv.Itoa(i)})
	}
	for len(steps) > 1 {
		trail.Step(steps, 0)
		steps = steps[1:]
	}
	tally.Add(&trail)
	tally.Add(&trail)
	if c := tally.Coverage(); !c.Uncounted || c.Races > 1<<18 {
		t.Errorf("%+v", c)
	}
}
