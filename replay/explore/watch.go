package explore

import (
	"slices"
	"strings"
	"time"
)

// firstLook is how long a run may go without a move before its stacks are looked
// at, and how far apart looks are at first. It decides nothing.
const firstLook = 10 * time.Millisecond

// await implements host, from outside of the bubble. It returns a freeze when the bubble cannot go on: synctest.Wait never returns while a goroutine
// waits for a mutex, for something from outside, or for I/O. The run is given up
// then.
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
	var since, moved time.Time
	for pause := firstLook; ; timer.Reset(pause) {
		select {
		case thrown = <-ended:
			return thrown, nil
		case <-timer.C:
		}
		n := r.moves.Load()
		if n == 0 || n != seen {
			seen, last, pause, moved = n, nil, firstLook, time.Now()
			continue
		}
		pause = min(2*pause, time.Second) // somebody computes: every look stops the world
		all := goroutines(snapshot())
		f := freezeOf(all, b.mark)
		switch {
		case f == nil:
			last = nil
			if time.Since(moved) < r.plan.stamina {
				continue
			}
			if b.resting.Load() && !b.weary.Swap(true) {
				moved = time.Now()
				continue
			}
			if busy := busyOf(all, b.mark); busy != nil && r.moves.CompareAndSwap(n, n|abandoned) {
				return nil, busy
			}
		case last == nil || !last.same(f):
			last, since, pause = f, time.Now(), firstLook
		case time.Since(since) >= f.patience(r.plan) && r.moves.CompareAndSwap(n, n|abandoned):
			return nil, f
		default:
			pause = min(pause, f.patience(r.plan))
		}
	}
}

// freeze is what the goroutines of a frozen bubble wait for.
type freeze struct {
	locks    []goroutine // at a mutex
	foreign  []goroutine // at a channel or the like that is not of the bubble
	io       []goroutine
	calls    []goroutine // in a system call
	sleepers []goroutine // for ever: the bubble's time stands still
	others   []goroutine // at a wait that a bubble sees
	busy     []goroutine // at no wait: what the others wait for does not matter then
	near     bool        // somebody outside works, sleeps or waits for I/O: a mutex may be theirs
	outside  []goroutine // of anybody, in no bubble: a mutex may be theirs, too
}

// freezeOf returns the freeze of the bubble with the mark: nil when somebody runs,
// or nobody waits for what a bubble cannot see.
func freezeOf(all []goroutine, mark string) *freeze {
	f := &freeze{}
	for i, g := range all {
		switch {
		case g.mark != mark:
			f.near = f.near || i > 0 && g.wait() != waitOther // the caller comes first
			if i > 0 && g.outsider() {
				f.outside = append(f.outside, g)
			}
		case g.engine() && g.wait() != waitNone:
		case !f.add(g):
			return nil
		}
	}
	if len(f.locks)+len(f.foreign)+len(f.io)+len(f.calls) == 0 {
		return nil
	}
	return f
}

// busyOf returns who computes in the bubble with the mark; nil if nobody does.
func busyOf(all []goroutine, mark string) *freeze {
	f := &freeze{}
	for _, g := range all {
		if g.mark == mark && !g.engine() && !f.add(g) {
			f.busy = append(f.busy, g)
		}
	}
	if len(f.busy) == 0 {
		return nil
	}
	return f
}

// add sorts a goroutine in by what it waits for. It reports false if it does not.
func (f *freeze) add(g goroutine) bool {
	switch wait := g.wait(); {
	case wait == waitNone:
		return false
	case wait == waitLock:
		f.locks = append(f.locks, g)
	case wait == waitIO:
		f.io = append(f.io, g)
	case wait == waitCall || wait == waitSyscall: // a call that works looks otherwise the next time
		f.calls = append(f.calls, g)
	case wait == waitSleep:
		f.sleepers = append(f.sleepers, g)
	case g.mark != "" && !g.durable:
		f.foreign = append(f.foreign, g)
	default:
		f.others = append(f.others, g)
	}
	return true
}

// passing reports whether real time alone may end it.
func (f *freeze) passing() bool { return len(f.sleepers)+len(f.io)+len(f.calls) > 0 }

// same reports whether nothing has changed in another freeze.
func (f *freeze) same(g *freeze) bool {
	return sameAll(f.locks, g.locks) && sameAll(f.foreign, g.foreign) && sameAll(f.io, g.io) && sameAll(f.calls, g.calls) &&
		sameAll(f.sleepers, g.sleepers) && sameAll(f.others, g.others)
}

func sameAll(a, b []goroutine) bool {
	return slices.EqualFunc(a, b, func(a, b goroutine) bool { return a.same(b) })
}

// lockAlone reports whether nothing but mutexes holds the bubble up, and nobody
// sleeps.
func (f *freeze) lockAlone() bool { return len(f.foreign)+len(f.io)+len(f.calls)+len(f.sleepers) == 0 }

// patience is how long the freeze must have lasted before the run is given up.
func (f *freeze) patience(p *Plan) time.Duration {
	if f.lockAlone() && !f.near && len(f.outside) == 0 {
		return min(p.Patience, 10*firstLook) // a proof is looked for
	}
	return p.Patience
}

// all returns every goroutine of the freeze.
func (f *freeze) all() []goroutine {
	return slices.Concat(f.busy, f.locks, f.foreign, f.io, f.calls, f.sleepers, f.others)
}

// stacks returns the trimmed stacks of a freeze.
func (f *freeze) stacks() []string {
	var list []string
	for _, g := range f.all() {
		list = append(list, g.text)
	}
	return trimStacks(list)
}

// why says who holds the bubble up, and by what.
func (f *freeze) why() string {
	var parts []string
	add := func(gs []goroutine, what string) {
		if len(gs) > 0 {
			parts = append(parts, gs[0].place()+" "+what)
		}
	}
	add(f.busy, "computes")
	add(f.locks, "waits for a mutex")
	add(f.foreign, "waits for something that is not of the bubble")
	add(f.io, "waits for I/O")
	add(f.calls, "waits in a system call")
	add(f.sleepers, "sleeps")
	return strings.Join(parts, "; ")
}

// waits lists who waits at a mutex, and who seems to hold it.
func (f *freeze) waits(r *Run) []Wait {
	var list []Wait
	for _, g := range f.locks {
		w := Wait{Who: r.owner(g), WaitsFor: "a mutex", Why: "its holder is not seen in the stacks", BlockedAt: "[" + g.state + "] " + g.place()}
		if h, ok := f.holder(g); ok {
			w.Why = "held, it seems, by " + r.owner(h) + ", which is blocked at [" + h.state + "] " + h.place()
		}
		list = append(list, w)
	}
	return list
}

// holder guesses who holds the mutex that g waits for: one blocked elsewhere that
// is inside the function which g calls Lock in; else the only one who is neither
// at a mutex nor at a Read of the gate.
func (f *freeze) holder(g goroutine) (goroutine, bool) {
	caller := g.function()
	var left []goroutine
	for _, h := range f.all() {
		switch {
		case h.wait() == waitLock:
		case caller != "" && strings.Contains(h.text, "\n"+caller+"("):
			return h, true
		case !strings.Contains(h.text, "/explore.(*end).Read("):
			left = append(left, h)
		}
	}
	if len(left) == 1 {
		return left[0], true
	}
	return goroutine{}, false
}
