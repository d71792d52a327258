package explore

import (
	"strings"
	"testing"
	"time"
)

func TestProgressText(t *testing.T) {
	for want, c := range map[string]struct {
		plan    Plan
		done    int
		elapsed time.Duration
	}{
		"explore: 4200 of 100000 schedules, 2100/s, capacities 0, 1, unbounded":           {Plan{Schedules: 100_000}, 4200, 2 * time.Second},
		"explore: 0 of 5 schedules or 10s of CPU time, 0/s, capacities c2s=2 s2c=0":       {Plan{Schedules: 5, CPU: 10 * time.Second, Capacities: fixed(2, 0)}, 0, 0},
		"explore: 1 of 2 schedules, 1/s, capacities c2s=2 s2c=0, c2s=3 s2c=0, c2s=4 s...": {Plan{Schedules: 2, Capacities: []Capacity{{C2S: 2, S2C: 0}, {C2S: 3, S2C: 0}, {C2S: 4, S2C: 0}}}, 1, time.Second},
	} {
		if got := progressText(withDefaults(c.plan), c.done, c.elapsed); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Nothing is drawn in the first second, and nothing is left at the end.
func TestProgress(t *testing.T) {
	var out strings.Builder
	clock := time.Time{}
	p := &progress{w: &out, now: func() time.Time { return clock }}
	plan := withDefaults(Plan{})
	p.start()
	for i := range 13 {
		clock = clock.Add(100 * time.Millisecond)
		p.step(plan, i)
	}
	if lines := strings.Split(out.String(), eraseLine); len(lines) != 3 || !strings.HasPrefix(lines[1], "explore: 9 of 200") ||
		!strings.HasPrefix(lines[2], "explore: 11 of 200") {
		t.Errorf("%q", lines)
	}
	out.Reset()
	if p.end(); out.String() != eraseLine {
		t.Errorf("at the end %q", out.String())
	}
	out.Reset()
	short := &progress{w: &out, now: p.now}
	short.start()
	short.step(plan, 1)
	if short.end(); out.Len() > 0 {
		t.Errorf("a short search drew %q", out.String())
	}
	var none *progress
	none.step(plan, 1)
	none.end()
}
