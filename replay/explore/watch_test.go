package explore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

var global sync.Mutex

// ownProcess is the variable of the environment that names the test which has its process to itself.
const ownProcess = "EXPLORE_ALONE"

// TestMain fails if the tests leave many goroutines behind: those stand in every look at the stacks
// that a later test takes. A hundred of them once cost half of the package's time.
func TestMain(m *testing.M) {
	status := m.Run()
	if left := runtime.NumGoroutine(); status == 0 && os.Getenv(ownProcess) == "" && left > 20 {
		fmt.Fprintf(os.Stderr, "the tests left %d goroutines behind: use inOwnProcess\n", left)
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		status = 1
	}
	os.Exit(status)
}

// inOwnProcess reports whether the test has its process to itself. Otherwise it runs the
// test in such a process, and the caller returns: which goroutines may hold a mutex is read
// from the stacks of the whole process, and what a run leaves behind stays in them and makes
// each later look at the stacks slower.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownProcess) == t.Name() {
		return true
	}
	t.Parallel() // the process of its own does the work
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v", "-test.cpu="+fmt.Sprint(runtime.GOMAXPROCS(0)))
	cmd.Env = append(os.Environ(), ownProcess+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// blocker is a holder that waits for ever with a mutex held, and one who wants it.
func blocker(hold func(ctx context.Context), before func()) func(*Run) {
	return func(r *Run) {
		var mu sync.Mutex
		r.Op("holder", func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			hold(ctx)
			return nil
		})
		r.Op("waiter", func(ctx context.Context) error {
			before()
			mu.Lock()
			defer mu.Unlock()
			return nil
		})
	}
}

func nothing() {}

// for ever, as long as the bubble lasts
func forEver(ctx context.Context) { <-ctx.Done() }

// crossed takes two mutexes in both orders.
func crossed(r *Run) {
	var a, b sync.Mutex
	both := func(first, second *sync.Mutex) func(context.Context) error {
		return func(ctx context.Context) error {
			first.Lock()
			defer first.Unlock()
			Point(ctx, "between")
			second.Lock()
			defer second.Unlock()
			return nil
		}
	}
	r.Op("ab", both(&a, &b))
	r.Op("ba", both(&b, &a))
}

// lend has goroutines from outside take a mutex, and keep it until the test ends.
func lend(t *testing.T) func(*Run) {
	lent, taken, until := make(chan *sync.Mutex), make(chan int), make(chan int)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			mu := <-lent
			mu.Lock()
			defer mu.Unlock()
			taken <- 1
			<-until
		})
	}
	t.Cleanup(func() {
		close(until)
		all.Wait()
	})
	return func(r *Run) {
		mu := new(sync.Mutex)
		r.Op("waiter", func(context.Context) error {
			lent <- mu
			<-taken
			mu.Lock()
			defer mu.Unlock()
			return nil
		})
	}
}

// A mutex whose holder waits for ever is a proved hang. What a timer might end is run again in
// real time. The rest is undecided.
func TestFreeze(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	foreign := make(chan int)
	for name, c := range map[string]struct {
		setup    func(*Run)
		verdict  string
		category string
		why      string
		note     string // of a run in real time
	}{
		"held for ever": {blocker(forEver, nothing), Hang, Lock, "nobody is left who could unlock it", ""},
		"crossed":       {crossed, Hang, Lock, "nobody is left who could unlock it", ""},
		"sleeper":       {blocker(func(context.Context) { time.Sleep(5 * time.Millisecond) }, nothing), Pass, "", "", " sleeps"},
		"deadline": {blocker(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			<-ctx.Done()
		}, nothing), Pass, "", "", "waits for a mutex"},
		"timer of the last step": {func(r *Run) {
			release := make(chan int)
			blocker(func(context.Context) { <-release }, func() {
				time.AfterFunc(5*time.Millisecond, func() { close(release) })
			})(r)
		}, Pass, "", "", "waits for a mutex"},
		"timer of Setup": {func(r *Run) {
			release := make(chan int)
			time.AfterFunc(time.Millisecond, func() { close(release) })
			blocker(func(context.Context) { <-release }, nothing)(r)
		}, Pass, "", "", "waits for a mutex"},
		"polling": {func(r *Run) {
			var stop atomic.Bool
			blocker(func(context.Context) {
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for !stop.Load() {
					<-tick.C
				}
			}, func() { stop.Store(true) })(r)
		}, Pass, "", "", "waits for a mutex"},
		"sleeper of the last step": {func(r *Run) {
			release := make(chan int)
			blocker(func(context.Context) { <-release }, func() {
				go func() {
					time.Sleep(5 * time.Millisecond)
					close(release)
				}()
			})(r)
		}, Pass, "", "", " sleeps"},
		"mutex of others": {func(r *Run) {
			r.Op("waiter", func(ctx context.Context) error {
				global.Lock()
				global.Unlock() //lint:ignore SA2001 only to wait
				return nil
			})
		}, Undecided, "", "The stacks do not tell whether the mutex is the run's own", ""},
		"something to do": {func(r *Run) {
			blocker(forEver, nothing)(r)
			r.Op("third", func(context.Context) error { return nil })
		}, Hang, Lock, "nobody is left who could unlock it", ""},
		"foreign channel": {func(r *Run) {
			r.Op("waiter", func(context.Context) error { <-foreign; return nil })
		}, Undecided, "", "something that is not of the bubble. What is outside the bubble may end that", ""},
		"in Setup": {func(r *Run) { <-foreign }, Undecided, "", "This is in Setup, which must not wait", ""},
	} {
		t.Run(name, func(t *testing.T) {
			global.Lock()
			defer global.Unlock()
			r := Search(t, Plan{Setup: c.setup, Schedules: 1, Patience: 150 * time.Millisecond})
			notes := strings.Join(r.Notes, "\n")
			if real := strings.Contains(notes, "so 1 order at 0 ran in real time"); real != (c.note != "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", r.Notes, c.note)
			}
			if r.Verdict != c.verdict || r.Category != c.category || !strings.Contains(r.Explanation, c.why) || r.Leaked != (r.Verdict != Pass) {
				t.Errorf("want %s %s %q\n%s", c.verdict, c.category, c.why, r.Text())
			}
		})
	}
}

