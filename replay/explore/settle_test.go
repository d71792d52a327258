package explore

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// A hang is a stall here, of the same category, and a token gives it again.
func TestStall(t *testing.T) {
	for _, bug := range planted {
		if bug.verdict != Hang || strings.Contains(bug.name, "stray output") {
			continue
		}
		p := Plan{Setup: bug.setup, Engine: Settle, Capacities: fixed(bug.capacity, bug.capacity), Schedules: 50, Shrink: -1, Patience: 20 * time.Millisecond}
		r := Search(t, p)
		if r.Verdict != Stall || r.Category != bug.category || !strings.Contains(r.Token, ".b.") || r.Leaked || len(r.Notes) > 0 {
			t.Errorf("%s: want %s %s\n%s", bug.name, Stall, bug.category, r.Text())
		}
		again := Search(t, Plan{Setup: bug.setup, Token: r.Token, Patience: 20 * time.Millisecond})
		if again.Verdict != Stall || again.Category != bug.category || again.Token != r.Token {
			t.Errorf("%s: the token gives\n%s", bug.name, again.Text())
		}
	}
	r := Search(t, Plan{Setup: seed(2, 0), Engine: Settle, Schedules: 1, Patience: 20 * time.Millisecond})
	if r.Verdict != Stall || r.Category != BehindNotification {
		t.Error(r.Text())
	}
}

func TestSettledConforming(t *testing.T) {
	Explore(t, Plan{Setup: conforming, Engine: Settle, Schedules: scale(20, 60)})
}

var outside = make(chan int)

// What a bubble cannot see the end of, real time ends.
func TestSettledOutside(t *testing.T) {
	for name, setup := range map[string]func(*Run){
		"sleeper with a mutex": blocker(func(context.Context) { time.Sleep(time.Millisecond) }, nothing),
		"mutex over a Write": func(r *Run) {
			var mu sync.Mutex
			for _, name := range []string{"a", "b"} {
				r.Op(name, func(ctx context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					return r.Client().Write(ctx, note(name))
				})
			}
			r.Op("read", func(ctx context.Context) error {
				_, err := r.Server().Read(ctx)
				_, err2 := r.Server().Read(ctx)
				return errors.Join(err, err2)
			})
		},
		"channel of the package": func(r *Run) {
			r.Go(func(ctx context.Context) {
				select {
				case outside <- 1:
				case <-ctx.Done():
				}
			})
			r.Op("a", func(context.Context) error { <-outside; return nil })
		},
		"pipe of the system": func(r *Run) {
			in, out, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			throughPipe(out, in)(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			Explore(t, Plan{Setup: setup, Engine: Settle, Schedules: 6})
		})
	}
}

func TestSettledVerdicts(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	block := make(chan int)
	for name, c := range map[string]struct {
		plan    Plan
		verdict string
		why     string
	}{
		"leak": {Plan{Setup: func(r *Run) {
			r.Go(func(context.Context) { <-block })
		}}, Leak, "goroutines are left that nothing ends"},
		"leak asleep": {Plan{Patience: time.Millisecond, Setup: func(r *Run) {
			r.Go(func(context.Context) { time.Sleep(time.Hour) })
		}}, Undecided, "sleeps, still after 1ms"},
		"sleeper": {Plan{Patience: time.Millisecond, Setup: func(r *Run) {
			r.Op("sleep", func(context.Context) error { time.Sleep(time.Hour); return nil })
		}}, Undecided, "sleeps, still after 1ms, which may end"},
		"Setup": {Plan{Setup: func(r *Run) { _ = r.Client().Write(r.Context(), note("x")) }}, Leak, "Setup has not returned"},
		"panic": {Plan{Setup: func(r *Run) {
			r.Op("x", func(context.Context) error { panic("boom") })
		}}, Panic, "operation x panicked: boom"},
		"check": {Plan{Setup: conforming, Check: func(*Run) error { return errors.New("bad") }}, CheckFailed, "bad"},
		"mutex": {Plan{Setup: blocker(forEver, nothing)}, Stall, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.plan.Engine, c.plan.Schedules = Settle, 1
			if c.plan.Patience == 0 {
				c.plan.Patience = 50 * time.Millisecond
			}
			r := Search(t, c.plan)
			if r.Verdict != c.verdict || !strings.Contains(r.Explanation, c.why) {
				t.Errorf("want %s, %q\n%s", c.verdict, c.why, r.Text())
			}
		})
	}
}

// afterAll has a client wait on a timer that stacks do not show.
func afterAll(r *Run) {
	r.Op("wait", func(ctx context.Context) error {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	})
	r.Go(func(ctx context.Context) {
		<-ctx.Done()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-make(chan int):
		}
	})
}

