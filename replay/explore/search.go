package explore

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// search is one exploration.
type search struct {
	t        *testing.T
	plan     *Plan
	length   int // steps of the longest first run
	notes    []string
	seen     *schedule.Tally
	begin    time.Time
	done     int             // schedules
	warned   map[string]bool // rules and cancellations with a note
	looked   int             // runs repeated to see whether cancelled work goes on
	answers  comparison
	parser   gate.Parser
	skipped  halves.Skipped
	hidden   []string // by the plan's helpers
	points   bool     // a run that passed met a Point, or no end is live
	limits   limits
	late     atomic.Bool // the runs of the search that are under way have to end
	fallback fallback
	// leaks counts the runs that left goroutines behind and did not fail otherwise. The
	// search goes on: a worse failure may come.
	leaks struct {
		first *Run
		at    int // number of the run, from 1
		runs  int
	}
}

// Explore runs the plan and fails the test with the report unless every schedule passes.
func Explore(t *testing.T, plan Plan) Report {
	t.Helper()
	r := Search(t, plan)
	if r.Verdict != Pass {
		t.Errorf("\n%s", r.Text())
	}
	return r
}

// Search runs the plan and returns the report; the test does not fail, unless the
// plan itself is wrong. It must not be called inside a bubble.
func Search(t *testing.T, plan Plan) Report {
	t.Helper()
	deadline, _ := t.Deadline()
	return explore(t, plan, deadline)
}

// explore is Search in a test with a deadline, if the deadline is not zero.
func explore(t *testing.T, plan Plan, deadline time.Time) (report Report) {
	t.Helper()
	s := search{t: t, plan: withDefaults(plan), seen: schedule.NewTally(), begin: time.Now()}
	s.limits = limits{stop: plan.Stop}
	if plan.Budget > 0 {
		s.limits = s.limits.within(plan.Budget)
	} else if !deadline.IsZero() {
		s.limits = s.limits.within(time.Until(deadline) / 10 * 9)
	}
	defer func() {
		report.Notes = append(slices.Clone(plan.notes), report.Notes...)
		if s.leaks.runs > 0 {
			note := fmt.Sprintf("goroutines were left in %d of %s", s.leaks.runs, phrase.Plural(s.done, "order"))
			if s.leaks.runs == s.plan.mostLeaks {
				note += "; the search ended there: they stay in the process"
			}
			report.Notes = append(report.Notes, note)
		}
		if plan.Advise != nil && report.Verdict != Pass {
			report.Advice = plan.Advise(report)
		}
		report.Notes = slices.Concat(report.Notes, s.fallback.notes(report), s.skipped.Notes(), s.hidden)
	}()
	if plan.Setup == nil {
		t.Fatal("explore plan: it has no Setup")
	}
	defer raiseGC()()
	defer showLabels()()
	if plan.Token == "" {
		defer s.limits.watch(&s.late)()
		return s.explore()
	}
	token, err := ParseToken(plan.Token)
	if err != nil {
		t.Fatalf("explore plan: %v", err)
	}
	s.plan.Engine = token.Engine
	if plan.SameAnswers {
		s.remark(s.run(s.plan.Capacities[0], 0))
	}
	report = s.follow(token)
	if plan.SameAnswers && report.Verdict == Pass {
		report.Notes = append(report.Notes, "answers were compared with those of the default order alone")
	}
	return report
}

// Judge is Search without a test: nothing is printed, no flag is defined, and the process
// goes on. The error says why the plan is wrong. The bubbles are the same: testing/synctest
// wants a *testing.T only as the parent of the bubble's T, and an empty T will do.
func Judge(plan Plan) (Report, error) {
	if plan.Setup == nil {
		return Report{}, errors.New("explore: the plan has no Setup")
	}
	if plan.Token != "" {
		if _, err := ParseToken(plan.Token); err != nil {
			return Report{}, err
		}
	}
	return explore(new(testing.T), plan, time.Time{}), nil
}

// shownNotes is how many notes of passing runs a report keeps.
const shownNotes = 3

