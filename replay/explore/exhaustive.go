package explore

import (
	"slices"

	"github.com/mcprec/mcprec/replay/explore/schedule"
)

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