// Nobody knows whose a mutex is while there is somebody outside.
func TestFreezeLent(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{Setup: lend(t), Token: "mcprec1.0-0.delivery.a.default", Patience: 150 * time.Millisecond})
	if r.Verdict != Undecided || !strings.Contains(r.Explanation, " is outside the bubble, and may hold the mutex") {
		t.Error(r.Text())
	}
}

// Somebody outside the bubble may hold its mutex while he works: the run is given
// up later then.
func TestFreezeOf(t *testing.T) {
	const mark, other = "synctest bubble 1", "synctest bubble 2"
	self := stacks.Goroutine{ID: 1, State: "running"}
	lock := stacks.Goroutine{ID: 2, State: "sync.Mutex.Lock", Bubble: mark}
	wait := stacks.Goroutine{ID: 3, State: "select", Durable: true, Bubble: mark}
	terms := &terms{plan: &Plan{Patience: time.Hour}, watches: true}
	for name, c := range map[string]struct {
		all      stacks.Dump
		patience time.Duration // 0: no freeze
	}{
		"alone":             {stacks.Dump{self, lock, wait}, 10 * firstLook},
		"engine":            {stacks.Dump{self, lock, {ID: 4, State: "synctest.Wait", Durable: true, Bubble: mark}}, 10 * firstLook},
		"engine runs":       {stacks.Dump{self, lock, {ID: 4, State: "runnable", Bubble: mark, Text: "x.(*bubble).passTime("}}, 0},
		"nobody at a mutex": {stacks.Dump{self, wait}, 0},
		"somebody runs":     {stacks.Dump{self, lock, {ID: 4, State: "runnable", Bubble: mark}}, 0},
		"unknown state":     {stacks.Dump{self, lock, {ID: 4, State: "dreaming", Bubble: mark}}, 0},
		"others wait":       {stacks.Dump{self, lock, {ID: 4, State: "chan receive"}}, time.Hour},
		"other bubbles":     {stacks.Dump{self, lock, {ID: 5, State: "synctest.Wait", Bubble: other}}, 10 * firstLook},
		"others run":        {stacks.Dump{self, lock, {ID: 4, State: "runnable", Bubble: other}}, time.Hour},
		"others sleep":      {stacks.Dump{self, lock, {ID: 4, State: "sleep"}}, time.Hour},
		"foreign channel":   {stacks.Dump{self, {ID: 4, State: "chan receive", Bubble: mark}}, time.Hour},
		"I/O":               {stacks.Dump{self, {ID: 4, State: "IO wait", Bubble: mark}}, time.Hour},
		"a sleeper":         {stacks.Dump{self, lock, {ID: 4, State: "sleep", Durable: true, Bubble: mark}}, 10 * firstLook},
	} {
		var patience time.Duration
		if f := freezeOf(c.all, mark); f.frozen() {
			patience = f.patience(terms)
		}
		if patience != c.patience {
			t.Errorf("%s: patience %v, want %v", name, patience, c.patience)
		}
	}
}