// explore makes run 0 at each capacity, then run 1 at each, and so on: the eager runs come
// first. Strategies know only the length of these first runs: a run depends on its number
// alone, not on the order in which runs finish.
func (s *search) explore() Report {
	if x, ok := s.plan.Strategy.(exhaustive); ok {
		return s.exhaust(x)
	}
	n := len(s.plan.Capacities)
	all := s.plan.Schedules
	spent := cpuBudget(s.plan.CPU, workTime(s.plan.Workers))
	var failed *Run
	length := 0 // not told before the first runs are done
	ended := ""
	runs := series{
		make: func(i int) *Run { return s.run(s.plan.Capacities[i%n], i/n) },
		take: func(run *Run) (more bool) {
			run = s.current(run)
			length = max(length, len(run.course.steps))
			s.seen.Add(&run.course.trail)
			s.remark(run)
			if s.fails(run) {
				failed = run
			}
			return failed == nil
		},
	}
	runs.to = min(n, all)
	runs.over = func() bool {
		ended = s.limits.ended()
		return ended == EndStopped
	}
	done := runs.run(s.plan.Workers)
	s.length = length
	if failed == nil && ended != EndStopped {
		runs.from = done
		runs.to = all
		runs.over = func() bool {
			ended = s.limits.ended()
			if ended == "" && spent() {
				ended = EndCPU
			}
			return ended != ""
		}
		done = runs.run(s.plan.Workers)
	}
	share := func(i int) int { return (done + n - 1 - i) / n } // of the runs, at capacity i
	switch {
	case failed != nil && !failed.outcome.leaksAlone():
		report := s.report(failed, done)
		s.judge(&report, failed, func(i, most int) Tried { // with the same strategy, from the next number on
			tried := Tried{Capacity: s.plan.Capacities[i], Verdict: Pass}
			runs := series{from: share(i), to: most, over: func() bool { return s.limits.ended() != "" },
				make: func(number int) *Run { return s.run(tried.Capacity, number) },
				take: func(run *Run) bool {
					run = s.current(run)
					if !run.outcome.leaksAlone() {
						tried.Verdict = run.outcome.verdict
					}
					return tried.Verdict == Pass
				}}
			tried.Schedules = runs.run(s.plan.Workers)
			return tried
		})
		return report
	case s.leaks.runs > 0:
		return s.leak()
	}
	var passed []Tried
	for i := range min(n, done) {
		passed = append(passed, Tried{Capacity: s.plan.Capacities[i], Verdict: Pass, Schedules: share(i)})
	}
	switch {
	case done == all:
		ended = EndSchedules
	case s.late.Load():
		ended = s.limits.ended()
	}
	return s.found(done, ended, passed)
}

// report describes a run, the last of so many schedules.
func (s *search) report(run *Run, schedules int) Report {
	o := &run.outcome
	report := Report{
		Verdict: o.verdict, Category: o.category, Explanation: o.why,
		Level: run.terms.level, Engine: run.terms.engine, Capacity: run.terms.capacity, Schedules: schedules, Steps: len(run.course.steps),
		Waits: o.waits, WaitsAt: o.waitsAt, Sequence: o.sequence, Stacks: o.stacks,
		Token: run.asToken().String(), Events: o.recording,
		Coverage: s.seen.Coverage(), Leaked: o.stuck, Busy: o.busy, Notes: slices.Concat(o.notes, o.unheeded), Err: o.err,
	}
	if run.course.follower != nil {
		report.Choices = run.course.follower.Turns
	}
	fired := false
	for _, p := range run.clock.timers.passages {
		report.Timers = append(report.Timers, p.String())
		fired = fired || p.fired
	}
	if fired && o.verdict == CheckFailed {
		report.Notes = append(report.Notes, fmt.Sprintf("a timer fired while messages waited, as the plan's Timers allow; "+
			"a deadline of the test's own that must not fire then has to be longer than %v", time.Duration(run.clock.timers.most+mostIdle)*longestPassage))
	}
	report.Broken = append(report.Broken, o.broken...)
	if stands(o.verdict) { // otherwise a wait may end
		report.Chain = o.chain
		report.Blocked = o.blocked
	}
	for _, op := range o.stood {
		report.Unfinished = append(report.Unfinished, op.name)
	}
	return report
}

