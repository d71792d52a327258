package explore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// Plan says what to explore. Only Setup is required.
type Plan struct {
	// Setup builds both peers on the ends of the run and adds the operations. It runs
	// inside a bubble, once a schedule: every channel, timer and goroutine of the peers
	// must be made here.
	Setup func(*Run)
	// Session is the recording that [Run.RecordedServer] and [Run.RecordedClient] play. All
	// runs share it.
	Session []store.Event
	// Level says what order the recorded halves keep.
	Level Level
	// Capacities are tried in turn, from the first; nil is [Sweep], and Recorded
	// before its last.
	Capacities []Capacity
	// Recorded is the capacity at which a recording of these peers was made, where it is
	// known; between processes it is not.
	Recorded Capacity
	// Engine keeps the runs still between their steps; "" is [Bubble]. A token has its own.
	Engine Engine
	// Strategy chooses the steps; nil is [Mix].
	Strategy Strategy
	// Schedules is how many runs to make, over all capacities; 0 is 200.
	Schedules int
	// CPU, if not 0, ends the search when the process has used this processor time for it,
	// or, where the system does not tell, this wall time times Workers. The first run at
	// each capacity is always made. Only the result of a search that CPU ends depends on
	// the machine.
	CPU time.Duration
	// Budget, if not 0, is the real time for the search and for shrinking a failure; 0 is
	// nine tenths of the time until the deadline of the test, where it has one. The first
	// run at each capacity is always made. No verdict depends on it, but the number of runs
	// does.
	Budget time.Duration
	// Stop, if not nil, ends the search as Budget does when it is closed.
	Stop <-chan struct{}
	// Workers is how many runs are made at once; 0 is one. The result does not depend on
	// it. With more than one, Setup and Check of different runs are called concurrently,
	// and a variable outside of them that two runs share makes false verdicts: use
	// [Run.Data].
	Workers int
	// Seed changes the choices of the strategy.
	Seed uint64
	// Check judges a run whose operations have returned and in which no frame is on its
	// way. Without it a run fails if an operation returns an error, or if there is no
	// operation.
	Check func(*Run) error
	// Token, if not "", is the only schedule to run, as a report printed it. Its level and
	// capacity count; Level, Capacities, Strategy, Schedules and Seed do not.
	Token string
	// SameAnswers makes it a failure, not a note, that the answer to a request with the
	// same parameters changes with the order (ids, progress tokens and _meta aside).
	SameAnswers bool
	// Lawless is for peers that break the rules of the protocol on purpose. Without it a
	// live peer that breaks a MUST makes the verdict Illegal, and one that leaves a request
	// unanswered makes it Lost.
	Lawless bool
	// Shrink is how many runs may be made to simplify the schedule of a failure, and again
	// its Session; 0 is 100, less than 0 none.
	Shrink int
	// AckWithTake lets a Write return in the step that takes its frame. Fewer
	// schedules, but a bug between the two is out of reach.
	AckWithTake bool
	// Horizon is the virtual time without any but periodic traffic after which a run at
	// rest is a hang; 0 is 24 hours.
	Horizon time.Duration
	// again makes this plan's Setup for another session.
	again func([]store.Event) (Plan, error)
	// notes go into the report.
	notes []string
	// ready is what runs share of the Session.
	ready *prepared
	// Steps ends a run as undecided; 0 is a million.
	Steps int
	// Patience is the real time that a run may stand still in a wait whose end the engine
	// cannot see, before it is undecided; 0 is 5 seconds. A run in which a peer only
	// computes is undecided after 12 times that, and not before a minute.
	Patience time.Duration
	stamina  time.Duration // how long a peer may compute: see stopwatch
	grace    *grace        // of settled runs

	mostLeaks int // the search ends after so many runs that leave goroutines behind
}

// The words of a plan, of package schedule.
type (
	Strategy     = schedule.Strategy
	StrategyFunc = schedule.StrategyFunc
	Chooser      = schedule.Chooser
	Token        = schedule.Token
	Choice       = schedule.Choice
	Capacity     = schedule.Capacity
	Level        = schedule.Level
	Engine       = schedule.Engine
	Coverage     = schedule.Coverage
)

// The strategies, and what a plan tries by itself; see package schedule.
var (
	Eager  = schedule.Eager
	Random = schedule.Random
	POS    = schedule.POS
	Starve = schedule.Starve
	PCT    = schedule.PCT
	Mix    = schedule.Mix
	Sweep  = schedule.Sweep
)

