package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// holders guesses which goroutines may hold the mutex that waiter waits for; nil if the stacks
// do not tell. If the mutex is a field of the value whose method calls Lock, they are in methods
// of that value. Else they are in the function that calls Lock, or the one that is left. A
// goroutine that most likely holds no mutex is named only where no other is.
func (f *freeze) holders(waiter stacks.Goroutine) stacks.Dump {
	var able, near, left stacks.Dump
	for _, g := range f.all() {
		if canHold(g, waiter) {
			able = append(able, g)
		}
	}
	value, field := lockedValue(waiter)
	caller := waiter.Function()
	for _, g := range able {
		in := caller != "" && strings.Contains(g.Text, "\n"+caller+"(")
		of := g.Receivers()
		other := false
		if field {
			in = slices.Contains(of, value)
			other = slices.ContainsFunc(of, func(r stacks.Receiver) bool { return r.Type == value.Type && r.Address != "" })
		}
		switch {
		case in:
			near = append(near, g)
		case !other && !waitsUnlocked(g):
			left = append(left, g)
		}
	}
	if busy := slices.DeleteFunc(slices.Clone(near), waitsUnlocked); len(busy) > 0 {
		return busy
	}
	if len(near) > 0 || len(left) != 1 {
		return near
	}
	return left
}

// canHold reports whether a goroutine may hold the mutex that blocks waiter. A goroutine of a
// recorded end may not, nor may one that is blocked by the same mutex.
func canHold(goroutine, waiter stacks.Goroutine) bool {
	if goroutine.Recorded() {
		return false
	}
	at, wanted := goroutine.Lock(), waiter.Lock()
	return goroutine.Wait() != stacks.WaitLock || at != "" && wanted != "" && at != wanted
}

// waitsUnlocked reports whether a goroutine most likely holds no mutex: it is at a Read, or at a
// Cond, whose Wait unlocks.
func waitsUnlocked(goroutine stacks.Goroutine) bool {
	return goroutine.Reading() || goroutine.State == "sync.Cond.Wait"
}

// lockedValue returns the receiver of the method that calls Lock, if the mutex is one of its
// fields, by the addresses.
func lockedValue(waiter stacks.Goroutine) (value stacks.Receiver, ok bool) {
	const largest = 1 << 12 // bytes of the value up to the mutex, at most
	value, ok = waiter.Receiver()
	if !ok {
		return value, false
	}
	begin, err := strconv.ParseUint(value.Address, 0, 64)
	if err != nil {
		return value, false
	}
	mutex, err := strconv.ParseUint(waiter.Lock(), 0, 64)
	return value, err == nil && begin <= mutex && mutex-begin < largest
}

// heldBy says who may hold a mutex: those at a Write come first. owner names a goroutine.
func heldBy(holders stacks.Dump, owner func(stacks.Goroutine) string) string {
	const shown = 3
	var writers, others []string
	for _, g := range holders {
		text := owner(g) + " at " + g.Where()
		if g.Writing() {
			writers = append(writers, text)
		} else {
			others = append(others, text)
		}
	}
	slices.Sort(writers)
	slices.Sort(others)
	list := slices.Compact(append(writers, others...))
	switch {
	case len(holders) == 0:
		return "its holder is not seen in the stacks"
	case len(holders) == 1:
		g := holders[0]
		return "held, it seems, by " + owner(g) + ", which is blocked at [" + g.State + "] " + g.Where()
	case len(list) > shown:
		list = append(list[:shown], fmt.Sprintf("%d more", len(list)-shown))
	}
	return "held, it seems, by one of: " + strings.Join(list, ", ")
}