// found reports a search without failure. A search without schedule is no pass.
func (s *search) found(done int, ended string, tried []Tried) Report {
	report := Report{
		Verdict: Pass, Level: s.plan.Level, Engine: s.plan.Engine, Schedules: done, Planned: s.plan.Schedules, Ended: ended,
		Tried: tried, Coverage: s.seen.Coverage(), Notes: s.notes, AtRest: done > 0 && !s.points,
	}
	switch {
	case done == 0:
		report.Verdict = Undecided
		report.Explanation = "no order was run"
		if s.late.Load() {
			report.Explanation = "no order came to its end in that time"
		}
		report.Tried = nil
	case ended == EndTime || ended == EndStopped:
		var untried []string
		for _, c := range s.plan.Capacities {
			if !slices.ContainsFunc(tried, func(t Tried) bool { return t.Capacity == c && t.Schedules > 0 }) {
				untried = append(untried, c.String())
			}
		}
		report.Tried = slices.DeleteFunc(tried, func(t Tried) bool { return t.Schedules == 0 })
		if len(untried) > 0 {
			report.Notes = append(slices.Clone(report.Notes), "not tried in that time: "+strings.Join(untried, ", "))
		}
	}
	return report
}

// newRun returns a run that has not begun. Several workers call newRun at once.
func (s *search) newRun(capacity schedule.Capacity) *Run {
	return newRun(terms{
		plan: s.plan, engine: s.plan.Engine, level: s.plan.Level, capacity: capacity,
		limit: s.plan.Steps, parser: &s.parser, watches: s.fallback.watches.Load(),
	}, s.length)
}

// run makes one schedule.
func (s *search) run(capacity schedule.Capacity, number int) *Run {
	return s.playAt(capacity, number, func() *Run {
		r := s.newRun(capacity)
		r.terms.number = number
		r.terms.late = &s.late
		r.terms.withoutTimers = s.fallback.withoutTimers(capacity, number)
		r.course.chooser = s.plan.Strategy.Begin(s.plan.Seed, number, s.length)
		return r
	})
}

// rerun runs the schedule of a token.
func (s *search) rerun(token schedule.Token, traced bool) *Run {
	return s.play(func() *Run {
		r := s.newRun(token.Capacity)
		r.terms.engine = token.Engine
		r.course.follower = &schedule.Follower{Token: token}
		r.terms.level = token.Level
		r.terms.untraced = !traced
		return r
	})
}

// play makes a run, and makes it again if another look at the same bubble may tell, or if it
// stopped in a Time step.
func (s *search) play(begin func() *Run) *Run {
	r := begin()
	r.play(s.t)
	for {
		switch at := r.clock.timers.stoppedAt; {
		case at != "":
			s.fallback.turnTimersOff(&r.terms)
			timed := begin
			begin = func() *Run {
				r := timed()
				r.terms.withoutTimers = true
				r.terms.timersStoppedAt = at
				return r
			}
		case r.terms.watches || !s.fallback.planRetry(&r.terms, &r.outcome):
			return r
		}
		r = begin()
		r.play(s.t)
	}
}

// playAt makes the run with a number at a capacity, in real time if nothing else tells.
func (s *search) playAt(capacity schedule.Capacity, number int, begin func() *Run) *Run {
	if !s.fallback.inRealTime(capacity, number) {
		r := s.play(begin)
		if !s.fallback.planRetry(&r.terms, &r.outcome) {
			return r
		}
	}
	r := begin()
	r.terms.engine = schedule.Settle
	r.play(s.t)
	return r
}

// current returns a run as the runs before it demand: in real time if an earlier one at its
// capacity was.
func (s *search) current(run *Run) *Run {
	inRealTime := run.terms.engine != schedule.Settle && s.fallback.inRealTime(run.terms.capacity, run.terms.number)
	timersOff := len(run.clock.timers.passages) > 0 && s.fallback.withoutTimers(run.terms.capacity, run.terms.number)
	if inRealTime || timersOff {
		return s.run(run.terms.capacity, run.terms.number)
	}
	return run
}

// following runs the schedule of a token, and looks for changed answers if those fail.
func (s *search) following(token schedule.Token, traced bool) *Run {
	r := s.rerun(token, traced)
	if s.plan.SameAnswers {
		s.compareAnswers(r)
	}
	return r
}

// follow runs the schedule of a token, and after a failure once more, traced.
func (s *search) follow(token schedule.Token) Report {
	r := s.following(token, false) // tracing takes longer than the run, in a large process
	if r.outcome.verdict != Pass && r.outcome.verdict != Diverged && !r.outcome.froze {
		traced := s.following(token, true)
		if traced.outcome.fingerprint() == r.outcome.fingerprint() {
			r = traced
		}
	}
	s.skipped = halves.Skipped{}
	s.skipped.Count(r.peers.recorded)
	s.noteHidden(r)
	report := s.report(r, 1)
	if r.outcome.verdict != Diverged {
		addSchedules(s, &report, r)
	}
	return report
}