// The constants of package schedule.
const (
	Unbounded = schedule.Unbounded
	L0        = schedule.L0
	L1        = schedule.L1
	Bubble    = schedule.Bubble
	Settle    = schedule.Settle
)

// ParseToken reads a token that a report printed.
func ParseToken(s string) (Token, error) { return schedule.ParseToken(s) }

// ParseLevel reads "L0" or "L1".
func ParseLevel(s string) (Level, error) { return schedule.ParseLevel(s) }

// Step is a step that may be released now, and Kind what it releases; see package gate.
type (
	Step = gate.Step
	Kind = gate.Kind
)

// The kinds of step; see package gate.
const (
	Start     = gate.Start
	Ack       = gate.Ack
	Give      = gate.Give
	Take      = gate.Take
	End       = gate.EOF
	Close     = gate.Close
	Relent    = gate.Relent
	HalfClose = gate.HalfClose
	Reach     = gate.Reach
)

// Explore runs the plan and fails the test with the report unless every schedule passes.
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
	deadline, _ := t.Deadline()
	return explore(t, p, deadline)
}

// explore is Search in a test that must be done by a time, if it is not zero.
func explore(t *testing.T, p Plan, deadline time.Time) (report Report) {
	t.Helper()
	s := search{t: t, plan: withDefaults(p), seen: schedule.NewTally()}
	s.limits = limits{stop: p.Stop}
	if p.Budget > 0 {
		s.limits = s.limits.within(p.Budget)
	} else if !deadline.IsZero() {
		s.limits = s.limits.within(time.Until(deadline) / 10 * 9)
	}
	defer func() {
		report.Notes = append(slices.Clone(p.notes), report.Notes...)
		if s.leaks.runs > 0 {
			note := fmt.Sprintf("goroutines were left in %d of %s", s.leaks.runs, phrase.Plural(s.done, "schedule"))
			if s.leaks.runs == s.plan.mostLeaks {
				note += "; the search ended there: they stay in the process"
			}
			report.Notes = append(report.Notes, note)
		}
		report.Notes = slices.Concat(report.Notes, s.skipped.notes(), s.hidden)
	}()
	if p.Setup == nil {
		t.Fatal("explore plan: it has no Setup")
	}
	defer raiseGC()()
	if p.Token == "" {
		s.line = newProgress()
		defer s.line.end()
		return s.explore()
	}
	token, err := ParseToken(p.Token)
	if err != nil {
		t.Fatalf("explore plan: %v", err)
	}
	s.plan.Engine = token.Engine
	if p.SameAnswers {
		s.remark(s.run(s.plan.Capacities[0], 0))
	}
	report = s.follow(token)
	if p.SameAnswers && report.Verdict == Pass {
		report.Notes = append(report.Notes, "answers were compared with those of the eager schedule alone")
	}
	return report
}

func withDefaults(p Plan) *Plan {
	if p.Engine == Bubble {
		p.Engine = ""
	}
	if len(p.Capacities) == 0 {
		p.Capacities = Sweep
		if !slices.Contains(Sweep, p.Recorded) {
			p.Capacities = slices.Insert(slices.Clone(Sweep), len(Sweep)-1, p.Recorded)
		}
	}
	if p.Strategy == nil {
		p.Strategy = Mix
	}
	p.Schedules = cmp.Or(max(p.Schedules, 0), 200)
	p.Shrink = cmp.Or(p.Shrink, 100)
	p.Horizon = cmp.Or(max(p.Horizon, 0), 24*time.Hour)
	p.Patience = cmp.Or(max(p.Patience, 0), 5*time.Second)
	p.stamina = cmp.Or(max(p.stamina, 0), max(time.Minute, 12*p.Patience))
	p.mostLeaks = cmp.Or(max(p.mostLeaks, 0), 200) // goroutines stay, and every look reads their stacks again
	p.Steps = cmp.Or(max(p.Steps, 0), 1_000_000)
	p.ready, p.grace = prepare(p.Session), &grace{}
	return &p
}

// Judge is Search without a test: nothing is printed, no flag is defined, and the process
// does not end with it. The error says what is wrong with the plan. The bubbles are the
// same: testing/synctest wants a *testing.T only to hang the T of the bubble on, and an
// empty one will do.
func Judge(p Plan) (Report, error) {
	if p.Setup == nil {
		return Report{}, errors.New("explore: the plan has no Setup")
	}
	if p.Token != "" {
		if _, err := ParseToken(p.Token); err != nil {
			return Report{}, err
		}
	}
	return explore(new(testing.T), p, time.Time{}), nil
}

// budget is the processor time that a search may use.
type budget struct {
	limit time.Duration // 0: any
	begin time.Duration
	used  func() time.Duration
}

