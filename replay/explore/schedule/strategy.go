package schedule

import (
	"math/rand/v2"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// Chooser picks the step to release: at counts the steps of the run from 1, enabled is in
// eager's order and never empty. A Time step comes last, and is never alone. The result is an
// index, or -1 to cut the run, which is then not judged.
type Chooser func(at int, enabled []gate.Step) int

// Strategy makes the choosers of a plan's runs. It is pure: the same arguments
// give the same choices for the same enabled steps.
type Strategy interface {
	// Begin returns the chooser of a run, which counts from 0. length is the number of
	// steps of the longest first run.
	Begin(seed uint64, run, length int) Chooser
}

// StrategyFunc is a function as a Strategy.
type StrategyFunc func(seed uint64, run, length int) Chooser

// Begin calls the function.
func (f StrategyFunc) Begin(seed uint64, run, length int) Chooser { return f(seed, run, length) }

// The strategies; package explore names them, and says what each does. Time steps are rare: eager
// takes none, starve takes them in half of its runs while only victims are left, and the others
// take them at random places in half of theirs.
var (
	Eager  Strategy = StrategyFunc(eager)
	Random Strategy = timed(random)
	POS    Strategy = timed(pos)
	Starve Strategy = StrategyFunc(starve)
	PCT    Strategy = timed(pct)
	Mix    Strategy = StrategyFunc(mix)
)

// dice returns the generator of a run.
func dice(seed uint64, run int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, gate.Scramble(uint64(run)+1)))
}

// untimed returns the enabled steps without the Time step, and reports whether there was one.
func untimed(enabled []gate.Step) (others []gate.Step, timed bool) {
	last := len(enabled) - 1
	if enabled[last].Kind == gate.Time {
		return enabled[:last], true
	}
	return enabled, false
}

// timed adds Time steps to a strategy that knows none. Half of the runs have none. In a quarter
// they come at random places, before one of 2 to 16 steps on average. In a quarter some frames
// are late: they wait for as long as anything else can go on, and Time steps come before them.
// The other steps are chosen as without timers.
func timed(strategy StrategyFunc) StrategyFunc {
	return func(seed uint64, run, length int) Chooser {
		choose := strategy(seed, run, length)
		var r *rand.Rand // made when a Time step is first enabled: there are timers
		among := 0       // a Time step comes before one of so many steps; 0 is none
		late := func(gate.Step) bool { return false }
		var prompt []int // indices of steps that are not late
		var steps []gate.Step
		return func(at int, enabled []gate.Step) int {
			others, timed := untimed(enabled)
			if timed && r == nil {
				r = dice(gate.Scramble(seed), run)
				switch r.IntN(4) {
				case 0:
					among = 2 << r.IntN(4)
				case 1:
					salt := r.Uint64()
					late = func(step gate.Step) bool { // about each fourth frame, but for its ack
						return (step.Kind == gate.Take || step.Kind == gate.Give) && gate.Scramble(salt^step.WhatHash())&3 == 0
					}
				}
			}
			if r == nil {
				return choose(at, others)
			}
			prompt, steps = prompt[:0], steps[:0]
			for i, s := range others {
				if !late(s) {
					prompt, steps = append(prompt, i), append(steps, s)
				}
			}
			switch {
			case timed && (len(prompt) == 0 || among > 0 && r.IntN(among) == 0):
				return len(others)
			case len(prompt) > 0 && len(prompt) < len(others):
				return prompt[choose(at, steps)]
			case len(others) == 1: // without timers the strategy is not asked
				return 0
			}
			return choose(at, others)
		}
	}
}

func eager(uint64, int, int) Chooser {
	return func(int, []gate.Step) int { return 0 }
}

func random(seed uint64, run, _ int) Chooser {
	r := dice(seed, run)
	return func(_ int, enabled []gate.Step) int { return r.IntN(len(enabled)) }
}

// pos hashes names instead of keeping a table of priorities.
func pos(seed uint64, run, _ int) Chooser {
	salt := dice(seed, run).Uint64()
	return func(_ int, enabled []gate.Step) int {
		best := 0
		top := uint64(0)
		for i, s := range enabled {
			if p := gate.Scramble(salt ^ s.Hash()); p > top {
				best, top = i, p
			}
		}
		return best
	}
}

func mix(seed uint64, run, length int) Chooser {
	if run == 0 {
		return eager(seed, run, length)
	}
	switch n := dice(^seed, run).IntN(100); {
	case n < 45:
		return timed(pos)(seed, run, length)
	case n < 70:
		return starve(seed, run, length)
	case n < 90:
		return timed(pct)(seed, run, length)
	}
	return timed(random)(seed, run, length)
}

