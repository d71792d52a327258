package explore

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A burst begins in one step, when all of its operations may, and its frames have the same names
// in every run.
func TestBurst(t *testing.T) {
	t.Parallel()
	setup := func(r *Run) {
		client, _ := pair(r)
		for _, name := range []string{"a", "b", "c"} {
			r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
		}
		r.peers.ops[1].After("a")
		r.Burst("b", "c")
	}
	stop := errors.New("stop")
	for i := range scale(15, 50) {
		p := Plan{Setup: setup, Strategy: Random, Seed: uint64(i), Schedules: 1, Shrink: -1, Capacities: Sweep[i%3 : i%3+1],
			Check: func(*Run) error { return stop }}
		r := Search(t, p)
		run := strings.Join(r.Sequence, "\n")
		a, burst := strings.Index(run, `response to tools/call "a" by a#1 -`), strings.Index(run, "start b + c")
		if r.Verdict != CheckFailed || a < 0 || burst < a || strings.Count(run, "start ") != 2 {
			t.Fatal(r.Text())
		}
		p.Token = r.Token
		if again := Search(t, p); strings.Join(again.Sequence, "\n") != run {
			t.Fatalf("%s\n%s", r.Text(), again.Text())
		}
	}
	r := Search(t, Plan{Strategy: Exhaustive, Setup: setup, Capacities: fixed(1, 1), Schedules: 100})
	if r.Verdict != Pass {
		t.Error(r.Text())
	}
}
