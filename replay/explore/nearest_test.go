package explore

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store/jsonl"
)

// TestNearest: of each planted bug the report has the failing steps, and a schedule that
// passes and begins alike; the token of the failure gives the same two.
func TestNearest(t *testing.T) {
	t.Parallel()
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			plan := Plan{Setup: bug.setup, Check: bug.check, Capacities: fixed(bug.capacity, bug.capacity), Schedules: 500}
			r := Search(t, plan)
			if r.Failing == nil || r.Passing == nil {
				t.Fatalf("failing %v, passing %v\n%s", r.Failing, r.Passing, r.Text())
			}
			if r.Failing.Token != r.Token || r.Failing.Verdict != r.Verdict || r.Passing.Verdict != Pass ||
				r.Passing.Capacity != r.Capacity && bug.name != "both sides write and neither reads at 6" { // more than a hundred steps have an alternative
				t.Errorf("failing %s %s, passing %s %s at %v", r.Failing.Token, r.Failing.Verdict, r.Passing.Token, r.Passing.Verdict, r.Passing.Capacity)
			}
			checkApart(t, r)
			plan.Token = r.Passing.Token
			if again := Search(t, plan); again.Verdict != Pass || again.Failing != nil || again.Passing != nil {
				t.Errorf("the passing token: %s", again.Text())
			}
			plan.Token = r.Token
			again := Search(t, plan)
			if drawn(again) != drawn(r) || !reflect.DeepEqual(again.Failing.Frames, r.Failing.Frames) || again.Apart != r.Apart {
				t.Errorf("the token gives other steps:\n%s\nwas\n%s", drawn(again), drawn(r))
			}
		})
	}
}

// checkApart holds the two schedules of a report to their beginning in common.
func checkApart(t *testing.T, r Report) {
	t.Helper()
	for i := range r.Apart {
		if r.Failing.Steps[i].Name != r.Passing.Steps[i].Name {
			t.Fatalf("step %d is not the same, before %d\n%s", i, r.Apart, drawn(r))
		}
	}
	if r.Apart < len(r.Failing.Steps) && r.Apart < len(r.Passing.Steps) && r.Failing.Steps[r.Apart].Name == r.Passing.Steps[r.Apart].Name {
		t.Errorf("step %d is the same\n%s", r.Apart, drawn(r))
	}
	for _, s := range []*Schedule{r.Failing, r.Passing} {
		last := 0
		for i, step := range s.Steps {
			if step.Tick < last || step.Tick > last+1 {
				t.Errorf("step %d %+v: line after %d", i, step, last)
			}
			last = step.Tick
		}
	}
}

// drawn writes the steps of both schedules.
func drawn(r Report) string {
	var b strings.Builder
	for _, s := range []*Schedule{r.Failing, r.Passing} {
		if s == nil {
			b.WriteString("no order\n")
			continue
		}
		fmt.Fprintf(&b, "%s at %v, %s\n", s.Verdict, s.Capacity, s.Token)
		for i, step := range s.Steps {
			mark := " "
			if i == r.Apart {
				mark = ">"
			}
			fmt.Fprintf(&b, "%s %3d %s %d %s\n", mark, step.Tick, step.Name, step.N, step.Operation)
		}
	}
	return b.String()
}

// TestNearestParts: the schedules part at the step that the failure is about.
func TestNearestParts(t *testing.T) {
	const call = `tools/call "x" by call`
	for _, c := range []struct {
		name, fails, passes string // the steps at which they part
		plan                Plan
	}{
		{"answer lost", "s2c take response to " + call + "#1", "c2s ack " + call + "#1", Plan{Setup: registerAfterWrite(2)}},
		{"both sides write and neither reads", "s2c take ping by ask0#1", "s2c take response to " + call + "0#1", Plan{Setup: headOn(1), Capacities: fixed(0, 0)}},
		{"modeled both sides write and neither reads", "", `c2s take tools/call "list_allowed_directories"#1`, modeledHeadOn(t)},
		{"blocked behind a notification with every buffer", "", "", Plan{Setup: seed(2, 0)}},
	} {
		r := Search(t, c.plan)
		fails, passes := "", ""
		if r.Passing != nil {
			checkApart(t, r)
			fails = stepAt(r.Failing, r.Apart)
			passes = stepAt(r.Passing, r.Apart)
		}
		if fails != c.fails || passes != c.passes {
			t.Errorf("%s: they part at «%s» and «%s», want «%s» and «%s»\n%s", c.name, fails, passes, c.fails, c.passes, drawn(r))
		}
	}
}

func stepAt(s *Schedule, at int) string {
	if at >= len(s.Steps) {
		return ""
	}
	return s.Steps[at].Name
}

// modeledHeadOn is a session of two rigid ends that hang at capacity 0 in every order, and
// pass with room.
func modeledHeadOn(t *testing.T) Plan {
	t.Helper()
	events, err := jsonl.ReadFile("../../fixtures/crossing.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Modeled(events, closed.SingleThreaded, closed.SingleThreaded)
	if err != nil {
		t.Fatal(err)
	}
	plan.Capacities = fixed(0, 0)
	return plan
}

// BenchmarkNearest is the part of a failing search that the nearest passing schedule takes.
func BenchmarkNearest(b *testing.B) {
	inTest(b, func(t *testing.T) {
		plan := Plan{Setup: registerAfterWrite(6), Schedules: 500}
		var whole, part time.Duration
		for range b.N {
			start := time.Now()
			r := Search(t, plan)
			whole += time.Since(start)
			token, err := ParseToken(r.Token)
			if err != nil {
				b.Fatal(err)
			}
			s := search{t: t, plan: withDefaults(plan)}
			failed := s.rerun(token, true)
			start = time.Now()
			if nearest(&s, failed) == nil {
				b.Fatal("no order passes")
			}
			part += time.Since(start)
		}
		b.ReportMetric(part.Seconds()/whole.Seconds(), "of-search")
	})
}