// pct is probabilistic concurrency testing over chains. A chain is the steps of a kind in
// a direction, and has a priority.
func pct(seed uint64, run, length int) Chooser {
	const depth = 3 // orders that a bug may need at most
	r := dice(seed, run)
	var priority [gate.Classes]int
	for i, p := range r.Perm(gate.PipeClasses) {
		priority[i] = 2 * p
	}
	other := dice(gate.Scramble(seed), run)
	for i := gate.PipeClasses; i < gate.Classes; i++ {
		priority[i] = 1 + 2*other.IntN(gate.PipeClasses)
	}
	var drops [depth - 1]int
	for i := range drops {
		drops[i] = 1 + r.IntN(max(length, 1))
	}
	highest := func(enabled []gate.Step) int { // the first step of the highest chain
		best := 0
		for i, s := range enabled {
			if priority[s.Class()] > priority[enabled[best].Class()] {
				best = i
			}
		}
		return best
	}
	bottom := 0
	return func(at int, enabled []gate.Step) int {
		i := highest(enabled)
		for _, d := range drops {
			if d == at {
				bottom--
				priority[enabled[i].Class()] = bottom
				i = highest(enabled)
			}
		}
		return i
	}
}

// starve picks its victim anew for each run: a kind of step in a direction, a whole
// direction, or every step of about each eighth frame. Other steps are released at random,
// victims only when no other step is enabled. In half of the runs time passes before that.
func starve(seed uint64, run, _ int) Chooser {
	r := dice(seed, run)
	how := r.IntN(3)
	salt := r.Uint64()
	dir := transport.ClientToServer + transport.Direction(salt>>8&1)
	kind := gate.Ack + gate.Kind(salt>>16%3) // ack, give or take
	passing := gate.Scramble(salt)&1 == 0
	victim := func(step gate.Step) bool {
		switch how {
		case 0:
			return step.Kind == kind && step.Dir == dir
		case 1:
			return step.Dir == dir
		}
		return gate.Scramble(salt^step.WhatHash())&7 == 0
	}
	var others []int
	return func(_ int, enabled []gate.Step) int {
		enabled, timed := untimed(enabled)
		others = others[:0]
		for i, s := range enabled {
			if !victim(s) {
				others = append(others, i)
			}
		}
		switch {
		case len(others) > 0:
			return others[r.IntN(len(others))]
		case timed && passing:
			return len(enabled)
		}
		return r.IntN(len(enabled))
	}
}

// Delayed is eager with some steps put off: each waits while any other step is enabled, and
// steps that are put off go in a given order. Without them Delayed is eager; with every step
// of a run put off, in the run's order, Delayed is this run. Every schedule shrinks toward
// eager, step by step. A Time step is released only if it is in the order, and its turn comes
// when no step is enabled that is not put off.
type Delayed struct {
	Overtaken map[uint32]bool // hashes of the steps that another step was preferred to

	order []uint32       // hashes of the put-off steps
	rank  map[uint32]int // by hash: the index in order
	since map[uint32]int // by hash: the step at which it was first enabled
	grows bool           // a step that is not in order is put off behind all that are
}

// NewDelayed puts off the steps with these hashes.
func NewDelayed(order []uint32) *Delayed {
	d := &Delayed{Overtaken: map[uint32]bool{}, order: order, rank: map[uint32]int{}, since: map[uint32]int{}}
	for i, h := range order {
		d.rank[h] = i
	}
	return d
}

// NewReplayed puts off every step: the steps of a run, in the run's order, and behind these
// every other step. A run may end with steps enabled that it never released. Without grows
// they would come first.
func NewReplayed(order []uint32) *Delayed {
	d := NewDelayed(slices.Clone(order))
	d.grows = true
	return d
}

// Order returns the hashes of the put-off steps, with those that came later.
func (d *Delayed) Order() []uint32 { return d.order }

// Choose is the Chooser.
func (d *Delayed) Choose(at int, enabled []gate.Step) int {
	if d.grows {
		for _, s := range enabled {
			h := uint32(s.Hash())
			if _, off := d.rank[h]; !off {
				d.rank[h] = len(d.order)
				d.order = append(d.order, h)
			}
		}
	}
	best := -1
	rank := len(d.order)
	for i, s := range enabled {
		h := uint32(s.Hash())
		place, off := d.rank[h]
		if off && d.since[h] == 0 {
			d.since[h] = at
		}
		switch {
		case !off && s.Kind == gate.Time:
		case !off && rank >= 0:
			best, rank = i, -1
		case off && place < rank:
			best, rank = i, place
		}
	}
	for _, s := range enabled[:best] {
		d.Overtaken[uint32(s.Hash())] = true
	}
	if enabled[best].Kind == gate.Time { // it is in the order for its own sake
		d.Overtaken[uint32(enabled[best].Hash())] = true
	}
	return best
}

// Holds returns the put-off steps that were enabled up to a step, in the form of a token.
func (d *Delayed) Holds(upto int) []Choice {
	var list []Choice
	for _, h := range d.order {
		if at := d.since[h]; at > 0 && at <= upto {
			list = append(list, Choice{Step: at, Hash: h})
		}
	}
	return list
}
