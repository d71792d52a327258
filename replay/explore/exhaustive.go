package explore

import (
	"slices"
)

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

// Begin is mix, for runs out of turn.
func (exhaustive) Begin(seed uint64, run, length int) Chooser { return mix(seed, run, length) }

// visit is the walk through the orders at one capacity.
type visit struct {
	walk  walk
	seen  *coverage
	tried Tried
}

// exhaust makes a run at each capacity in turn, until a run fails, a budget is
// spent or all is visited.
func (s *search) exhaust(x exhaustive) Report {
	var visits []*visit
	for _, c := range s.plan.Capacities {
		w := walk{naive: x.naive, touching: s.newRun(c).trail.touching}
		visits = append(visits, &visit{walk: w, seen: newCoverage(), tried: Tried{Capacity: c, Verdict: Pass}})
	}
	failed, done, ended := s.rounds(visits)
	var tried []Tried
	for _, v := range visits {
		s.seen.merge(v.seen)
		tried = append(tried, v.tried)
	}
	switch {
	case failed == nil && s.leaks.runs > 0, failed != nil && failed.leaksAlone():
		return s.report(s.leaks.first, s.leaks.at)
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

// rounds makes the runs, and returns the one that failed or the reason for the end.
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
			open = true
			done++
			s.remark(r)
			if s.fails(r) {
				return r, done, ""
			}
		}
	}
	if slices.ContainsFunc(visits, func(v *visit) bool { return !v.tried.All }) {
		return nil, done, EndLost
	}
	return nil, done, EndVisited
}

// advance makes the next run of a walk, or returns nil: there is none.
func (s *search) advance(v *visit) *Run {
	r := s.newRun(v.tried.Capacity)
	r.chooser = v.walk.next()
	if r.chooser == nil {
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
		// The walk begins again with what was learned of the peers. The first run in which
		// an end takes back a frame is never missed: up to it all that was taken to commute
		// does. Neither is one in which an operation touches what it did not before.
		v.walk.path, v.walk.begun = nil, false
		v.seen, v.tried.Classes = newCoverage(), 0
	case !r.cut:
		v.seen.add(&r.trail)
		v.tried.Classes++
	}
	return r
}

// walk visits the tree of choices of one capacity, depth first, by making run
// after run: each follows the path so far to its last open branch.
//
// With sleep sets a step that was tried at a place sleeps in the branches beside
// it until a step is released that it does not commute with: what would begin with
// it there differs from what was visited only in the order of steps that commute.
// A run in which all enabled steps sleep is cut. Every class of runs ends
// exactly once so.
type walk struct {
	touching
	naive bool // without sleep sets: every order of steps
	path  []branching
	begun bool
	done  bool
	lost  bool // the peers did not do the same again
}

// branching is a place on the path: what is enabled there, what was released last,
// and what sleeps.
type branching struct {
	enabled []move
	chosen  int
	asleep  []move
}

// move is a step, as the walk knows it again.
type move struct {
	hash uint64
	what reach
}

// next returns the chooser of the next run, or nil when all is visited.
func (w *walk) next() Chooser {
	if w.begun && !w.done {
		w.done = w.lost || !w.turn()
	}
	w.begun = true
	if w.done {
		return nil
	}
	return w.choose
}

// turn goes back to the last place where something else may be released.
func (w *walk) turn() bool {
	for len(w.path) > 0 {
		b := &w.path[len(w.path)-1]
		if b.chosen >= 0 {
			b.asleep = append(b.asleep, b.enabled[b.chosen])
		}
		b.chosen = b.awake()
		if b.chosen >= 0 {
			return true
		}
		w.path = w.path[:len(w.path)-1]
	}
	return false
}

// awake returns the first enabled step that does not sleep, or -1.
func (b *branching) awake() int {
	return slices.IndexFunc(b.enabled, func(m move) bool { return !slices.Contains(b.asleep, m) })
}

// choose follows the path, and beyond its end takes the first step that is awake.
func (w *walk) choose(at int, enabled []Step) int {
	if w.lost {
		return -1
	}
	if at <= len(w.path) {
		b := w.path[at-1]
		i := slices.IndexFunc(enabled, func(s Step) bool { return s.Hash() == b.enabled[b.chosen].hash })
		w.lost = i < 0 || len(enabled) != len(b.enabled)
		return i
	}
	b := branching{enabled: make([]move, len(enabled))}
	for i, s := range enabled {
		b.enabled[i] = move{s.Hash(), w.of(s)}
	}
	if at > 1 && !w.naive { // what commutes with the step before sleeps on
		before := w.path[at-2]
		for _, m := range before.asleep {
			if m.what&before.enabled[before.chosen].what == 0 {
				b.asleep = append(b.asleep, m)
			}
		}
	}
	b.chosen = b.awake()
	w.path = append(w.path, b)
	return b.chosen
}
