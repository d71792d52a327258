package explore

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

func frame(s string) transport.Frame { return transport.Frame{Bytes: []byte(s)} }

func note(method string) transport.Frame {
	return frame(`{"jsonrpc":"2.0","method":"` + method + `"}`)
}

// At capacity k a Write returns with no reader for k frames, and not for more.
func TestCapacity(t *testing.T) {
	for _, k := range []int{0, 1, 3} {
		returned := 0
		r := Search(t, Plan{Capacities: fixed(k, 0), Schedules: 1, Shrink: -1, Setup: func(r *Run) {
			returned = 0
			r.Op("write", func(ctx context.Context) error {
				for {
					if err := r.Client().Write(ctx, note("x")); err != nil {
						return err
					}
					returned++
				}
			})
		}})
		if r.Verdict != Hang || r.Category != NeverSent || returned != k {
			t.Errorf("buffer %d: %d writes returned\n%s", k, returned, r.Text())
		}
	}
}

func TestFirstInFirstOut(t *testing.T) {
	Explore(t, Plan{Schedules: 100, Setup: func(r *Run) {
		r.Op("write", func(ctx context.Context) error {
			for _, s := range []string{"a", "b", "c", "d"} {
				if err := r.Client().Write(ctx, note(s)); err != nil {
					return err
				}
			}
			return r.Client().Close()
		})
		r.Op("read", func(ctx context.Context) error {
			got := ""
			for {
				f, err := r.Server().Read(ctx)
				if err == io.EOF && got == "abcd" {
					return nil
				}
				if err != nil {
					return errors.New(got + ": " + err.Error())
				}
				messages, _ := f.Messages()
				got += messages[0].Method
			}
		})
	}})
}

// A Write whose context ends before its frame is taken withdraws it.
func TestCancelledWrite(t *testing.T) {
	Explore(t, Plan{Setup: func(r *Run) {
		sent := 0
		r.Op("write", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			for range 2 {
				if err := r.Client().Write(ctx, note("x")); err != nil {
					break
				}
				sent++
			}
			return r.Client().Close()
		})
		r.Op("read", func(ctx context.Context) error {
			time.Sleep(2 * time.Second)
			for got := 0; ; got++ {
				if _, err := r.Server().Read(ctx); err != nil && got == sent {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
	}})
}

func TestCancelledRead(t *testing.T) {
	r := Explore(t, Plan{Setup: func(r *Run) {
		r.Op("read", func(ctx context.Context) error {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, err := r.Server().Read(short); !errors.Is(err, context.DeadlineExceeded) {
				return errors.New("the first Read got something")
			}
			_, err := r.Server().Read(ctx)
			return err
		})
		r.Op("write", func(ctx context.Context) error {
			time.Sleep(2 * time.Second)
			return r.Client().Write(ctx, note("x"))
		})
	}})
	if want := "nothing was enabled: a timer brought «c2s take x by write#1», after 2s of virtual time, at c2s=0 s2c=0"; len(r.Notes) != 3 || r.Notes[0] != want {
		t.Errorf("notes %q, want %q first", r.Notes, want)
	}
}

func TestClose(t *testing.T) {
	Explore(t, Plan{Setup: func(r *Run) {
		r.Op("own read", func(ctx context.Context) error {
			if _, err := r.Client().Read(ctx); !errors.Is(err, transport.ErrClosed) {
				return errors.New("a Read of the closed end did not end")
			}
			return nil
		})
		r.Op("far write", func(ctx context.Context) error {
			for {
				if err := r.Server().Write(ctx, note("x")); errors.Is(err, transport.ErrClosed) {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
		r.Op("close", func(context.Context) error {
			return errors.Join(r.Client().Close(), r.Client().Close())
		})
	}, Strategy: Random, Check: func(r *Run) error { return r.Err("close") }})
}

// Peers call Close with a mutex held that their other goroutines want: that must
// not freeze the bubble, and nothing moves at a closed end any more.
func TestCloseUnderMutex(t *testing.T) {
	Explore(t, Plan{Schedules: 100, Setup: func(r *Run) {
		var mu sync.Mutex
		r.Op("close", func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return r.Client().Close()
		})
		r.Op("write", func(ctx context.Context) error {
			mu.Lock()
			mu.Unlock() //lint:ignore SA2001 only to wait for the close
			if err := r.Client().Write(ctx, note("x")); err != nil && !errors.Is(err, transport.ErrClosed) {
				return err
			}
			return nil
		})
		r.Op("read", func(ctx context.Context) error {
			for {
				if _, err := r.Server().Read(ctx); err != nil {
					return nil
				}
			}
		})
	}})
}

// Keepalive alone does not hide a hang.
func TestKeepalive(t *testing.T) {
	t.Parallel()
	r := Search(t, Plan{Schedules: 1, Setup: func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			if m.Method == "ping" {
				server.answer(ctx, m, `{}`)
			}
		}
		r.Go(func(ctx context.Context) {
			tick := time.NewTicker(7 * time.Minute)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_, _ = client.call(ctx, "ping", `{}`)
				case <-ctx.Done():
					return
				}
			}
		})
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}})
	if r.Verdict != Hang || r.Category != AnswerLost || len(r.Sequence) != 3 ||
		!slices.Equal(r.Notes, []string{"for 24h0m0s of virtual time nothing but pings passed, 820 steps of them; the token leaves them in the default order"}) {
		t.Error(r.Text())
	}
}

// What pings do not explain is still told of a run in which they went on.
func TestKeepaliveKeepsNotes(t *testing.T) {
	t.Parallel()
	r := Search(t, Plan{Schedules: 1, Horizon: 90 * time.Minute, Setup: func(r *Run) {
		client, server := deaf(r)
		every(r, time.Minute, func(ctx context.Context, _ int) { _, _ = client.call(ctx, "ping", `{}`) })
		r.Go(func(ctx context.Context) {
			time.Sleep(time.Hour)
			_ = server.tell(ctx, "notifications/message")
		})
	}})
	want := "nothing was enabled: a timer brought «s2c take notifications/message#1», after 1h0m0s of virtual time"
	if r.Verdict != Hang || len(r.Notes) != 2 || r.Notes[1] != want {
		t.Error(r.Text())
	}
}

// An operation that only its own timeout ends is said to be so.
func TestTimerOnly(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Setup: func(r *Run) {
		client, server := pair(r)
		server.request = func(context.Context, transport.Message) {}
		r.Op("call", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return client.tool(ctx, "x")
		})
	}})
	if r.Verdict != CheckFailed || r.Category != TimerOnly || !strings.Contains(r.Text(), "after 1m0s of virtual time") {
		t.Error(r.Text())
	}
}

