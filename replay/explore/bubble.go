package explore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble is the engine that proves: a testing/synctest bubble, where time is
// virtual and a wait is known to be one.
type bubble struct {
	run  *Run
	mark string // of the bubble in stacks

	resting atomic.Bool // virtual time passes, with nothing enabled
	weary   atomic.Bool // it has passed for as much real time as a peer may compute: see await
}

// live implements host.
//
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
		b.run.leaked(bubbleStacks(b.mark))
	}()
	synctest.Test(t, func(*testing.T) {
		b.mark = bubbleOfCaller()
		do()
	})
}

// settle implements engine.
func (b *bubble) settle() {
	synctest.Wait()
	b.run.gate.tick()
}

// rest implements engine: virtual time passes, up to the horizon after the last
// step that was not a ping.
func (b *bubble) rest() bool {
	r := b.run
	r.gate.hold() // what timers wake must come after all that the engine read
	r.gate.free()
	select { // what arrived before is in no step: it waits for others
	case <-r.gate.poked:
	default:
	}
	came := b.pass(r.since.Add(r.horizon), r.gate.poked)
	synctest.Wait()
	r.gate.tick()
	select { // the last timers may have fired in the same instant
	case <-r.gate.poked:
		came = true
	default:
	}
	return came
}

// firstStep is the virtual time of the first of the steps in which it passes.
const firstStep = time.Microsecond

// pass lets virtual time pass until something comes, and reports whether it did. Peers
// whose own timers fire all the time, for a retry or a poll that uses the gate for
// nothing, make a day of it last for hours: so time passes in steps, each a quarter
// of all before it, and after each it is asked whether that has lasted for too long.
func (b *bubble) pass(until time.Time, comes <-chan struct{}) (came bool) {
	b.resting.Store(true)
	defer b.resting.Store(false)
	step := firstStep
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

// verdict implements engine.
func (b *bubble) verdict() (word, doubt string) {
	if b.weary.Load() {
		return Undecided, fmt.Sprintf("timers of the peers fire again and again, and use the gate for nothing: after %v of virtual time a timer might still change what is here. "+
			"With a Horizon below that the run is judged, and a longer Patience gives it more time", b.run.passed())
	}
	return Hang, ""
}

// call implements host. Where the call does not return, the bubble ends with it
// or is frozen.
func (b *bubble) call(do func()) bool {
	do()
	return true
}

// stacks implements engine.
func (b *bubble) stacks() []string { return stacks() }

// own implements engine: the caller, who comes first, is in the bubble, or the run was
// given up and looked at from outside.
func (b *bubble) own(all []string) []string { return ofBubble(all, bubbleMark(all[0])) }

// reap implements host. Sleepers get virtual time: it stops when the bubble's
// first goroutine returns.
func (b *bubble) reap() {
	b.weary.Store(false)
	b.pass(time.Now().Add(b.run.horizon), nil)
	b.settle()
}