// compute takes a while, and finds nothing wrong.
func compute() error {
	n := uint64(0)
	for n < 300_000_000 {
		n += 1 + n>>63
	}
	if n == 0 {
		return errors.New("nothing was computed")
	}
	return nil
}

// throughPipe sends lines through a pipe of the peers' own.
func throughPipe(w io.WriteCloser, in io.Reader) func(*Run) {
	return func(r *Run) {
		r.Op("write", func(context.Context) error {
			for range 3 {
				if _, err := io.WriteString(w, "line\n"); err != nil {
					return err
				}
			}
			return w.Close()
		})
		r.Op("read", func(context.Context) error {
			n := 0
			for lines := bufio.NewScanner(in); lines.Scan(); n++ {
			}
			if n != 3 {
				return fmt.Errorf("%d lines", n)
			}
			return nil
		})
	}
}

// What takes its time, or waits for who is on the way, is not frozen.
func TestNotFrozen(t *testing.T) {
	for name, setup := range map[string]func(*Run){
		"computing": func(r *Run) {
			r.Op("spin", func(context.Context) error { return compute() })
		},
		"net.Pipe": func(r *Run) {
			near, far := net.Pipe()
			throughPipe(near, far)(r)
		},
		"io.Pipe": func(r *Run) {
			in, w := io.Pipe()
			throughPipe(w, in)(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			Explore(t, Plan{Setup: setup, Schedules: 2})
		})
	}
}

// A wait for what is outside ends when that comes.
func TestServedFromOutside(t *testing.T) {
	wanted, served := make(chan int), make(chan error)
	go func() {
		<-wanted
		served <- compute()
	}()
	Explore(t, Plan{Schedules: 1, Setup: func(r *Run) {
		r.Op("waiter", func(context.Context) error {
			wanted <- 1
			return <-served
		})
	}})
}

// A hang stays one whose bubble freezes when its end is to come, and is not
// followed again: each time would leave goroutines behind.
func TestFreezeAtTheEnd(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	runs := 0
	r := Search(t, Plan{Patience: 50 * time.Millisecond, Setup: func(r *Run) {
		runs++
		var mu sync.Mutex
		r.Op("call", func(ctx context.Context) error {
			mu.Lock()
			_, err := r.Client().Read(ctx)
			<-make(chan int) // with the mutex
			return err
		})
		r.Go(func(ctx context.Context) {
			<-ctx.Done()
			mu.Lock()
			mu.Unlock() //lint:ignore SA2001 only to wait
		})
	}})
	if r.Verdict != Hang || r.Category != NeverSent || !r.Leaked || runs != 1 ||
		len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "its bubble could not be emptied: ") {
		t.Errorf("%d runs\n%s", runs, r.Text())
	}
}

// spin computes until the test is over, and lets others do so.
func spin(over *atomic.Bool) {
	for !over.Load() {
		runtime.Gosched()
	}
}

// A peer that computes for ever leaves a run undecided, in every engine and wherever
// it does so; one that computes for long does not.
func TestBusy(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	var over atomic.Bool
	defer over.Store(true)
	client := func(r *Run) {
		server := newPeer(r.Server())
		server.inline = true
		server.request = func(context.Context, transport.Message) { spin(&over) }
		r.Go(server.read)
		r.Op("call", func(ctx context.Context) error { return newPeer(r.Client()).tool(ctx, "x") })
	}
	for name, plan := range map[string]Plan{
		"bubble": {Setup: client},
		"settle": {Setup: client, Engine: Settle},
		"Setup":  {Setup: func(*Run) { spin(&over) }},
	} {
		says := ""
		if name != "Setup" {
			says = "when the run was given up there was something to do: «c2s ack tools/call"
		}
		plan.Schedules, plan.stamina = 1, 300*time.Millisecond
		r := Search(t, plan)
		if r.Verdict != Undecided || !r.Leaked || !r.Busy || !strings.Contains(r.Explanation, "spin watch_test.go:") || !strings.Contains(r.Explanation, "is still computing") ||
			!strings.Contains(strings.Join(r.Notes, "\n"), says) {
			t.Errorf("%s: %s", name, r.Text())
		}
	}
	done := false
	r := Search(t, Plan{Schedules: 1, stamina: time.Hour, Setup: func(r *Run) {
		r.Op("long", func(context.Context) error {
			for range 1_000_000 {
				runtime.Gosched()
			}
			done = true
			return nil
		})
	}})
	if r.Verdict != Pass || !done {
		t.Error(r.Text())
	}
}
