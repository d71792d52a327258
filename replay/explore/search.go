package explore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// search is one exploration.
type search struct {
	t       *testing.T
	plan    *Plan
	length  int // steps of the longest first run
	notes   []string
	seen    *coverage
	line    *progress
	done    int             // schedules
	warned  map[string]bool // rules that a note speaks of
	answers comparison
	parser  parser
	forgone forgone
	hidden  []string // by the helpers that the plan uses
	limits  limits
	// leaks counts the runs that left goroutines behind and did not fail otherwise. They
	// end no search: what is worse may come after them.
	leaks struct {
		first *Run
		at    int // its number, from 1
		runs  int
	}
}

// leaksAlone reports whether a run came to its end and left goroutines behind.
func (r *Run) leaksAlone() bool { return r.verdict == Leak && r.within == "" && !r.froze }

// fails reports whether the search ends with a run that was just counted.
func (s *search) fails(r *Run) bool {
	if !r.leaksAlone() {
		return r.verdict != Pass
	}
	if s.leaks.runs++; s.leaks.runs == 1 {
		s.leaks.first, s.leaks.at = r, s.done
	}
	return s.leaks.runs == s.plan.mostLeaks
}

// leaked returns the report of a search that found nothing worse than a leak: of the first.
func (s *search) leaked() Report {
	report := s.report(s.leaks.first, s.leaks.at)
	report.Coverage = s.seen.report()
	return report
}

// leakNotes says how often goroutines were left.
func (s *search) leakNotes() []string {
	if s.leaks.runs == 0 {
		return nil
	}
	note := fmt.Sprintf("goroutines were left in %d of %s", s.leaks.runs, phrase.Plural(s.done, "schedule"))
	if s.leaks.runs == s.plan.mostLeaks {
		note += "; the search ended there: they stay in the process"
	}
	return []string{note}
}

// shownNotes is how many notes of passing runs a report keeps.
const shownNotes = 3

// explore makes run 0 at each capacity, then run 1 at each, so that the eager run
// of each comes first. What strategies are told of these first runs' length is
// then fixed: a run depends on its number alone, not on who finished before it.
func (s *search) explore() Report {
	if x, ok := s.plan.Strategy.(exhaustive); ok {
		return s.exhaust(x)
	}
	n, all := len(s.plan.Capacities), s.plan.Schedules
	budget := newBudget(s.plan.CPU, s.plan.Workers)
	var failed *Run
	take := func(r *Run) (more bool) {
		s.seen.add(&r.trail)
		s.remark(r)
		if s.fails(r) {
			failed = r
		}
		return failed == nil
	}
	make := func(i int) *Run { return s.run(s.plan.Capacities[i%n], i/n) }
	length := 0 // not told before all of them are done
	ended := ""
	first := series{to: min(n, all), make: make, over: func() bool {
		ended = s.limits.ended()
		return ended == EndStopped
	}, take: func(r *Run) bool {
		length = max(length, len(r.steps))
		return take(r)
	}}
	done := first.run(s.plan.Workers)
	s.length = length
	if failed == nil && ended != EndStopped {
		rest := series{from: done, to: all, make: make, take: take, over: func() bool {
			if ended = s.limits.ended(); ended == "" && budget.spent() {
				ended = EndCPU
			}
			return ended != ""
		}}
		done = rest.run(s.plan.Workers)
	}
	switch {
	case failed != nil && !failed.leaksAlone():
		report := s.report(failed, done)
		report.Coverage = s.seen.report()
		s.judge(&report, failed, func(i, most int) Tried { return s.try(i, share(done, n, i), most) })
		return report
	case s.leaks.runs > 0:
		return s.leaked()
	}
	var passed []Tried
	for i := range min(n, done) {
		passed = append(passed, Tried{Capacity: s.plan.Capacities[i], Verdict: Pass, Schedules: share(done, n, i)})
	}
	report := s.found(done, EndSchedules, passed)
	if done < all {
		report.Ended = ended
	}
	return report
}

// found reports a search in which nothing failed. One that was stopped before its first
// schedule is no pass.
func (s *search) found(done int, ended string, tried []Tried) Report {
	report := Report{Verdict: Pass, Level: s.plan.Level, Engine: s.plan.Engine, Schedules: done, Planned: s.plan.Schedules, Ended: ended, Tried: tried,
		Coverage: s.seen.report(), Notes: s.notes}
	if done == 0 {
		report.Verdict, report.Explanation, report.Tried = Undecided, "no schedule was run", nil
	}
	return report
}

// run makes one schedule. Several workers call it at once.
func (s *search) run(c Capacity, number int) *Run {
	r := s.newRun(c)
	r.chooser = s.plan.Strategy.Begin(s.plan.Seed, number, s.length)
	r.play(s.t, s.plan)
	return r
}

