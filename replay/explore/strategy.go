package explore

import "math/rand/v2"

// Chooser picks the step to release: at counts the steps of the run from 1, and
// enabled is in eager's order, never empty. It returns an index, or -1 to cut the
// run: it ends there and is not judged.
type Chooser func(at int, enabled []Step) int

// Strategy makes the choosers of a plan's runs. It is pure: the same arguments
// give the same choices for the same enabled steps.
type Strategy interface {
	// Begin returns the chooser of a run, which counts from 0. length is how many
	// steps the longest run so far had, for those who spread choices over it.
	Begin(seed uint64, run, length int) Chooser
}

// StrategyFunc is a function as a Strategy.
type StrategyFunc func(seed uint64, run, length int) Chooser

// Begin calls the function.
func (f StrategyFunc) Begin(seed uint64, run, length int) Chooser { return f(seed, run, length) }

var (
	// Eager releases starts, then acks, gives and takes as soon as it can.
	Eager Strategy = StrategyFunc(eager)
	// Random picks evenly among what is enabled.
	Random Strategy = StrategyFunc(random)
	// POS gives every step a random priority of its own.
	POS Strategy = StrategyFunc(pos)
	// Starve lets a random victim wait for as long as anything else can go on.
	Starve Strategy = StrategyFunc(starve)
	// PCT gives every kind of step in a direction a priority, and lets the highest
	// fall to the bottom at two random steps of the run.
	PCT Strategy = StrategyFunc(pct)
	// Mix is the default: run 0 eager, then 45 % pos, 25 % starve, 20 % pct and
	// 10 % random.
	Mix Strategy = StrategyFunc(mix)
)

// dice returns the generator of one run.
func dice(seed uint64, run int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, scramble(uint64(run)+1)))
}

func eager(uint64, int, int) Chooser {
	return func(int, []Step) int { return 0 }
}

func random(seed uint64, run, _ int) Chooser {
	r := dice(seed, run)
	return func(_ int, enabled []Step) int { return r.IntN(len(enabled)) }
}

// pos hashes names instead of keeping a table: the priority of a step is random,
// and the same whenever it is asked.
func pos(seed uint64, run, _ int) Chooser {
	salt := dice(seed, run).Uint64()
	return func(_ int, enabled []Step) int {
		best, top := 0, uint64(0)
		for i, s := range enabled {
			if p := scramble(salt ^ s.Hash()); p > top {
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
		return pos(seed, run, length)
	case n < 70:
		return starve(seed, run, length)
	case n < 90:
		return pct(seed, run, length)
	}
	return random(seed, run, length)
}
