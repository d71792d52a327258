package explore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// strict is a client that takes a response which it does not wait for as the end of the
// session. Its first call has a deadline, and the server answers at once.
func strict(r *Run) {
	client, _ := pair(r)
	client.stray = func() { _ = client.conn.Close() }
	r.Op("impatient", func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		if err := client.tool(ctx, "slow"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	})
	r.Op("next", func(ctx context.Context) error { return client.tool(ctx, "next") }).After("impatient")
}

// debounced is a server that tells of a change 10 ms after the last one, and a client that
// keeps a list which is older than that message.
func debounced(r *Run) {
	client, server := pair(r)
	version, known, stale := "1", "", false
	r.Data = func() bool { return stale || known == version }
	server.request = func(ctx context.Context, m transport.Message) { server.answer(ctx, m, version) }
	client.notify = func(context.Context, transport.Message) { stale = true }
	r.Op("list", func(ctx context.Context) error {
		result, err := client.call(ctx, "tools/list", `{}`)
		known, stale = string(result), false
		return err
	})
	r.Op("change", func(ctx context.Context) error {
		version = "2"
		time.AfterFunc(10*time.Millisecond, func() { _ = server.tell(r.Context(), "notifications/tools/list_changed") })
		return nil
	})
	r.ClientMustReceive("notifications/tools/list_changed").Since("change")
}

// hurried is a call whose deadline is the test's own.
func hurried(r *Run) {
	client, _ := pair(r)
	r.Op("call", func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		return client.tool(ctx, "x")
	})
}

// TestTimers: bugs that need a timer to fire while a frame is on its way.
func TestTimers(t *testing.T) {
	t.Parallel()
	for name, bug := range map[string]struct {
		setup func(*Run)
		check func(*Run) error
		says  []string
	}{
		"a response after its deadline": {strict, nil, []string{
			": 5s passed while «", "time passes (timer 1) ", "time passes: 5s, until timer 1 fires", "then operation impatient returned", "woken: [select] explore.(*peer).call peers_test.go:"}},
		"a debounced list_changed": {debounced, checkFresh, []string{
			": 10ms passed while «", "time passes (timer 1) ", "time passes: 10ms, until timer 1 fires", "then the server wrote notifications/tools/list_changed#1"}},
		"a deadline of the test's own": {hurried, nil, []string{
			"operation call: context deadline exceeded", "time passed while messages waited:", `tools/call "x" by call#1»`,
			"then operation call returned: context deadline exceeded",
			"note: a timer fired while messages waited, as the plan's Timers allow"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{Setup: bug.setup, Check: bug.check, Schedules: 2000}
			if r := Search(t, p); r.Verdict != Pass || len(r.Timers) > 0 || r.Coverage.Timed > 0 {
				t.Errorf("without timers\n%s", r.Text())
			}
			p.Timers = 2
			var needed []int
			for p.Seed = range uint64(scale(3, 31)) {
				r := Search(t, p)
				needed = append(needed, r.Schedules)
				if r.Verdict == Pass || r.Shrunk.Held != 20 || len(r.Timers) != 1 {
					t.Fatalf("seed %d\n%s", p.Seed, r.Text())
				}
				for _, part := range bug.says {
					if !strings.Contains(r.Text(), part) {
						t.Errorf("seed %d: %q is not said\n%s", p.Seed, part, r.Text())
					}
				}
			}
			slices.Sort(needed)
			t.Logf("median %d, worst %d of %d seeds", needed[len(needed)/2], needed[len(needed)-1], len(needed))
			if median := needed[len(needed)/2]; median > 250 {
				t.Errorf("median of %d seeds: %d orders, want at most 250", len(needed), median)
			}
		})
	}
}

