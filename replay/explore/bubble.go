package explore

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble is the engine that proves: a testing/synctest bubble, where time is
// virtual and a wait is known to be one.
type bubble struct {
	run  *Run
	mark string // of the bubble in stacks
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
	timer := time.NewTimer(time.Until(r.since.Add(r.horizon)))
	defer timer.Stop()
	came := true
	select {
	case <-timer.C:
		came = false
	case <-r.gate.poked:
	}
	synctest.Wait()
	r.gate.tick()
	select { // the last timers may have fired in the same instant
	case <-r.gate.poked:
		came = true
	default:
	}
	return came
}

// verdict implements engine.
func (b *bubble) verdict() (word, doubt string) { return Hang, "" }

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
	time.Sleep(b.run.horizon)
	b.settle()
}
