package explore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// Engine chooses how a run is kept still between its steps.
type Engine string

const (
	// Bubble is the default: a testing/synctest bubble. Its time is virtual, and it
	// proves hangs.
	Bubble Engine = "a"
	// Settle takes stacks of the whole process until nobody of the run moves. It is
	// for peers that cannot live in a bubble. Its time is real, and what it finds
	// is a [Stall].
	Settle Engine = "b"
)

// engine is where a run lives, from its beginning to its end. It keeps the run still
// between its steps, and gives the verdict when nothing can go on. The run's own
// goroutine calls it, but for await.
type engine interface {
	// settle returns when nothing of the run moves but by a step or by time.
	settle()
	// rest lets time pass until something arrives at the gate. It reports false
	// when nothing will.
	rest() bool
	// verdict is what the engine calls a run in which nothing can go on, with the
	// doubt that is left, or "".
	verdict() (word, doubt string)
	// stacks returns the trimmed stacks of the run's goroutines.
	stacks() []string
	// own returns the goroutines of the run in a dump.
	own(all stacks.Dump) stacks.Dump
	// live calls do where the engine sees all that it starts, and returns when that
	// has ended or was given up.
	live(t *testing.T, do func())
	// call calls Setup or Check. It reports false when that will not return.
	call(do func()) bool
	// reap ends what is left when the gate is shut and the context cancelled.
	reap()
	// await waits, from outside, for live to end. It returns a freeze when the run
	// was given up, as the engine cannot bring it to its end.
	await(ended <-chan any) (thrown any, f *freeze)
}

func newEngine(r *Run) engine {
	if r.kind == Settle {
		return &settled{run: r, known: map[int]bool{}, doubt: map[int]bool{}, still: &freeze{}}
	}
	return &bubble{run: r}
}

// bubble is the engine that proves: a testing/synctest bubble, where time is
// virtual and a wait is known to be one.
type bubble struct {
	run  *Run
	name string // of the bubble in stacks

	resting atomic.Bool // virtual time passes, with nothing enabled
	weary   atomic.Bool // it has passed for as much real time as a peer may compute: see await
}

// A hang needs no panic of synctest: the engine sees that nothing is enabled and
// ends what it can. Only goroutines that nothing ends leave the bubble to
// synctest, which then panics here. That is the check for leaks too: it costs
// nothing, and counts no goroutines of others.
func (b *bubble) live(t *testing.T, do func()) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		b.run.leaked(stacks.Take().Bubble(b.name).Trim())
	}()
	synctest.Test(t, func(*testing.T) {
		b.name = stacks.Self().Bubble
		do()
	})
}

func (b *bubble) settle() {
	synctest.Wait()
	b.run.moves.Tick()
}

// In rest virtual time passes, up to the horizon after the last
// step that was not periodic.
func (b *bubble) rest() bool {
	r := b.run
	r.gate.Lock() // what timers wake must come after all that the engine read
	r.gate.Unlock()
	select { // what arrived before is in no step: it waits for others
	case <-r.gate.Poked():
	default:
	}
	came := b.pass(r.since.Add(r.horizon), r.gate.Poked())
	synctest.Wait()
	r.moves.Tick()
	select { // the last timers may have fired in the same instant
	case <-r.gate.Poked():
		came = true
	default:
	}
	return came
}

// pass lets virtual time pass until something comes, and reports whether it did. Peers
// whose own timers fire all the time, for a retry or a poll that does not use the gate,
// make a day of it last for hours: so time passes in steps, each a quarter
// of all before it, and after each it is asked whether that has lasted for too long.
func (b *bubble) pass(until time.Time, comes <-chan struct{}) (came bool) {
	b.resting.Store(true)
	defer b.resting.Store(false)
	step := time.Microsecond
	timer := time.NewTimer(min(step, time.Until(until)))
	defer timer.Stop()
	for {
		select {
		case <-comes:
			return true
		case <-timer.C:
		}
		if b.weary.Load() || !time.Now().Before(until) {
			return false
		}
		timer.Reset(min(step, time.Until(until)))
		step += step / 4
	}
}

func (b *bubble) verdict() (word, doubt string) {
	if b.weary.Load() {
		return Undecided, fmt.Sprintf("timers of the peers fire again and again, and use the gate for nothing: "+
			"after %s a timer might still change what is here. With a Horizon below that the run is judged, "+
			"and a longer Patience gives it more time", b.run.passed())
	}
	return Hang, ""
}

// Where the call does not return, the bubble ends with it or is frozen.
func (b *bubble) call(do func()) bool {
	do()
	return true
}

func (b *bubble) stacks() []string { return stacks.Take()[1:].Bubble(b.name).Trim() }

// The caller, who comes first, is in the bubble, or the run was given up and looked at
// from outside.
func (b *bubble) own(all stacks.Dump) stacks.Dump { return all.Bubble(all[0].Bubble) }

// Sleepers get virtual time: it stops when the bubble's first goroutine returns.
func (b *bubble) reap() {
	b.weary.Store(false)
	b.pass(time.Now().Add(b.run.horizon), nil)
	b.settle()
}

// firstLook is how long a run may go without a move before its stacks are looked
// at, and how far apart looks are at first. It decides nothing.
const firstLook = 10 * time.Millisecond

// await returns a freeze when the bubble cannot go on: synctest.Wait never returns while
// a goroutine waits for a mutex, for something from outside, or for I/O. The run is given
// up then.
//
// A freeze is seen in stacks, in which everybody waits. How long it has lasted
// only keeps the watcher from giving up a run that somebody outside the bubble is
// about to wake.
func (b *bubble) await(ended <-chan any) (thrown any, f *freeze) {
	r := b.run
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	var seen uint64
	var last *freeze
	var since time.Time
	moved := startStopwatch()
	for pause := firstLook; ; timer.Reset(pause) {
		select {
		case thrown = <-ended:
			return thrown, nil
		case <-timer.C:
		}
		n := r.moves.Count()
		if n == 0 || n != seen {
			seen, last, pause, moved = n, nil, firstLook, startStopwatch()
			continue
		}
		pause = min(2*pause, time.Second) // somebody computes: every look stops the world
		all := stacks.Take()
		f := freezeOf(all, b.name)
		switch {
		case f == nil:
			last = nil
			if moved.elapsed() < r.plan.stamina {
				continue
			}
			if b.resting.Load() && !b.weary.Swap(true) {
				moved = startStopwatch()
				continue
			}
			if busy := busyOf(all, b.name); busy != nil && r.moves.Abandon(n) {
				return nil, busy
			}
		case last == nil || !last.same(f):
			last, since, pause = f, time.Now(), firstLook
		case time.Since(since) >= f.patience(r.plan) && r.moves.Abandon(n):
			return nil, f
		default:
			pause = min(pause, f.patience(r.plan))
		}
	}
}
