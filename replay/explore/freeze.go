package explore

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// freeze is the goroutines of a run at one moment, by the kind of wait.
type freeze struct {
	locks         stacks.Dump // at a mutex
	foreign       stacks.Dump // at a channel or the like that is not of the bubble
	io            stacks.Dump
	calls         stacks.Dump // in a system call
	sleepers      stacks.Dump // in a frozen bubble for ever: its time stands still
	others        stacks.Dump // at a wait that a bubble sees
	busy          stacks.Dump // at no wait: the others do not matter then
	engine        bool        // the engine's own goroutine runs
	outsiderMoves bool        // a goroutine outside the bubble works, sleeps or waits for I/O, and may hold a mutex
	outsiders     stacks.Dump // the goroutines outside every bubble, which may hold a mutex too
}

// firstLook is how long a run may go without a move before the first look at the stacks, and
// the first pause between looks. No verdict depends on it.
const firstLook = 10 * time.Millisecond

// leftBehind holds the numbers of the goroutines that settled runs of this process left
// behind, with mutexes of those runs.
var leftBehind sync.Map

// outsider reports whether a goroutine may be of anybody, and may hold a mutex of a run.
func outsider(goroutine stacks.Goroutine) bool {
	_, left := leftBehind.Load(goroutine.ID)
	return !left && goroutine.Outsider()
}

// freezeOf sorts the goroutines of a bubble. The caller comes first in the dump, and is
// outside.
func freezeOf(all stacks.Dump, bubble string) *freeze {
	f := &freeze{}
	for i, g := range all {
		switch {
		case g.Bubble != bubble:
			f.outsiderMoves = f.outsiderMoves || i > 0 && g.Wait() != stacks.WaitOther && g.Wait() != stacks.WaitLock
			if i > 0 && outsider(g) {
				f.outsiders = append(f.outsiders, g)
			}
		case g.Engine():
			f.engine = f.engine || g.Wait() == stacks.WaitNone
		default:
			f.add(g)
		}
	}
	return f
}

// frozen reports whether every goroutine waits, and some wait is hidden from the bubble.
func (f *freeze) frozen() bool {
	return !f.engine && len(f.busy) == 0 && len(f.locks)+len(f.foreign)+len(f.io)+len(f.calls) > 0
}

// add sorts a goroutine in by its wait.
func (f *freeze) add(goroutine stacks.Goroutine) {
	list := &f.others
	switch goroutine.Wait() {
	case stacks.WaitNone:
		list = &f.busy
	case stacks.WaitLock:
		list = &f.locks
	case stacks.WaitIO:
		list = &f.io
	case stacks.WaitCall, stacks.WaitSyscall: // a call that works looks otherwise the next time
		list = &f.calls
	case stacks.WaitSleep:
		list = &f.sleepers
	default:
		if goroutine.Bubble != "" && !goroutine.Durable {
			list = &f.foreign
		}
	}
	*list = append(*list, goroutine)
}

// passing reports whether real time alone may end it.
func (f *freeze) passing() bool { return len(f.sleepers)+len(f.io)+len(f.calls) > 0 }

// same reports whether nothing has changed in another freeze.
func (f *freeze) same(other *freeze) bool {
	return len(f.foreign) == len(other.foreign) && slices.EqualFunc(f.all(), other.all(), stacks.Goroutine.Same)
}

// patience is how long the freeze must last before the run is given up. It is short where
// waiting cannot help. A run that mutexes alone hold up is first made again, watched. In a
// watched run, if nobody outside could unlock a mutex, the bubble's time stands still for good.
func (f *freeze) patience(terms *terms) time.Duration {
	if !f.lockedAlone() || terms.watches && (len(f.outsiders) > 0 || f.outsiderMoves) {
		return terms.plan.Patience
	}
	return min(terms.plan.Patience, 10*firstLook)
}

// lockedAlone reports whether only mutexes hold the bubble up.
func (f *freeze) lockedAlone() bool { return len(f.foreign)+len(f.io)+len(f.calls) == 0 }

// all returns every goroutine of the freeze.
func (f *freeze) all() stacks.Dump {
	return slices.Concat(f.busy, f.locks, f.foreign, f.io, f.calls, f.sleepers, f.others)
}

// stacks returns the trimmed stacks of a freeze.
func (f *freeze) stacks() []string { return f.all().Trim() }

// why says which goroutines hold the bubble up, and by which wait.
func (f *freeze) why() string {
	var parts []string
	add := func(list stacks.Dump, what string) {
		if len(list) > 0 {
			parts = append(parts, list[0].Where()+" "+what)
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