func TestUndecided(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Steps: 100, Setup: func(r *Run) {
		r.Op("write", func(ctx context.Context) error {
			for {
				if err := r.Client().Write(ctx, note("x")); err != nil {
					return err
				}
			}
		})
		r.Go(func(ctx context.Context) {
			for {
				if _, err := r.Server().Read(ctx); err != nil {
					return
				}
			}
		})
	}})
	if r.Verdict != Undecided || r.Steps != 100 {
		t.Error(r.Text())
	}
}

func TestPanic(t *testing.T) {
	boom := func(context.Context) { panic("boom") }
	for where, setup := range map[string]func(*Run){
		"Setup":              func(*Run) { panic("boom") },
		"a peer's goroutine": func(r *Run) { r.Go(boom) },
		"operation x":        func(r *Run) { r.Op("x", func(ctx context.Context) error { boom(ctx); return nil }) },
	} {
		r := Search(t, Plan{Setup: setup})
		if r.Verdict != Panic || r.Explanation != where+" panicked: boom" || !strings.Contains(r.Stacks[0], "engine_test.go") {
			t.Error(r.Text())
		}
	}
	r := Search(t, Plan{Setup: func(r *Run) {
		r.Op("x", func(context.Context) error { runtime.Goexit(); return nil })
	}})
	if r.Verdict != CheckFailed || !strings.Contains(r.Explanation, "runtime.Goexit") {
		t.Error(r.Text())
	}
}

// A goroutine that nothing ends is a verdict and does not end the process; one
// that only sleeps gets its time.
func TestLeak(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{Schedules: 6, Setup: func(r *Run) {
		r.Go(func(context.Context) { <-make(chan int) })
	}})
	if r.Verdict != Leak || r.Schedules != 1 || len(r.Stacks) != 1 || r.Shrunk.Held != verifications ||
		!strings.Contains(r.Explanation, "goroutines are left that nothing ends: [chan receive] explore.TestLeak") || !strings.Contains(r.Explanation, "Is a session left open? Close it in an operation with AfterAll") ||
		len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "goroutines were left in 6 of 6 orders") {
		t.Error(r.Text())
	}
	Explore(t, Plan{Schedules: 2000, Check: func(*Run) error { return nil }, Setup: func(r *Run) {
		r.Go(func(context.Context) { time.Sleep(5 * time.Hour) })
	}})
}