func newBudget(limit time.Duration, workers int) *budget {
	start := time.Now()
	b := &budget{limit: limit, used: func() time.Duration {
		if d, ok := processTime(); ok {
			return d
		}
		return time.Since(start) * time.Duration(max(1, workers))
	}}
	b.begin = b.used()
	return b
}

// spent reports whether the budget is used up.
func (b *budget) spent() bool { return b.limit > 0 && b.used()-b.begin >= b.limit }

// stopwatch measures how long a peer has computed.
type stopwatch struct {
	start time.Time
	used  time.Duration // by the process, at the start
}

func startStopwatch() stopwatch {
	used, _ := processTime()
	return stopwatch{time.Now(), used}
}

// elapsed returns the real time since the start, or the processor time of the process where
// that is less: on a machine that is busy with something else, time passes in which a peer
// gets nothing done.
func (w stopwatch) elapsed() time.Duration {
	elapsed := time.Since(w.start)
	if used, ok := processTime(); ok {
		elapsed = min(elapsed, used-w.used)
	}
	return elapsed
}

// aftermath is the real time for shrinking a failure, following its token and trying other
// capacities together: where a run takes seconds, hundreds are too many.
const aftermath = time.Minute

// limits end a search from outside. No verdict depends on them: the report leaves out what
// they cut short, or says how much was done.
type limits struct {
	stop  <-chan struct{} // nil: nobody stops it
	until time.Time       // zero: there is time
}

// within returns the limits of a part of the search that may take d from now on.
func (l limits) within(d time.Duration) limits {
	if until := time.Now().Add(d); l.until.IsZero() || until.Before(l.until) {
		l.until = until
	}
	return l
}

// ended says what ended the search; "" while it goes on.
func (l limits) ended() string {
	select {
	case <-l.stop:
		return EndStopped
	default:
	}
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		return EndTime
	}
	return ""
}

// exploreGC is the percentage of the collector while schedules run: each leaves little
// behind, and collecting at 100 % costs more than half of the time.
const exploreGC = 800

var collector struct {
	sync.Mutex
	users  int
	before int
}

// raiseGC raises the percentage of the collector for the process and returns the way back.
// A higher percentage of the user, or none at all, is left alone.
func raiseGC() (restore func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.users++; collector.users == 1 {
		if collector.before = debug.SetGCPercent(exploreGC); collector.before < 0 || collector.before > exploreGC {
			debug.SetGCPercent(collector.before)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.users--; collector.users == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}

const (
	progressAfter = time.Second            // a shorter search says nothing
	progressEvery = 200 * time.Millisecond // the line is drawn so often at most
	progressWidth = 79
	eraseLine     = "\r\x1b[K"
)

// progress draws one line on a terminal while a search runs.
type progress struct {
	w     io.Writer
	now   func() time.Time
	begin time.Time
	next  time.Time // when to draw again
	drawn bool
}

// progressing is set while a search has the line of the terminal.
var progressing atomic.Bool

// newProgress returns nil without a terminal to draw on; the methods do nothing then.
func newProgress() *progress {
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || !progressing.CompareAndSwap(false, true) {
		return nil
	}
	p := &progress{w: os.Stderr, now: time.Now}
	p.start()
	return p
}

func (p *progress) start() {
	p.begin = p.now()
	p.next = p.begin.Add(progressAfter)
}

// step draws the line when it is time to.
func (p *progress) step(plan *Plan, done int) {
	if p == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressEvery), true
	fmt.Fprint(p.w, eraseLine, progressText(plan, done, now.Sub(p.begin)))
}

// end takes the line away.
func (p *progress) end() {
	if p == nil {
		return
	}
	if p.drawn {
		fmt.Fprint(p.w, eraseLine)
	}
	progressing.Store(false)
}

// progressText is the line: how far the search is, how fast, and where.
func progressText(plan *Plan, done int, elapsed time.Duration) string {
	budget := ""
	if plan.CPU > 0 {
		budget = fmt.Sprintf(" or %v of CPU time", plan.CPU)
	}
	rate := float64(done) / max(elapsed, time.Millisecond).Seconds()
	words := make([]string, len(plan.Capacities))
	for i, c := range plan.Capacities {
		words[i] = c.Short()
	}
	line := fmt.Sprintf("explore: %d of %d schedules%s, %.0f/s, capacities %s",
		done, plan.Schedules, budget, rate, strings.Join(words, ", "))
	if len(line) > progressWidth {
		line = line[:progressWidth-3] + "..."
	}
	return line
}
