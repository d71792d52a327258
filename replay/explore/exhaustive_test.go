package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport"
)

// crossing is n calls each way between conforming peers.
func crossing(n int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		for i := range n {
			r.Op(fmt.Sprint("call", i), func(ctx context.Context) error { return client.tool(ctx, "x") })
			r.Op(fmt.Sprint("ask", i), func(ctx context.Context) error {
				_, err := server.call(ctx, "ping", `{}`)
				return err
			})
		}
	}
}

// single is one call with so much progress.
func single(progress int) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			for range progress {
				_ = server.tell(ctx, "notifications/message")
			}
			server.answer(ctx, m, `{}`)
		}
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}
}

// everything makes all runs of a plan at one capacity, and returns the report and
// the classes that it met.
func everything(t *testing.T, p Plan, s exhaustive) (Report, []uint64) {
	t.Helper()
	one := search{t: t, plan: withDefaults(p), seen: schedule.NewTally()}
	r := one.exhaust(s)
	return r, slices.Sorted(maps.Keys(one.seen.Classes))
}

// The walk visits each class that the whole space has, and each once.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(*Run)
		acked bool // acks with takes
		room  int
	}{
		{"single", single(1), false, 0}, {"single", single(3), false, 1}, {"single", single(3), false, Unbounded},
		{"crossing", crossing(1), false, 0}, {"crossing", crossing(1), true, 0}, {"crossing", crossing(1), true, 1},
		{"writer", eagerWriter(2), false, 2}, {"late", registerAfterWrite(1), false, 1}, {"both sides write and neither reads", headOn(1), false, 0},
		{"gives up", givesUp, false, 1}, {"past the gate", pastTheGate, false, 1},
		{"stale", staleList(0), true, 0}, // its noise does nothing
	} {
		p := Plan{Setup: c.setup, AckWithTake: c.acked, Capacities: fixed(c.room, c.room), Schedules: 1_000_000}
		whole, all := everything(t, p, exhaustive{naive: true})
		walked, some := everything(t, p, exhaustive{})
		t.Logf("%s at %d: %d orders in all, %d classes, walked %d orders", c.name, c.room, whole.Schedules, len(some), walked.Schedules)
		if whole.Verdict != walked.Verdict || whole.Verdict == Pass && !slices.Equal(all, some) {
			t.Errorf("%s at %d: %d classes, walked %d\n%s%s", c.name, c.room, len(all), len(some), whole.Text(), walked.Text())
		}
		if walked.Verdict == Pass && (walked.Ended != EndVisited || walked.Tried[0].Classes != len(some)) {
			t.Errorf("%s at %d: a class ended twice, or not all were visited\n%s", c.name, c.room, walked.Text())
		}
	}
}

// Time that may not pass now, as it has just passed or the run is over, may pass in another order.
func TestWalkTime(t *testing.T) {
	p := Plan{Setup: readsLast, AckWithTake: true, Capacities: fixed(1, 1), Timers: 1, Schedules: 10_000}
	whole, all := everything(t, p, exhaustive{naive: true})
	walked, some := everything(t, p, exhaustive{})
	if whole.Ended != EndVisited || walked.Ended != EndVisited || !slices.Equal(all, some) {
		t.Errorf("%d classes, walked %d\n%s%s", len(all), len(some), whole.Text(), walked.Text())
	}
}

// Hardly a run of the walk is cut: it makes one for each class, and a few to learn which ends
// the steps touch.
func TestWalkCutsFew(t *testing.T) {
	for _, room := range []int{0, 1, Unbounded} {
		r, _ := everything(t, Plan{Setup: crossing(1), Capacities: fixed(room, room), Schedules: 1000}, exhaustive{})
		if most := r.Tried[0].Classes + 10; r.Ended != EndVisited || r.Schedules > most {
			t.Errorf("at %d: %d orders, want %d at most\n%s", room, r.Schedules, most, r.Text())
		}
	}
}

// Random programs, in which ends write, read, give up writes and close: the whole
// space and the reduced one have the same classes.
func TestWalkRandom(t *testing.T) {
	t.Parallel()
	compared, runs, classes := 0, 0, 0
	programs := scale(30, 3000)
	for n := range programs {
		dice := rand.New(rand.NewPCG(1, uint64(n)))
		p := Plan{Setup: program(n), Check: func(*Run) error { return nil }, AckWithTake: dice.IntN(3) == 0,
			Capacities: fixed(dice.IntN(4)-1, dice.IntN(4)-1), Schedules: scale(300, 3000)}
		whole, all := everything(t, p, exhaustive{naive: true})
		if whole.Ended == EndSchedules {
			continue
		}
		compared++
		walked, some := everything(t, p, exhaustive{})
		if whole.Verdict != walked.Verdict || whole.Verdict == Pass && !slices.Equal(all, some) {
			t.Fatalf("program %d: %d classes, walked %d\n%s%s", n, len(all), len(some), whole.Text(), walked.Text())
		}
		runs += walked.Schedules
		classes += len(some)
	}
	t.Logf("%d programs: %d orders for %d classes", compared, runs, classes)
	if compared < programs/3 {
		t.Errorf("only %d of %d programs were compared", compared, programs)
	}
}