// A timer in a select is no stall and no leak: each gets the plan's patience.
func TestSettledTimer(t *testing.T) {
	Explore(t, Plan{Setup: afterAll, Engine: Settle, Schedules: 3})
	Explore(t, Plan{Setup: func(r *Run) { afterAll(r); <-time.After(20 * time.Millisecond) }, Engine: Settle, Schedules: 1})
	Explore(t, Plan{Setup: afterAll, Token: "mcprec1.0-0.delivery.b.default"})
}

// The first standstill gets all patience, the others as much as timers take.
func TestGrace(t *testing.T) {
	var g grace
	if left := g.left(time.Hour); left != time.Hour {
		t.Error("first:", left)
	}
	g.given = true
	if left := g.left(time.Hour); left != 0 {
		t.Error("nothing ever came:", left)
	}
	g.longest = max(g.longest, time.Second)
	g.longest = max(g.longest, time.Millisecond)
	if left := g.left(time.Hour); left != 4*time.Second {
		t.Error("something came:", left)
	}
	if left := g.left(time.Second); left != time.Second {
		t.Error("more than patience:", left)
	}
}

// The goroutine that the first signal.Notify of a process starts is not of the run.
func TestSettledSignal(t *testing.T) {
	Explore(t, Plan{Engine: Settle, Schedules: 2, stamina: time.Second, Setup: func(r *Run) {
		r.Op("notify", func(context.Context) error {
			c := make(chan os.Signal, 1)
			signal.Notify(c, os.Interrupt)
			signal.Stop(c)
			return nil
		})
	}})
}

// A goroutine of which nobody knows who started it is a leak if it has the run's label.
func TestSettledOrphans(t *testing.T) {
	until := make(chan int)
	defer close(until)
	orphan := func() {
		gone := make(chan int)
		go func() {
			defer close(gone)
			go func() {
				go func() { <-until }()
			}()
		}()
		<-gone
	}
	asked, made := make(chan int), make(chan int)
	go func() {
		for range asked {
			orphan()
			made <- 1
		}
	}()
	defer close(asked)
	for whose, c := range map[string]struct {
		setup   func(*Run)
		verdict string
	}{
		"the run's": {func(r *Run) { r.Op("x", func(context.Context) error { orphan(); return nil }) }, Leak},
		"others'": {func(r *Run) {
			r.Op("x", func(context.Context) error { asked <- 1; <-made; return nil })
		}, Pass},
	} {
		r := Search(t, Plan{Setup: c.setup, Engine: Settle, Schedules: 1, Patience: 20 * time.Millisecond})
		if r.Verdict != c.verdict {
			t.Errorf("%s: want %s\n%s", whose, c.verdict, r.Text())
		}
	}
}

// Who is not of the run and does something may end its standstill.
func TestSettledOther(t *testing.T) {
	over, in := make(chan int), make(chan int)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(over)
		close(in)
		_, _ = out.Read(make([]byte, 1))
	}()
	defer func() {
		w.Close()
		<-over
	}()
	<-in
	r := Search(t, Plan{Setup: seed(2, 0), Engine: Settle, Schedules: 1, Patience: time.Millisecond})
	if r.Verdict != Undecided || !strings.Contains(r.Explanation, "is not of the run") {
		t.Error(r.Text())
	}
}

// Goroutines of a run are those that come from it, and those of which nobody knows.
func TestOwns(t *testing.T) {
	s := settled{known: map[int]bool{1: false, 2: true}, doubt: map[int]bool{}} // 2 is of the run
	all := map[int]stacks.Goroutine{}
	for _, g := range []stacks.Goroutine{
		{ID: 1}, {ID: 2, Parent: 1}, {ID: 3, Parent: 1}, {ID: 4, Parent: 3}, {ID: 5, Parent: 2}, {ID: 6, Parent: 5},
		{ID: 7, Parent: 99}, {ID: 8}, {ID: 9, Parent: 2, Bubble: "synctest bubble 4"},
	} {
		all[g.ID] = g
	}
	for id, want := range map[int]bool{1: false, 2: true, 3: false, 4: false, 5: true, 6: true, 7: true, 8: true, 9: false} {
		if got := s.owns(all[id], all); got != want {
			t.Errorf("goroutine %d: %v, want %v", id, got, want)
		}
	}
	if !s.doubt[7] || !s.doubt[8] || s.doubt[5] || s.doubt[6] || s.doubt[4] {
		t.Error("in doubt:", s.doubt)
	}
	delete(all, 4)
	all[10] = stacks.Goroutine{ID: 10, Parent: 4} // 4 has ended, and is remembered
	if s.owns(all[10], all) {
		t.Error("the child of a goroutine of others counts as the run's")
	}
}