// A leak ends no search, in any strategy: what is worse is found after it, made as simple
// as without it, and followed.
func TestLeakGoesOn(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for _, strategy := range []Strategy{nil, Exhaustive} {
		r := Search(t, Plan{Strategy: strategy, Setup: func(r *Run) {
			r.Go(func(context.Context) { <-make(chan int) })
			order := ""
			for _, name := range []string{"a", "b"} {
				r.Op(name, func(context.Context) error {
					if order += name; order == "ba" {
						return errors.New("wrong order")
					}
					return nil
				})
			}
		}})
		if r.Verdict != CheckFailed || r.Schedules == 1 || !r.Leaked || r.Shrunk.To != 1 || r.Shrunk.Held != verifications || len(r.Tried) != 2 {
			t.Errorf("held %d of %d times\n%s", r.Shrunk.Held, r.Shrunk.Verified, r.Text())
		}
		if !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, "goroutines were left in ") }) {
			t.Errorf("no note of the leak:\n%s", r.Text())
		}
	}
}

// A leak that takes an order is made as simple as other failures, and followed.
func TestLeakShrinks(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{mostLeaks: 3, Shrink: 20, Setup: func(r *Run) {
		order := ""
		for _, name := range []string{"a", "b", "c", "d"} {
			r.Op(name, func(context.Context) error {
				if order += name; name == "a" && strings.Contains(order, "d") {
					go func() { <-make(chan int) }()
				}
				return nil
			})
		}
	}})
	if r.Verdict != Leak || r.Schedules == 1 || r.Shrunk.From < 2 || r.Shrunk.To != 1 || r.Shrunk.Held != verifications {
		t.Errorf("from %d to %d, held %d of %d times\n%s", r.Shrunk.From, r.Shrunk.To, r.Shrunk.Held, r.Shrunk.Verified, r.Text())
	}
}

// So many leaks are enough: each stays in the process.
func TestManyLeaks(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{mostLeaks: 4, Setup: func(r *Run) {
		r.Go(func(context.Context) { <-make(chan int) })
	}})
	if want := "goroutines were left in 4 of 4 orders; the search ended there"; r.Verdict != Leak || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Error(r.Text())
	}
}

// Setup runs before the engine does: to wait there for the other end is wrong.
func TestBlockedSetup(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{Setup: func(r *Run) { _ = r.Client().Write(r.Context(), note("x")) }})
	if r.Verdict != Leak || !strings.HasPrefix(r.Explanation, "Setup has not returned") ||
		len(r.Stacks) != 1 || !strings.Contains(r.Stacks[0], "engine_test.go") {
		t.Error(r.Text())
	}
}

// After any run, whatever its verdict, no goroutine of it is left.
func TestNothingLeft(t *testing.T) {
	bubbled := func() (n int) {
		for _, g := range stacks.Take() {
			if g.Bubble != "" {
				n++
			}
		}
		return n
	}
	before := bubbled() // by the tests above, which leak on purpose
	for _, bug := range planted {
		Search(t, Plan{Setup: bug.setup, Check: bug.check, Capacities: fixed(bug.capacity, bug.capacity), Schedules: 500})
	}
	if after := bubbled(); after != before {
		t.Errorf("%d goroutines in bubbles, before %d", after, before)
	}
}

// A verdict that changes with the capacity says so.
func TestTried(t *testing.T) {
	r := Search(t, Plan{Setup: headOn(1)})
	want := []Tried{{Capacity: Capacity{C2S: 1, S2C: 1}, Verdict: Pass, Schedules: 20}, {Capacity: Capacity{C2S: Unbounded, S2C: Unbounded}, Verdict: Pass, Schedules: 20}}
	if r.Verdict != Hang || r.Capacity != (Capacity{}) || !slices.Equal(r.Tried, want) {
		t.Error(r.Text())
	}
}

// Without acks of their own the register-after-write bug is out of reach.
func TestAckWithTake(t *testing.T) {
	Explore(t, Plan{Setup: registerAfterWrite(0), AckWithTake: true, Capacities: []Capacity{{C2S: 1, S2C: 1}, {C2S: Unbounded, S2C: Unbounded}}})
}

// Several goroutines may explore in one test at once: each gets its own verdict,
// and the leaks of one are not the others'.
func TestSideBySide(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	leaky := func(r *Run) {
		r.Go(func(context.Context) { <-make(chan int) })
	}
	var all sync.WaitGroup
	for range 4 {
		for verdict, setup := range map[string]func(*Run){Pass: conforming, Hang: seed(2, 0), Leak: leaky} {
			all.Go(func() {
				for i := range 30 {
					one := search{t: t, plan: withDefaults(Plan{Setup: setup})}
					r := one.run(Sweep[i%len(Sweep)], i)
					if r.outcome.verdict != verdict || r.outcome.verdict == Leak && len(r.outcome.stacks) != 1 {
						t.Errorf("verdict %s with stacks %q, want %s", r.outcome.verdict, r.outcome.stacks, verdict)
					}
					if verdict == Leak {
						return // one is enough: they stay
					}
				}
			})
		}
	}
	all.Wait()
}
