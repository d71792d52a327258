package explore

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// lockedConn is written to with a mutex held, as in most Go peers.
type lockedConn struct {
	transport.Conn
	mu *sync.Mutex
}

func (c lockedConn) Write(ctx context.Context, frame transport.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.Write(ctx, frame)
}

// locking is a pair with four calls, both ends of which write with a mutex held.
func locking(r *Run) (server *peer) {
	client := newPeer(lockedConn{r.Client(), new(sync.Mutex)})
	server = newPeer(lockedConn{r.Server(), new(sync.Mutex)})
	r.Go(client.read)
	r.Go(server.read)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
	}
	return server
}

// losing drops the answer to a call that comes second, after c.
func losing(r *Run) {
	server := locking(r)
	order := ""
	server.inline = true
	server.request = func(ctx context.Context, m transport.Message) {
		order += string(transport.Member(m.Params, "name")[1:2])
		if order != "ca" {
			go server.answer(ctx, m, `{}`)
		}
	}
}

// holding sleeps with a mutex that another operation wants: in virtual time, for ever.
func holding(r *Run) {
	mu := new(sync.Mutex)
	server := newPeer(r.Server())
	r.Go(server.read)
	client := newPeer(r.Client())
	r.Go(client.read)
	for _, name := range []string{"a", "b"} {
		r.Op(name, func(ctx context.Context) error {
			mu.Lock()
			time.Sleep(time.Millisecond)
			mu.Unlock()
			return client.tool(ctx, name)
		})
	}
}

// A mutex held over a Write ends no search, at no capacity: healthy peers pass, in virtual time.
func TestMutexOverWrite(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for _, strategy := range []Strategy{nil, Exhaustive} {
		r := Search(t, Plan{Strategy: strategy, Schedules: 20, Setup: func(r *Run) { locking(r) }})
		if r.Verdict != Pass || r.Schedules != 20 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "in ") ||
			!strings.Contains(r.Notes[0], " orders a goroutine waited at explore.lockedConn.Write fallback_test.go:") {
			t.Error(r.Text())
		}
	}
}

// Bugs behind such a mutex are found and proved, and their tokens hold, also in a search of
// their own that begins with the fast way to see a bubble at rest.
func TestBugsBehindMutex(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	headsOn := func(r *Run) { // the client's reader waits for a mutex, and its holder for the server
		client, server := newPeer(lockedConn{r.Client(), new(sync.Mutex)}), newPeer(lockedConn{r.Server(), new(sync.Mutex)})
		client.inline, server.inline = true, true
		r.Go(client.read)
		r.Go(server.read)
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
		r.Op("note", func(ctx context.Context) error { return client.tell(ctx, "notifications/roots/list_changed") })
		r.Op("ask", func(ctx context.Context) error { _, err := server.call(ctx, "ping", `{}`); return err })
	}
	for category, setup := range map[string]func(*Run){AnswerLost: losing, Lock: headsOn} {
		r := Search(t, Plan{Setup: setup})
		again := Search(t, Plan{Setup: setup, Token: r.Token})
		if r.Verdict != Hang || r.Category != category || category != Lock && r.Shrunk.Held != verifications || again.Verdict != Hang || again.Category != category {
			t.Errorf("want %s\n%s\n%s", category, r.Text(), again.Text())
		}
	}
}

// Where time would have to pass while a mutex is waited for, the search goes on in real time, and
// what it finds does not depend on the workers.
func TestMutexOverTime(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for _, workers := range []int{1, 4} {
		r := Search(t, Plan{Setup: holding, Workers: workers, Schedules: 9, Patience: 100 * time.Millisecond})
		want := "a mutex froze virtual time, so 3 orders at 0, 3 orders at 1, 3 orders at unbounded ran in real time (engine b)"
		if r.Verdict != Pass || r.Schedules != 9 || !strings.Contains(strings.Join(r.Notes, "\n"), want) {
			t.Error(r.Text())
		}
	}
}