func (s *search) newRun(c Capacity) *Run {
	r := &Run{plan: s.plan, kind: s.plan.Engine, level: s.plan.Level, capacity: c, split: !s.plan.AckWithTake, limit: s.plan.Steps, horizon: s.plan.Horizon}
	r.parser, r.steps = &s.parser, make([]Step, 0, s.length)
	r.trail.touching = touching{capacity: c, split: r.split}
	return r
}

// noteHidden adds what the helpers of a run keep from being tried.
func (s *search) noteHidden(g *gate) {
	g.hiding.Lock()
	defer g.hiding.Unlock()
	for _, what := range g.hidden {
		if !slices.Contains(s.hidden, what) {
			s.hidden = append(s.hidden, what)
		}
	}
}

// remark counts the run and keeps the first notes.
func (s *search) remark(r *Run) {
	s.done++
	s.forgone.count(r)
	s.noteHidden(r.gate)
	s.line.step(s.plan, s.done)
	s.compareAnswers(r)
	if s.done == 1 {
		for _, f := range r.Findings() {
			if f.Result == match.Mismatch && len(s.notes) < shownNotes {
				s.notes = append(s.notes, "the live server answers otherwise than the recorded one: "+f.Text)
			}
		}
		if !slices.ContainsFunc(r.ops, func(op *Operation) bool { return !op.behind && !op.last }) {
			s.notes = append(s.notes, "nothing is awaited: the plan has no operation, and no recorded client makes a call")
		}
	}
	for _, note := range r.notes {
		if len(s.notes) < shownNotes {
			s.notes = append(s.notes, note+", at "+r.capacity.String())
		}
	}
	for _, b := range r.broken {
		if key := b.Rule + b.Title; b.Severity == order.Warning && !s.warned[key] {
			if s.warned == nil {
				s.warned = map[string]bool{}
			}
			s.warned[key] = true
			s.notes = append(s.notes, b.String())
		}
	}
}

// judge adds to the report of a failing run what following its token and the other
// capacities tell: a verdict that changes with the capacity is a finding of its
// own. try makes up to so many schedules at capacity i.
func (s *search) judge(report *Report, r *Run, try func(i, most int) Tried) {
	s.limits = s.limits.within(aftermath)
	defer func() {
		report.Ended = s.limits.ended()
		if report.Ended == "" {
			return
		}
		why := "the time of the search was up"
		if report.Ended == EndStopped {
			why = "the search was interrupted"
		}
		report.Notes = append(report.Notes, fmt.Sprintf(
			"%s: %s made it simpler, its token was followed %d of %d times, and other capacities may not have been tried",
			why, phrase.Plural(report.Shrunk.Runs, "run"), report.Shrunk.Verified, verifications))
	}()
	if r.outcome.retry && s.limits.ended() == "" {
		s.retry(report, r.settledToken())
	}
	if r.froze || r.verdict == Leak || r.verdict == Different { // both schedules were followed when it was found
		return
	}
	s.confirm(report, r)
	most := min(max(20, 2*report.Schedules), 200)
	for i, c := range s.plan.Capacities {
		if c != report.Capacity {
			if tried := try(i, most); tried.Schedules > 0 {
				report.Tried = append(report.Tried, tried)
			}
		}
	}
	report.Slack = slackText(report.Verdict, report.Capacity, report.Tried, report.Boundary)
}

// follow runs the schedule of a token, and if it fails once more to see where its
// goroutines stand.
func (s *search) follow(token Token) Report {
	r := s.following(token, false) // tracing takes longer than the run, in a large process
	if again := r.verdict != Pass && r.verdict != Diverged && !r.froze; again {
		if traced := s.following(token, true); traced.fingerprint() == r.fingerprint() {
			r = traced
		}
	}
	s.forgone = forgone{}
	s.forgone.count(r)
	s.noteHidden(r.gate)
	return s.report(r, 1)
}

func (s *search) following(token Token, traced bool) *Run {
	r := s.newRun(token.Capacity)
	r.token, r.level, r.untraced = &token, token.Level, !traced
	r.play(s.t, s.plan)
	if s.plan.SameAnswers {
		s.compareAnswers(r)
	}
	return r
}

// try explores capacity i with the same strategy, on from the number that the
// search has come to.
func (s *search) try(i, from, most int) Tried {
	tried := Tried{Capacity: s.plan.Capacities[i], Verdict: Pass}
	runs := series{from: from, to: most, over: func() bool { return s.limits.ended() != "" },
		make: func(number int) *Run { return s.run(tried.Capacity, number) },
		take: func(r *Run) bool {
			if !r.leaksAlone() {
				tried.Verdict = r.verdict
			}
			return tried.Verdict == Pass
		}}
	tried.Schedules = runs.run(s.plan.Workers)
	return tried
}

// share is how many of done runs fell to capacity i of n.
func share(done, n, i int) int { return (done + n - 1 - i) / n }
