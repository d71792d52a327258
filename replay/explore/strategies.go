package explore

import "github.com/mcprec/mcprec/replay/explore/schedule"

// NamedStrategy is a strategy with its name, and with what it does, in a phrase.
type NamedStrategy struct {
	Name, Means string
	Strategy
}

// Strategies are the strategies, the default first.
//
// To add one: write its chooser in schedule/strategy.go, and name it here: the flag of the
// command, its check and its help read this table.
var Strategies = []NamedStrategy{
	{"mix", "run 0 in the default order, then 45 % pos, 25 % starve, 20 % pct and 10 % random", Mix},
	{"default", "starts, then acks, gives and takes, as soon as each is enabled", Eager},
	{"pos", "every step has a random priority of its own", POS},
	{"starve", "a random victim waits for as long as anything else can go on", Starve},
	{"pct", "every kind of step in a direction has a priority; the highest falls, twice in a run", PCT},
	{"random", "evenly among the enabled steps", Random},
	{"exhaustive", "every order once, but for those of steps that commute; the end proves that none fails", Exhaustive},
}

// The strategies, as [Strategies] describes them.
var (
	Eager  = schedule.Eager
	Random = schedule.Random
	POS    = schedule.POS
	Starve = schedule.Starve
	PCT    = schedule.PCT
	Mix    = schedule.Mix
)

// Exhaustive visits every order of steps at each capacity; of the orders that differ only in
// steps that commute it visits one, see [schedule.Walk]. At the end no order at the level and
// capacity fails, and the report says so: a proof for deterministic peers that share only the
// gate. Exhaustive notices unexpected steps, and an end that uses the gate though no step woke
// the end, and makes some runs again at the end; it cannot see peers that share data in silence. The
// runs are made in sequence: Seed and Workers have no effect.
var Exhaustive schedule.Strategy = exhaustive{}

// exhaustive is the strategy whose runs depend on the runs before.
type exhaustive struct {
	naive bool // also orders that differ only in steps that commute
}

// Begin is mix, for runs out of turn.
func (exhaustive) Begin(seed uint64, run, length int) schedule.Chooser {
	return schedule.Mix.Begin(seed, run, length)
}