// restless is a pair with a deadline, a retry, a debounced message and a heartbeat each way.
func restless(r *Run) {
	client, server := pair(r)
	for name, end := range map[string]*peer{"c": client, "s": server} {
		every(r, 7*time.Second, func(ctx context.Context, _ int) { _ = end.tell(ctx, "notifications/beat/"+name) })
	}
	r.Op("call", func(ctx context.Context) error {
		for range 3 {
			ctx, stop := context.WithTimeout(ctx, 5*time.Second)
			err := client.tool(ctx, "slow")
			stop()
			if err == nil {
				return nil
			}
			time.Sleep(time.Second)
		}
		return nil
	})
	r.Op("change", func(ctx context.Context) error {
		time.AfterFunc(10*time.Millisecond, func() { _ = server.tell(r.Context(), "notifications/tools/list_changed") })
		return client.tool(ctx, "other")
	})
}

// passed says what the Time steps of a run brought, without what a traced run alone sees.
func passed(r *Run) (text string) {
	for _, p := range r.clock.timers.passages {
		untraced := *p
		untraced.woken = nil
		text += untraced.String() + "\n"
	}
	return text
}

// last is the strategy that lets time pass as soon as it may.
var last = StrategyFunc(func(uint64, int, int) Chooser {
	return func(_ int, enabled []Step) int {
		if i := len(enabled) - 1; enabled[i].Kind == gate.Time {
			return i
		}
		return 0
	}
})

// TestTimersBounded: neither heartbeats nor peers without a timer make a run endless, and time
// does not pass twice for nothing.
func TestTimersBounded(t *testing.T) {
	for _, test := range []struct {
		name        string
		setup       func(*Run)
		most        int
		fired, idle int
	}{
		{"heartbeats", restless, 4, 4, 1},
		{"no timer", conforming, 4, 0, mostIdle},
		{"recorded ends alone", func(r *Run) { r.RecordedServer(); r.RecordedClient() }, 4, 0, 0},
	} {
		one := search{t: t, plan: withDefaults(Plan{
			Setup: test.setup, Session: recording("> 1:a\n> 2:b\n< 1=\n< 2="), Timers: test.most, Strategy: last, Lawless: true})}
		r := one.run(Capacity{}, 0)
		idle := len(r.clock.timers.passages) - r.clock.timers.fired
		if r.outcome.verdict != Pass || r.clock.timers.fired != test.fired || idle != test.idle {
			t.Errorf("%s: %s, %d timers fired, %d times none\n%s", test.name, r.outcome.verdict, r.clock.timers.fired, idle, strings.Join(namesOf(r), "\n"))
		}
		for i, p := range r.clock.timers.passages {
			if i > 0 && !p.fired && p.step == r.clock.timers.passages[i-1].step+1 && !r.clock.timers.passages[i-1].fired {
				t.Errorf("%s: time passed for nothing at step %d, and again", test.name, p.step)
			}
			if p.passed > longestPassage {
				t.Errorf("%s: %v passed at step %d", test.name, p.passed, p.step)
			}
		}
	}
}

