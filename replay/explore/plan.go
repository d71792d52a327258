package explore

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Plan says what to explore. Only Setup is required.
type Plan struct {
	// Setup builds both peers on the run's ends and adds the operations. It runs
	// inside a bubble, once a schedule: all that the peers use (channels, timers,
	// goroutines) must be made here, nothing may come from outside.
	Setup func(*Run)
	// Session is what [Run.RecordedServer] plays: the
	// events of a recording. All runs share it.
	Session []store.Event
	// Capacities are tried in turn, from the first; nil is [Sweep].
	Capacities []Capacity
	// Strategy chooses the steps; nil is [Mix].
	Strategy Strategy
	// Schedules is how many runs to make, over all capacities; 0 is 200.
	Schedules int
	// Seed makes the strategy's choices others.
	Seed uint64
	// Check judges a run whose operations have returned and in which nothing is on
	// its way. Without it an operation that returns an error fails the run.
	Check func(*Run) error
	// Token, if not "", is the one schedule to run, as a report printed it. Its
	// capacity counts; Capacities, Strategy, Schedules and Seed do not.
	Token string
	// AckWithTake lets a Write return in the step that takes its frame. Fewer
	// schedules, but a bug between the two is out of reach.
	AckWithTake bool
	// Horizon is the virtual time that must pass without anything but pings before
	// a run at rest is a hang; 0 is 24 hours.
	Horizon time.Duration
	// Steps ends a run as undecided; 0 is a million.
	Steps int
}

// Explore runs the plan and fails the test with the report unless all passes.
func Explore(t *testing.T, p Plan) Report {
	t.Helper()
	r := Search(t, p)
	if r.Verdict != Pass {
		t.Errorf("\n%s", r.Text())
	}
	return r
}

// Search runs the plan and returns the report; the test does not fail, unless the
// plan itself is wrong. It must not be called inside a bubble.
func Search(t *testing.T, p Plan) Report {
	t.Helper()
	s := search{t: t, plan: withDefaults(p)}
	if p.Setup == nil {
		t.Fatal("explore plan: it has no Setup")
	}
	defer raiseGC()()
	if p.Token == "" {
		return s.explore()
	}
	token, err := ParseToken(p.Token)
	if err != nil {
		t.Fatalf("explore plan: %v", err)
	}
	return s.follow(token)
}

func withDefaults(p Plan) *Plan {
	if len(p.Capacities) == 0 {
		p.Capacities = Sweep
	}
	if p.Strategy == nil {
		p.Strategy = Mix
	}
	if p.Schedules <= 0 {
		p.Schedules = 200
	}
	if p.Horizon <= 0 {
		p.Horizon = 24 * time.Hour
	}
	if p.Steps <= 0 {
		p.Steps = 1_000_000
	}
	return &p
}

// search is one exploration.
type search struct {
	t      *testing.T
	plan   *Plan
	length int // steps of the longest run
	notes  []string
}

// explore sweeps the capacities with every run number in turn, so that the eager
// run of each comes first.
func (s *search) explore() Report {
	n := len(s.plan.Capacities)
	for i := range s.plan.Schedules {
		r := s.run(s.plan.Capacities[i%n], i/n)
		if r.verdict == Pass {
			continue
		}
		report := s.report(r, i+1)
		if !r.stuck || r.verdict == Hang {
			s.confirm(&report)
			s.compare(&report)
		}
		return report
	}
	return Report{Verdict: Pass, Schedules: s.plan.Schedules, Tried: s.passed(), Notes: s.notes}
}

// run makes one schedule.
func (s *search) run(c Capacity, number int) *Run {
	r := s.newRun(c)
	r.chooser = s.plan.Strategy.Begin(s.plan.Seed, number, s.length)
	r.play(s.t, s.plan)
	s.length = max(s.length, len(r.steps))
	for _, note := range r.notes {
		if len(s.notes) < 3 {
			s.notes = append(s.notes, note+", at "+c.String())
		}
	}
	return r
}

func (s *search) newRun(c Capacity) *Run {
	return &Run{plan: s.plan, capacity: c, split: !s.plan.AckWithTake, limit: s.plan.Steps, horizon: s.plan.Horizon}
}

// follow runs the schedule of a token.
func (s *search) follow(token Token) Report {
	r := s.newRun(token.Capacity)
	r.token = &token
	r.play(s.t, s.plan)
	s.notes = r.notes
	report := s.report(r, 1)
	report.Token = token.String()
	return report
}

// confirm follows the token of a failure once: a report must not promise what it
// does not hold. This time the readers are traced, so the report says where those
// are blocked that hold a frame.
func (s *search) confirm(report *Report) {
	token, err := ParseToken(report.Token)
	if err != nil {
		panic(err) // what String writes is what ParseToken reads
	}
	notes := s.notes
	again := s.follow(token)
	s.notes = notes
	if again.Verdict != report.Verdict || again.Category != report.Category {
		report.Notes = append(report.Notes, fmt.Sprintf("the token did not give the same again, but: %s %s. %s",
			again.Verdict, again.Category, again.Explanation))
		return
	}
	report.Waits = again.Waits
}

// compare explores the other capacities with the same strategy: a verdict that
// changes with the capacity is a finding of its own.
func (s *search) compare(report *Report) {
	budget := min(max(20, 2*report.Schedules), 200)
	for _, c := range s.plan.Capacities {
		if c == report.Capacity {
			continue
		}
		tried := Tried{Capacity: c, Verdict: Pass}
		for tried.Verdict == Pass && tried.Schedules < budget {
			tried.Verdict = s.run(c, tried.Schedules).verdict
			tried.Schedules++
		}
		report.Tried = append(report.Tried, tried)
	}
}

// passed lists how many schedules each capacity passed.
func (s *search) passed() []Tried {
	n := len(s.plan.Capacities)
	list := make([]Tried, min(n, s.plan.Schedules))
	for i := range list {
		list[i] = Tried{Capacity: s.plan.Capacities[i], Verdict: Pass, Schedules: (s.plan.Schedules + n - 1 - i) / n}
	}
	return list
}