// A goroutine that assists the garbage collector shows no bubble, and runs all the same.
func TestAstray(t *testing.T) {
	const mark = "synctest bubble 1"
	engine := stacks.Goroutine{ID: 1, State: "running", Bubble: mark, Text: "engine"}
	peer := stacks.Goroutine{ID: 2, Parent: 1, State: "select", Durable: true, Bubble: mark, Text: "peer"}
	outside := stacks.Goroutine{ID: 9, State: "chan receive", Text: "test"}
	for name, c := range map[string]struct {
		stray stacks.Goroutine
		want  bool
	}{
		"a peer's":          {stacks.Goroutine{ID: 3, Parent: 2, State: "runnable"}, true},
		"seen before":       {stacks.Goroutine{ID: 4, Parent: 8, State: "GC assist wait"}, true},
		"parent has ended":  {stacks.Goroutine{ID: 3, Parent: 7, State: "runnable"}, true},
		"of others":         {stacks.Goroutine{ID: 3, Parent: 9, State: "runnable"}, false},
		"waits":             {stacks.Goroutine{ID: 3, Parent: 2, State: "select"}, false},
		"of another bubble": {stacks.Goroutine{ID: 3, Parent: 9, State: "runnable", Bubble: "synctest bubble 2"}, false},
	} {
		b := &bubble{name: mark, met: map[int]bool{4: true}}
		if got := b.astray(stacks.Dump{engine, peer, outside, c.stray}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The first run at a capacity that needs real time decides for the later ones, in whatever order
// runs are made.
func TestFallback(t *testing.T) {
	var f fallback
	freeze := func(number int) {
		f.planRetry(&terms{plan: &Plan{}, number: number, watches: true}, &outcome{retry: true})
	}
	if !f.planRetry(&terms{plan: &Plan{}}, &outcome{retry: true}) || !f.watches.Load() || f.inRealTime(Capacity{}, 9) {
		t.Error("after the first freeze the stacks are read, and time stays virtual")
	}
	freeze(7)
	freeze(5)
	freeze(6)
	if f.inRealTime(Capacity{}, 4) || !f.inRealTime(Capacity{}, 5) || !f.inRealTime(Capacity{}, 8) || f.inRealTime(Capacity{C2S: 1}, 8) {
		t.Error("real time begins elsewhere than at run 5")
	}
	if f.planRetry(&terms{plan: &Plan{}}, &outcome{}) {
		t.Error("a run that did not freeze is made again")
	}
	f.count(&Run{terms: terms{plan: &Plan{}, engine: schedule.Settle}})
	if notes := f.notes(Report{}); len(notes) != 1 || !strings.Contains(notes[0], "so 1 order at 0 ran in real time (engine b)") {
		t.Errorf("notes %q", notes)
	}
}

// TestUnwatch holds when a search stops to read the stacks: after many runs without a goroutine at a
// mutex, but not in a walk, and not when freezes have begun it too often.
func TestUnwatch(t *testing.T) {
	f := &fallback{}
	freeze := func() {
		if !f.planRetry(&terms{}, &outcome{retry: true}) || !f.watches.Load() {
			t.Fatal("a freeze does not begin the watch")
		}
	}
	count := func(runs int, run *Run) {
		for range runs {
			f.count(run)
		}
	}
	calm, atMutex := &Run{terms: terms{watches: true}}, &Run{terms: terms{watches: true}, outcome: outcome{locked: "somewhere"}}
	for i := range mostBegun {
		freeze()
		count(enoughWithout-1, calm)
		count(1, atMutex)
		count(enoughWithout, &Run{}) // of workers that began before the freeze
		count(enoughWithout, &Run{terms: terms{watches: true}, course: course{walk: &schedule.Walk{}}})
		count(enoughWithout-1, calm)
		if !f.watches.Load() {
			t.Fatalf("watch %d ended too early", i+1)
		}
		count(1, calm)
		if last := i == mostBegun-1; f.watches.Load() != last {
			t.Errorf("watch %d goes on: %v, want %v", i+1, !last, last)
		}
	}
}