// TestTimersTakenBack: a Write or a Read that gives up at its deadline is seen, though its
// goroutine does nothing else at the gate.
func TestTimersTakenBack(t *testing.T) {
	for name, do := range map[string]func(context.Context, transport.Conn){
		"c2s took back": func(ctx context.Context, conn transport.Conn) {
			_ = conn.Write(ctx, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","method":"notifications/a"}`)})
		},
		"used the transport": func(ctx context.Context, conn transport.Conn) { _, _ = conn.Read(ctx) },
		"c2s point":          func(ctx context.Context, _ transport.Conn) { Point(ctx, "here") },
	} {
		one := search{t: t, plan: withDefaults(Plan{Timers: 1, Setup: func(r *Run) {
			r.Go(func(ctx context.Context) {
				ctx, stop := context.WithTimeout(ctx, time.Second)
				defer stop()
				do(ctx, r.Client())
				<-r.Context().Done()
			})
			r.Op("wait", func(context.Context) error { return nil })
		}})}
		r := one.newRun(Capacity{})
		r.course.chooser = last.Begin(0, 0, 0)
		r.play(t)
		if p := r.clock.timers.passages; len(p) != 1 || !p[0].fired || p[0].passed != time.Second {
			t.Errorf("%s: %s", name, passed(r))
		}
	}
}

// lockingTimer is a pair in which the client's mutex is held across a Write, and a timer of it takes
// the mutex.
func lockingTimer(r *Run) {
	client, _ := pair(r)
	var mu sync.Mutex
	tell := func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return client.tell(ctx, "notifications/a")
	}
	r.Op("tell", func(ctx context.Context) error {
		time.AfterFunc(time.Second, func() { _ = tell(r.Context()) })
		return tell(ctx)
	})
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// TestTimersMutex: a timer that wakes a goroutine at a mutex stops virtual time. The run goes on
// without Time steps, and is no hang, with and without workers.
func TestTimersMutex(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	var notes []string
	for _, workers := range []int{1, 4} {
		r := Search(t, Plan{Setup: lockingTimer, Timers: 2, Schedules: 60, Workers: workers})
		if r.Verdict != Pass || r.Engine != "" || r.Schedules != 60 || !strings.Contains(r.Text(), "that stops virtual time") {
			t.Errorf("%d workers\n%s", workers, r.Text())
		}
		notes = append(notes, r.Text())
	}
	if notes[0] != notes[1] {
		t.Errorf("with workers\n%s\nwithout\n%s", notes[1], notes[0])
	}
}

// TestTimersSettled: where time is real, no step lets it pass.
func TestTimersSettled(t *testing.T) {
	r := Search(t, Plan{Setup: conforming, Engine: Settle, Timers: 3, Strategy: last, Schedules: 2})
	if r.Verdict != Pass || r.Coverage.Timed > 0 {
		t.Error(r.Text())
	}
}

// TestTimersWorkers: a schedule with Time steps depends on its number alone.
func TestTimersWorkers(t *testing.T) {
	p := Plan{Setup: strict, Timers: 2, Schedules: 2000, Shrink: -1}
	want := Search(t, p)
	p.Workers = 4
	if got := Search(t, p); got.Token != want.Token || got.Schedules != want.Schedules {
		t.Errorf("with workers\n%s\nwant\n%s", got.Text(), want.Text())
	}
}

// TestTimersExhaustive: all orders include those in which a timer fires.
func TestTimersExhaustive(t *testing.T) {
	p := Plan{Setup: hurried, Capacities: fixed(0, 0), Strategy: Exhaustive, Schedules: 5000}
	if r := Search(t, p); r.Verdict != Pass || r.Ended != EndVisited {
		t.Errorf("without timers\n%s", r.Text())
	}
	p.Timers = 1
	if r := Search(t, p); r.Verdict != CheckFailed || len(r.Timers) == 0 {
		t.Errorf("with timers\n%s", r.Text())
	}
	p.Check = func(*Run) error { return nil }
	if r := Search(t, p); r.Verdict != Pass || r.Ended != EndVisited || r.Coverage.Fired == 0 {
		t.Errorf("without a check\n%s", r.Text())
	}
}

// A note about a timer names the operations that the timer ended, not one that had returned
// before.
func TestTimerNote(t *testing.T) {
	p := Plan{Strategy: Eager, Capacities: fixed(0, 0), Setup: func(r *Run) {
		for _, name := range []string{"slow", "slower"} {
			r.Op(name, func(context.Context) error { time.Sleep(time.Second); return errors.New("too late") })
		}
		r.Op("quick", func(context.Context) error { return nil })
	}}
	want := "nothing was enabled: a timer alone ended operations slow, slower, after 1s of virtual time"
	if r := Search(t, p); !slices.Contains(r.Notes, want) {
		t.Errorf("want the note %q\n%s", want, r.Text())
	}
}
