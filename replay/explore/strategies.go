package explore

import (
	"slices"

	"github.com/mcprec/mcprec/replay/explore/schedule"
)

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

// visit is the walk through the orders at a capacity.
type visit struct {
	walk  schedule.Walk
	seen  *schedule.Tally
	tried Tried
	kept  []kept
}

// kept is a run of a walk, to be repeated at its end.
type kept struct {
	token schedule.Token
	trace uint64
}

// repeats is how many runs are made again at the end of a walk. A walk compares a run with an
// earlier one only as far as both take the same steps: what a peer does otherwise later, it does not
// see.
const repeats = 8

// exhaust makes a run at each capacity in turn, until a run fails, a budget is spent or all
// orders are visited.
func (s *search) exhaust(exhaustive exhaustive) Report {
	var visits []*visit
	for _, c := range s.plan.Capacities {
		w := schedule.Walk{Naive: exhaustive.naive, Touching: s.newRun(c).course.trail.Touching}
		visits = append(visits, &visit{walk: w, seen: schedule.NewTally(), tried: Tried{Capacity: c, Verdict: Pass}})
	}
	failed, done, ended := s.rounds(visits)
	var tried []Tried
	for _, v := range visits {
		s.seen.Merge(v.seen)
		tried = append(tried, v.tried)
	}
	switch {
	case failed == nil && s.leaks.runs > 0, failed != nil && failed.outcome.leaksAlone():
		return s.leak()
	case failed != nil:
		report := s.report(failed, done)
		s.judge(&report, failed, func(i, most int) Tried {
			v := visits[i]
			for v.tried.Verdict == Pass && v.tried.Schedules < most && s.limits.ended() == "" && s.advance(v) != nil {
			}
			return v.tried
		})
		return report
	}
	report := s.found(done, ended, tried)
	if ended == EndVisited {
		report.Coverage.Unseen = 0
	}
	return report
}

// rounds makes the runs, and returns the failed run or the reason for the end.
func (s *search) rounds(visits []*visit) (failed *Run, done int, ended string) {
	spent := cpuBudget(s.plan.CPU, workTime(1))
	for open := true; open; {
		open = false
		for _, v := range visits {
			ended := s.limits.ended()
			switch {
			case ended == EndStopped, ended != "" && done >= len(visits):
				return nil, done, ended
			case done == s.plan.Schedules:
				return nil, done, EndSchedules
			case done >= len(visits) && spent():
				return nil, done, EndCPU
			}
			r := s.advance(v)
			if r == nil {
				continue
			}
			if r.outcome.unfinished {
				return nil, done, s.limits.ended()
			}
			open = true
			done++
			s.remark(r)
			if s.fails(r) {
				return r, done, ""
			}
		}
	}
	for _, v := range visits {
		if failed := s.repeat(v); failed != nil {
			return failed, done, ""
		}
	}
	if slices.ContainsFunc(visits, func(visit *visit) bool { return !visit.tried.All }) {
		return nil, done, EndLost
	}
	return nil, done, EndVisited
}

// repeat makes kept runs of a walk again. The orders are not all if one of them goes another way; a run
// that fails now is returned.
func (s *search) repeat(visit *visit) (failed *Run) {
	for i := 0; visit.tried.All && i < min(repeats, repeats*len(visit.kept)) && s.limits.ended() == ""; i++ {
		again := visit.kept[i%len(visit.kept)]
		r := s.rerun(again.token, false)
		visit.tried.All = r.trace() == again.trace
		if r.outcome.verdict != Pass && r.outcome.verdict != Diverged && !r.outcome.leaksAlone() {
			return r
		}
	}
	return nil
}

// advance makes the next run of a walk, or returns nil at its end.
func (s *search) advance(visit *visit) *Run {
	if !visit.walk.Next() {
		visit.tried.All = !visit.walk.Lost
		return nil
	}
	r := s.newRun(visit.tried.Capacity)
	r.terms.late = &s.late
	r.course.walk = &visit.walk
	r.course.chooser = visit.walk.Choose
	r.course.trail.Touching = visit.walk.Touching
	if s.fallback.inRealTime(r.terms.capacity, 0) {
		r.terms.engine = schedule.Settle
	}
	r.play(s.t)
	if s.fallback.planRetry(&r.terms, &r.outcome) { // the walk begins again
		visit.walk.Restart()
		visit.seen = schedule.NewTally()
		visit.tried.Classes = 0
		return s.advance(visit)
	}
	if r.outcome.unfinished {
		return r
	}
	visit.tried.Schedules++
	if n := visit.tried.Schedules; n&(n-1) == 0 && !r.outcome.cut { // the first, the second, the fourth, and so on
		visit.kept = append(visit.kept, kept{r.asToken(), r.trace()})
	}
	passes := r.outcome.verdict == Pass || r.outcome.leaksAlone()
	if !passes {
		visit.tried.Verdict = r.outcome.verdict
	}
	switch {
	case passes && visit.walk.Adopt(r.course.lessons):
		// The walk begins again with the lessons. No run is missed in which an end gives up a
		// Write or an operation touches another end than before: up to this run every
		// assumption held, and whether a run teaches does not change with the order of steps
		// that commute.
		visit.walk.Restart()
		visit.seen = schedule.NewTally()
		visit.tried.Classes = 0
	case !r.outcome.cut:
		visit.seen.Add(&r.course.trail)
		visit.tried.Classes++
	}
	return r
}