// program is a random small plan: each end writes a few frames and may close, perhaps in an
// operation that waits for another; and reads a few, after one of which it may give up the
// Write that it is at.
func program(seed int) func(*Run) {
	return func(r *Run) {
		dice := rand.New(rand.NewPCG(2, uint64(seed)))
		operation := "" // the first, if it is one
		for end, conn := range []transport.Conn{r.Client(), r.Server()} {
			writes, closes := 1+dice.IntN(3), dice.IntN(6)
			reads, last, point := 1+dice.IntN(3), dice.IntN(4), dice.IntN(5)
			short, giveUp := context.WithCancel(r.Context())
			context.AfterFunc(r.Context(), giveUp)
			write := func(context.Context) error {
				for range writes {
					_ = conn.Write(short, note("x"))
				}
				switch closes {
				case 0, 1:
					_ = conn.Close()
				case 2:
					_ = conn.(interface{ CloseWrite() error }).CloseWrite()
				}
				return nil
			}
			if dice.IntN(3) == 0 {
				op := r.Op(fmt.Sprint("write", end), write)
				if operation != "" {
					op.After(operation)
				}
				operation = fmt.Sprint("write", end)
			} else {
				r.Go(func(ctx context.Context) { _ = write(ctx) })
			}
			r.Go(func(ctx context.Context) {
				for i := range reads {
					if i == point {
						Point(ctx, fmt.Sprint("read", end))
					}
					if _, err := conn.Read(ctx); err == nil && i == last {
						giveUp()
					}
				}
			})
		}
	}
}

// givesUp writes until it has read: whether its frame is withdrawn or taken is
// told by the far end.
func givesUp(r *Run) {
	r.Op("client", func(ctx context.Context) error {
		short, cancel := context.WithCancel(ctx)
		go func() {
			_, _ = r.Client().Read(ctx)
			cancel()
		}()
		for range 2 {
			_ = r.Client().Write(short, note("x"))
		}
		return nil
	})
	r.Op("server", func(ctx context.Context) error {
		return errors.Join(r.Server().Write(ctx, note("y")), r.Server().Close())
	})
}

// readsLast is over when the server has read, whether the client has read or not.
func readsLast(r *Run) {
	r.Op("server", func(ctx context.Context) error {
		err := r.Server().Write(ctx, note("y"))
		_, readErr := r.Server().Read(ctx)
		return errors.Join(err, readErr)
	})
	r.Go(func(ctx context.Context) { _ = r.Client().Write(ctx, note("x")) })
	r.Go(func(ctx context.Context) { _, _ = r.Client().Read(ctx) })
}

// pastTheGate: what the client reads wakes the server, which then knows it.
func pastTheGate(r *Run) {
	told, knows := make(chan struct{}, 1), false
	r.Op("a", func(ctx context.Context) error {
		if err := r.Server().Write(ctx, note("a")); err != nil || !knows {
			return err
		}
		return r.Server().Write(ctx, note("b"))
	})
	r.Go(func(ctx context.Context) {
		_, _ = r.Client().Read(ctx)
		told <- struct{}{}
	})
	r.Go(func(ctx context.Context) {
		<-told
		knows = true
		_, _ = r.Server().Read(ctx)
	})
}

// A walk that finds other steps than before proves nothing.
func TestNotTheSameAgain(t *testing.T) {
	runs := 0
	r := Explore(t, Plan{Strategy: Exhaustive, Capacities: fixed(1, 1), Schedules: 1000, Setup: func(r *Run) {
		runs++
		single(1 + runs%3)(r)
	}})
	if r.Ended != EndLost || r.Tried[0].All {
		t.Error(r.Text())
	}
}

// Nor does a walk whose peers do something else after the last choice, even if there is a single order.
func TestNotTheSameAtTheEnd(t *testing.T) {
	for _, fails := range []bool{false, true} {
		runs := 0
		r := Search(t, Plan{Strategy: Exhaustive, Capacities: fixed(0, 0), AckWithTake: true, Setup: func(r *Run) {
			runs++
			run := runs
			client, _ := pair(r)
			r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "a") })
			r.Op("last", func(ctx context.Context) error {
				if run <= 2 {
					return nil
				}
				if fails {
					return errors.New("not the first times")
				}
				return client.tool(ctx, "b")
			}).AfterAll()
		}})
		if !fails && (r.Verdict != Pass || r.Ended != EndLost || r.Tried[0].All) || fails && r.Verdict != CheckFailed {
			t.Errorf("after %d runs: %s", runs, r.Text())
		}
		if r.Schedules != 2 { // the first teaches the walk which ends an operation touches
			t.Errorf("%d orders, want 2: a third would have shown it\n%s", r.Schedules, r.Text())
		}
	}
}

// The other capacities of a failure are visited, too.
func TestExhaustiveFailure(t *testing.T) {
	r := Search(t, Plan{Strategy: Exhaustive, Setup: eagerWriter(2), Schedules: 100})
	if want := "it depends on the buffer: hangs at 0 and 1, passes at unbounded (2 orders, all 1 order)"; r.Verdict != Hang || r.Slack != want {
		t.Errorf("%q, want %q\n%s", r.Slack, want, r.Text())
	}
	r = Explore(t, Plan{Strategy: Exhaustive, Setup: crossing(1), Schedules: 100})
	if r.Ended != EndSchedules || r.Schedules != 100 || r.Tried[2].Schedules != 33 || r.Tried[2].All {
		t.Error(r.Text())
	}
}
