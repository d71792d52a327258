package explore

// Exhaustive visits every order of steps at each capacity, but for orders that
// differ only in steps that commute (sleep sets). When it has come to the end, no
// order at that level and capacity fails, and the report says so. That is a proof
// for peers that do the same on the same steps and share nothing but the gate. It
// takes notice of peers that do not: of other steps, and of an end that uses the
// gate though nothing of the gate woke it. What is shared in silence it cannot see.
// Its runs are made one after another: Seed and Workers mean nothing to it.
var Exhaustive Strategy = exhaustive{}

// exhaustive is the strategy whose runs depend on the ones before.
type exhaustive struct {
	naive bool // without sleep sets
}

// Begin is mix, for who wants a run out of turn.
func (exhaustive) Begin(seed uint64, run, length int) Chooser { return mix(seed, run, length) }

// visit is the walk through the orders at one capacity.
type visit struct {
	walk  walk
	seen  *coverage
	tried Tried
}

func (s *search) visits(x exhaustive) []*visit {
	list := make([]*visit, len(s.plan.Capacities))
	for i, c := range s.plan.Capacities {
		list[i] = &visit{seen: newCoverage(), tried: Tried{Capacity: c, Verdict: Pass}}
		list[i].walk = walk{naive: x.naive, touching: s.newRun(c).trail.touching}
	}
	return list
}

// exhaust makes a run at each capacity in turn, until a run fails, a budget is
// spent or all is visited.
func (s *search) exhaust(x exhaustive) Report {
	visits := s.visits(x)
	failed, done, ended := s.rounds(visits)
	for _, v := range visits {
		s.seen.merge(v.seen)
	}
	switch {
	case failed == nil && s.leaks.runs > 0, failed != nil && failed.leaksAlone():
		return s.leaked()
	case failed != nil:
		report := s.report(failed, done)
		report.Coverage = s.seen.report()
		s.judge(&report, failed, func(i, most int) Tried { return s.finish(visits[i], most) })
		return report
	}
	var tried []Tried
	for _, v := range visits {
		tried = append(tried, v.tried)
	}
	report := s.found(done, ended, tried)
	if ended == EndVisited {
		report.Coverage.Unseen = 0
	}
	return report
}

func (s *search) rounds(visits []*visit) (failed *Run, done int, ended string) {
	budget := newBudget(s.plan.CPU, 1)
	for open := true; open; {
		open = false
		for _, v := range visits {
			ended := s.limits.ended()
			switch {
			case ended == EndStopped, ended != "" && done >= len(visits):
				return nil, done, ended
			case done == s.plan.Schedules:
				return nil, done, EndSchedules
			case done >= len(visits) && budget.spent():
				return nil, done, EndCPU
			}
			r := s.advance(v)
			if r == nil {
				continue
			}
			open, done = true, done+1
			if s.remark(r); s.fails(r) {
				return r, done, ""
			}
		}
	}
	return nil, done, s.visited(visits)
}

// visited is how a search ends whose walks have.
func (s *search) visited(visits []*visit) string {
	for _, v := range visits {
		if !v.tried.All {
			return EndLost
		}
	}
	return EndVisited
}

// advance makes the next run of a walk, or returns nil: there is none.
func (s *search) advance(v *visit) *Run {
	r := s.newRun(v.tried.Capacity)
	if r.chooser = v.walk.next(); r.chooser == nil {
		v.tried.All = !v.walk.lost
		return nil
	}
	r.systematic, r.trail.touching = true, v.walk.touching
	r.play(s.t, s.plan)
	v.tried.Schedules++
	passes := r.verdict == Pass || r.leaksAlone()
	if !passes {
		v.tried.Verdict = r.verdict
	}
	switch {
	case passes && v.walk.adopt(r.lessons):
		v.walk.restart()
		v.seen, v.tried.Classes = newCoverage(), 0
	case !r.cut:
		v.seen.add(&r.trail)
		v.tried.Classes++
	}
	return r
}

// finish goes on with a walk for so many schedules at most.
func (s *search) finish(v *visit, most int) Tried {
	for v.tried.Verdict == Pass && v.tried.Schedules < most && s.limits.ended() == "" && s.advance(v) != nil {
	}
	return v.tried
}