// fails reports whether the search ends with a run that was just counted.
func (s *search) fails(run *Run) bool {
	if !run.outcome.leaksAlone() {
		return run.outcome.verdict != Pass
	}
	s.leaks.runs++
	if s.leaks.runs == 1 {
		s.leaks.first = run
		s.leaks.at = s.done
	}
	return s.leaks.runs == s.plan.mostLeaks
}

// leak reports the first run that left goroutines behind, with a simpler schedule. Other
// capacities are not tried: every run of a leak leaves more behind.
func (s *search) leak() Report {
	run := s.leaks.first
	report := s.report(run, s.leaks.at)
	s.limits = s.limits.within(aftermath)
	if !run.costly() && s.limits.ended() == "" {
		s.confirm(&report, run)
	}
	return report
}

// seePoints looks whether a run met a Point. Without one, nothing orders what a live side does between two messages.
func (s *search) seePoints(run *Run) {
	isLive := run.peers.live(transport.ClientToServer) || run.peers.live(transport.ServerToClient)
	s.points = s.points || !isLive || run.outcome.verdict == Pass && run.peers.gate.Points > 0
}

// noteHidden adds what the helpers of a run keep from being tried.
func (s *search) noteHidden(run *Run) {
	for _, what := range run.peers.gate.Hidden() {
		if !slices.Contains(s.hidden, what) {
			s.hidden = append(s.hidden, what)
		}
	}
}

// compareAnswers compares the answers of a passed run with the answers of earlier runs. A
// change is a note, or the verdict where the plan says so.
func (s *search) compareAnswers(run *Run) {
	if run.outcome.verdict != Pass && !run.outcome.leaksAlone() || run.outcome.cut {
		return
	}
	s.answers.follow = func(token schedule.Token) []answer { return s.rerun(token, false).peers.answers() }
	changes, different := s.answers.add(run.peers.answers(), run.asToken(), s.plan.SameAnswers)
	if different {
		last := len(changes) - 1
		run.outcome.verdict = Different
		run.outcome.why = changes[last]
		run.describe()
		changes = changes[:last]
	}
	s.notes = append(s.notes, changes...)
}

// remark counts the run and keeps the first notes.
func (s *search) remark(run *Run) {
	s.done++
	s.fallback.count(run)
	if passages := run.clock.timers.passages; len(passages) > 0 {
		s.seen.Timed++
		if slices.ContainsFunc(passages, func(p *passage) bool { return p.fired }) {
			s.seen.Fired++
		}
	}
	s.skipped.Count(run.peers.recorded)
	s.noteHidden(run)
	s.seePoints(run)
	if s.plan.Progress != nil {
		s.plan.Progress(Progress{Done: s.done, Total: s.plan.Schedules, Elapsed: time.Since(s.begin)})
	}
	s.compareAnswers(run)
	if s.done == 1 {
		for _, f := range run.Findings() {
			if f.Result == match.Mismatch && len(s.notes) < shownNotes {
				s.notes = append(s.notes, "the live server answers otherwise than the recorded one: "+f.Text)
			}
		}
		if !slices.ContainsFunc(run.peers.ops, func(op *Operation) bool { return !op.behind && !op.last }) {
			s.notes = append(s.notes, "nothing is awaited: the plan has no operation, and no recorded client makes a call")
		}
	}
	for _, note := range run.outcome.notes {
		if len(s.notes) < shownNotes {
			s.notes = append(s.notes, note+", at "+run.terms.capacity.String())
		}
	}
	if run.outcome.keeps {
		s.noteOnce("kept session", "goroutines were left that may belong to a session that was not ended: the server accepted no DELETE of it")
	}
	s.remarkCancelled(run)
	for _, b := range run.outcome.broken {
		switch {
		case s.plan.excuses(b.Dir):
			s.noteOnce(b.Rule+b.Title, fmt.Sprintf("the %s is excused: %v", s.plan.Excuse, b))
		case b.Severity == order.Warning:
			s.noteOnce(b.Rule+b.Title, b.String())
		}
	}
	for _, fault := range run.outcome.excused {
		s.noteOnce(anonymous(fault), fmt.Sprintf("the %s is excused: %s", s.plan.Excuse, fault))
	}
}

