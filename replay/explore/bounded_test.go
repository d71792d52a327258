package explore

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// child is an operation that waits for a process that does not end before the test does.
func child(t *testing.T) func(*Run) {
	return func(r *Run) {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			panic(err)
		}
		t.Cleanup(func() { in.Close() })
		r.Op("wait", func(context.Context) error {
			_, err := cmd.Process.Wait()
			return err
		})
	}
}

// A goroutine in a system call waits, and does not compute: the run is given up after the
// plan's patience.
func TestBlockedSyscall(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for name, plan := range map[string]Plan{
		"bubble": {Setup: child(t)},
		"settle": {Setup: child(t), Engine: Settle},
	} {
		plan.Schedules, plan.stamina, plan.Patience = 1, time.Hour, 50*time.Millisecond
		r := Search(t, plan)
		if r.Verdict != Undecided || r.Busy || !strings.Contains(r.Explanation, "waits in a system call") || !strings.Contains(r.Explanation, "child.func") {
			t.Errorf("%s: %s", name, r.Text())
		}
	}
}

// A peer that tries again and again by a timer, and uses the gate for none of it, does not
// spin through the whole horizon; a hang that is at rest is proved as before.
func TestRetryTimers(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{"fine": time.Nanosecond, "coarse": 10 * time.Millisecond} {
		// Without the budget each is verified twenty times.
		r := Search(t, Plan{stamina: 300 * time.Millisecond, Budget: time.Nanosecond, Setup: func(r *Run) {
			deaf(r)
			r.Go(func(ctx context.Context) {
				for ctx.Err() == nil {
					time.Sleep(every)
				}
			})
		}})
		switch {
		case name == "coarse" && r.Verdict == Hang: // the machine was quick
		case r.Verdict != Undecided || r.Leaked || r.Schedules != 1 ||
			!strings.Contains(r.Explanation, "timers of the sides fire again and again") || !strings.Contains(r.Explanation, "of virtual time"):
			t.Errorf("%s: %s", name, r.Text())
		}
	}
}

// A search that is stopped says what it has found so far.
func TestStop(t *testing.T) {
	stop, runs := make(chan struct{}), 0
	setup := func(r *Run) {
		if runs++; runs == 7 {
			close(stop)
		}
		conforming(r)
	}
	for _, strategy := range []Strategy{nil, Exhaustive} {
		stop, runs = make(chan struct{}), 0
		r := Search(t, Plan{Setup: setup, Schedules: 1_000_000, Strategy: strategy, Stop: stop})
		if r.Verdict != Pass || r.Schedules != 7 || r.Ended != EndStopped || !strings.Contains(r.Text(), "7 of 1000000 orders (then it was interrupted)") {
			t.Error(r.Text())
		}
	}
}

// A search that is stopped before its first schedule has found nothing out: it is no pass.
func TestStopBeforeFirst(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	for _, plan := range []Plan{{}, {Strategy: Exhaustive}, {Workers: 2}} {
		plan.Setup, plan.Schedules, plan.Stop = conforming, 9, stop
		r := Search(t, plan)
		const text = "UNDECIDED delivery order only, 0 of 9 orders (then it was interrupted): no order was run\n"
		if r.Verdict != Undecided || r.Schedules != 0 || r.Ended != EndStopped || len(r.Tried) != 0 || r.Text() != text {
			t.Errorf("%+v\n%s", r, r.Text())
		}
	}
}

// A search whose time is up says what it has found so far; of a failure too.
func TestBudgetEnds(t *testing.T) {
	for _, strategy := range []Strategy{nil, Exhaustive} {
		r := Search(t, Plan{Setup: conforming, Schedules: 1_000_000, Strategy: strategy, Budget: time.Nanosecond})
		if r.Verdict != Pass || r.Schedules != 3 || r.Ended != EndTime || !strings.Contains(r.Text(), "3 of 1000000 orders (then its time was up)") {
			t.Error(r.Text())
		}
	}
	r := Search(t, Plan{Setup: registerAfterWrite(6), Schedules: 500, Strategy: Random, Capacities: fixed(0, 0), Budget: time.Nanosecond, Check: func(*Run) error { return errors.New("no") }})
	if r.Verdict == Pass || r.Shrunk.Verified != 1 || r.Shrunk.Held != 1 || r.Shrunk.Runs != 0 || !strings.Contains(r.Text(), "the time of the search was up: ") {
		t.Errorf("%+v\n%s", r.Shrunk, r.Text())
	}
}