// noteOnce adds a note to the report, if none with the key was added before.
func (s *search) noteOnce(key, note string) {
	if s.warned[key] {
		return
	}
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	s.warned[key] = true
	s.notes = append(s.notes, note)
}

// remarkCancelled keeps a note of each kind of request that an end went on with after it had read
// the cancellation. Where no result tells, a run is made again to look at the stacks.
func (s *search) remarkCancelled(run *Run) {
	const mostLooks = 3
	notes := run.outcome.unheeded
	if run.outcome.verdict == Pass && !run.outcome.cut && s.looked < mostLooks && hang.Undone(run.peers.gate, run.peers.live) {
		s.looked++
		notes = append(slices.Clone(notes), s.rerun(run.asToken(), true).outcome.unheeded...)
	}
	for _, note := range notes {
		s.noteOnce(anonymous(note), note+", at "+run.terms.capacity.String())
	}
}

// judge shrinks a failure, follows its token, and tries the other capacities: a verdict that
// changes with the capacity is a finding too. try makes up to most schedules at capacity i.
func (s *search) judge(report *Report, run *Run, try func(i, most int) Tried) {
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
			"%s: %s made it simpler, its token was followed %d of %d times, and other buffers may not have been tried",
			why, phrase.Plural(report.Shrunk.Runs, "run"), report.Shrunk.Verified, verifications))
	}()
	if run.outcome.behindMutex() && run.asToken().Deviations() > 0 {
		s.confirm(report, run)
		return
	}
	if run.outcome.froze || run.outcome.verdict == Leak || run.outcome.verdict == Different || run.outcome.verdict == DataRace { // both schedules of a Different were followed before
		return
	}
	s.confirm(report, run)
	most := min(max(20, 2*report.Schedules), 200)
	for i, c := range s.plan.Capacities {
		if c != report.Capacity {
			if tried := try(i, most); tried.Schedules > 0 {
				report.Tried = append(report.Tried, tried)
			}
		}
	}
	decided := len(run.peers.modeled) > 0 // models at DeliveryOrder, which come to the same end in every order
	report.Slack = slackText(report.Verdict, report.Capacity, report.Tried, report.Boundary, decided)
}

// series makes numbered runs, several at once, and takes them in the order of the numbers:
// the result does not depend on the order in which runs finish.
type series struct {
	from, to int
	make     func(number int) *Run
	take     func(*Run) (more bool)
	over     func() bool // asked before each run, if not nil: no more of them
}

// run returns the number after the last run that was taken. When take wants no more, or a run could not be
// finished, the runs under way are waited for and forgotten.
func (s *series) run(workers int) int {
	workers = min(workers, s.to-s.from)
	if workers > 1 {
		return s.parallel(workers)
	}
	for i := s.from; i < s.to; i++ {
		if s.over != nil && s.over() {
			return i
		}
		run := s.make(i)
		if run.outcome.unfinished {
			return i
		}
		if !s.take(run) {
			return i + 1
		}
	}
	return max(s.from, s.to)
}

func (s *series) parallel(workers int) int {
	type made struct {
		number int
		run    *Run // nil: the goroutine was ended (runtime.Goexit)
	}
	const ahead = 8 // runs that a worker may be ahead of the next taken run
	window := ahead * workers
	numbers := make(chan int, window)
	finished := make(chan made, window)
	work := func(number int) {
		m := made{number: number}
		defer func() { finished <- m }()
		m.run = s.make(number)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for n := range numbers {
				work(n)
			}
		})
	}
	defer all.Wait()
	defer func() {
		close(numbers)
		for range numbers { // drop the runs that have not begun
		}
	}()
	next, taken := s.from, s.from
	waiting := map[int]*Run{}
	for {
		for next < s.to && next < taken+window && (s.over == nil || !s.over()) {
			numbers <- next
			next++
		}
		if taken == next {
			return taken
		}
		m := <-finished
		if m.run == nil {
			runtime.Goexit() // as without workers
		}
		waiting[m.number] = m.run
		for waiting[taken] != nil {
			r := waiting[taken]
			if r.outcome.unfinished {
				return taken
			}
			delete(waiting, taken)
			taken++
			if !s.take(r) {
				return taken
			}
		}
	}
}
