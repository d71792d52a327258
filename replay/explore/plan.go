package explore

import (
	"cmp"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Plan says what to explore. Only Setup is required.
type Plan struct {
	// Setup builds both peers on the ends of the run and adds the operations. It runs
	// inside a bubble, once a schedule: every channel, timer and goroutine of the peers
	// must be made here.
	Setup func(*Run)
	// Session is the recording that [Run.RecordedServer] and [Run.RecordedClient] play,
	// shared by the runs.
	Session []store.Event
	// Level says what order the recorded halves keep.
	Level Level
	// Capacities are tried in turn, from the first; nil is [Sweep], and Recorded
	// before its last.
	Capacities []Capacity
	// Recorded is the capacity at which a recording of these peers was made; between
	// processes it is not known.
	Recorded Capacity
	// HTTP, if not nil, lets the peers talk Streamable HTTP: see [HTTP].
	HTTP *HTTP
	// Engine keeps the runs still between steps; "" is [Bubble]. A token names an engine.
	Engine Engine
	// Strategy chooses the steps; nil is [Mix].
	Strategy Strategy
	// Schedules is how many runs to make, over all capacities; 0 is 400.
	Schedules int
	// CPU, if not 0, ends the search after this processor time of the process or, where the
	// system does not tell, this wall time times Workers. The first run at each capacity is
	// always made. The result of a search that CPU ends depends on the machine.
	CPU time.Duration
	// Budget, if not 0, is the real time for the search and for shrinking a failure; 0 is
	// nine tenths of the time until the deadline of the test, if any. The first run at each
	// capacity is made after it, too; but 10 seconds later each run ends that is under way, and
	// is not counted. The number of runs depends on Budget, the verdicts do not.
	Budget time.Duration
	// Stop, if not nil, ends the search as Budget does when it is closed.
	Stop <-chan struct{}
	// Progress, if not nil, is called after each schedule of the search, on the goroutine that
	// called [Search] or [Judge]. It is not called while a failure is made simpler.
	Progress func(Progress)
	// Workers is how many runs are made at once; 0 is 1. The result does not depend on the
	// number. Above 1, Setup and Check of different runs are called concurrently, and a
	// variable that two runs share makes false verdicts: use [Run.Data].
	Workers int
	// Seed changes the choices of the strategy.
	Seed uint64
	// Check judges a run whose operations have returned and in which no frame is on its
	// way. Without Check a run fails if an operation returns an error, or if the plan has
	// no operation.
	Check func(*Run) error
	// Token, if not "", is the only schedule to run, as a report printed it. Its level and
	// capacity count; Level, Capacities, Strategy, Schedules and Seed do not.
	Token string
	// SameAnswers makes it a failure, not a note, that the answer to a request with the
	// same parameters changes with the order (ids, progress tokens and _meta aside).
	SameAnswers bool
	// Lawless is for peers that break the rules of the protocol on purpose. Otherwise a
	// live peer that breaks a MUST makes the verdict Illegal, and a live peer that leaves a
	// request unanswered makes the verdict Lost.
	Lawless bool
	// Rules say when a message of a live end counts as a recorded one; see [Run.RecordedServer].
	Rules match.Rules
	// Advise, if not nil, returns a line to put before the report of a failure; "": none.
	Advise func(Report) string
	// Excuse is the end whose faults are notes and no verdicts, such as a server that is known
	// to be sloppy when your client is under test: rules that it breaks, requests that it
	// leaves unanswered, and answers of it that change with the order. What it makes of the
	// other end still counts: a hang, a panic, a failed check.
	Excuse End
	// Shrink is how many runs may be made to simplify the schedule of a failure, and again
	// its Session; 0 is 100, less than 0 none.
	Shrink int
	// AckWithTake lets a Write return in the step that takes the frame: fewer schedules,
	// but bugs between the two steps are out of reach.
	AckWithTake bool
	// Horizon is the virtual time without any but periodic traffic after which a run at
	// rest is a hang; 0 is 24 hours.
	Horizon time.Duration
	// again makes this plan's Setup for another session.
	again func([]store.Event) (Plan, error)
	// notes go into the report.
	notes []string
	// ready is the Session as the runs share it.
	ready *halves.Session
	// Timers is how many timers of the peers may fire in a run while frames wait: time passes
	// to the next one that makes a peer use the transport, at most 5 minutes. A deadline, a
	// keepalive or a retry then races the frames; with 0 timers fire only when nothing else can
	// go on. With Timers a short deadline of the test's own fails schedules: the report says
	// which frame waited meanwhile. [Settle], whose time is real, ignores Timers; a token that
	// names timers is followed without.
	Timers int
	// Steps ends a run as undecided, such as one in which a client polls for ever; 0 is 400,000, and
	// twenty more for each event of Session.
	Steps int
	// Patience is the real time that a run may stand still in a wait with an end that the
	// engine cannot see, before the run is undecided; 0 is 5 seconds. A run in which a peer
	// only computes is undecided after 12 times Patience, and not before a minute.
	Patience time.Duration
	stamina  time.Duration // how long a peer may compute: see stopwatch
	grace    *grace        // of settled runs

	mostLeaks int // the search ends after so many runs that leave goroutines behind
}

// HTTP is how the peers of a plan talk Streamable HTTP. The clients use [Run.HTTPClient], the
// server is the handler of [Run.Handle]; [Run.RecordedClient] and [Run.RecordedServer] play over
// HTTP, too. Nothing touches a network. Steps are the arrival of each
// request at the handler, the head and the events and the end of each response, and the news
// that a client gave an exchange up. Exchanges have no order among each other.
//
// A plan with HTTP and without Capacities lets a response keep what its handler writes, without
// a limit, as the buffers of sockets do. With a capacity s2c of n, a handler waits in Write or
// Flush while more than n events are kept. A server that holds a mutex over the write may then
// freeze its bubble.
type HTTP struct {
	// Cuts is how many times a run may break the connection of a response that the client can
	// resume: it has read an event with an id.
	Cuts int
}

// End is an end of the transport.
type End string

// The two ends.
const (
	TheClient End = "client"
	TheServer End = "server"
)

// excuses reports whether the faults of the end that sends in a direction are no verdicts.
func (p *Plan) excuses(dir transport.Direction) bool { return p.Excuse == End(dir.Sender()) }

// Progress is how far a search has come.
type Progress struct {
	Done, Total int // schedules; a search may end before Total
	Elapsed     time.Duration
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

// The constants of package schedule.
const (
	Unbounded     = schedule.Unbounded
	DeliveryOrder = schedule.DeliveryOrder
	SendingOrder  = schedule.SendingOrder
	Bubble        = schedule.Bubble
	Settle        = schedule.Settle
)

// Sweep are the capacities that a plan tries by itself.
var Sweep = schedule.Sweep

// ParseToken reads the token of a report.
func ParseToken(s string) (Token, error) { return schedule.ParseToken(s) }

// ParseLevel reads "delivery" or "sending".
func ParseLevel(s string) (Level, error) { return schedule.ParseLevel(s) }

// Step is an enabled step; see package gate.
type Step = gate.Step

// terms are what a run is made under. They do not change once it plays.
type terms struct {
	plan            *Plan
	level           schedule.Level
	capacity        schedule.Capacity
	engine          schedule.Engine
	number          int          // of the run in its search, at its capacity
	limit           int          // of steps
	parser          *gate.Parser // of the search, or nil
	watches         bool         // the stacks tell when the bubble is at rest: see bubble.waitUntilStill
	withoutTimers   bool         // no time passes while frames wait, whatever the plan says
	timersStoppedAt string       // where a goroutine waited for a mutex when the same run stopped in a Time step
	untraced        bool         // no tracer, though the run follows a token
	repeats         bool         // it is made to prove the freeze of another run
	keeps           bool         // the steps are kept after a pass, too
	late            *atomic.Bool // the run has to end: see limits.watch
}

// inRealTime reports whether time is real.
func (t *terms) inRealTime() bool { return t.engine == schedule.Settle }

func withDefaults(plan Plan) *Plan {
	if plan.Engine == Bubble {
		plan.Engine = ""
	}
	if len(plan.Capacities) == 0 && plan.HTTP != nil {
		plan.Capacities = []Capacity{{C2S: Unbounded, S2C: Unbounded}}
	}
	if len(plan.Capacities) == 0 {
		plan.Capacities = Sweep
		if !slices.Contains(Sweep, plan.Recorded) {
			plan.Capacities = slices.Insert(slices.Clone(Sweep), len(Sweep)-1, plan.Recorded)
		}
	}
	if plan.Strategy == nil {
		plan.Strategy = schedule.Mix
	}
	plan.Schedules = cmp.Or(max(plan.Schedules, 0), 400)
	plan.Shrink = cmp.Or(plan.Shrink, 100)
	plan.Timers = max(plan.Timers, 0)
	plan.Horizon = cmp.Or(max(plan.Horizon, 0), 24*time.Hour)
	plan.Patience = cmp.Or(max(plan.Patience, 0), 5*time.Second)
	plan.stamina = cmp.Or(max(plan.stamina, 0), max(time.Minute, 12*plan.Patience))
	plan.mostLeaks = cmp.Or(max(plan.mostLeaks, 0), 200) // goroutines stay, and every look reads their stacks again
	plan.Steps = cmp.Or(max(plan.Steps, 0), 400_000+20*len(plan.Session))
	plan.ready = halves.NewSession(plan.Session, plan.Rules)
	plan.grace = &grace{}
	return &plan
}

// cpuBudget returns a function that reports whether the processor time is used up; a limit
// of 0 is none.
func cpuBudget(limit time.Duration, used func() time.Duration) (spent func() bool) {
	begin := used()
	return func() bool { return limit > 0 && used()-begin >= limit }
}

// workTime returns a function that tells the processor time of the process or, where the
// system does not, the wall time of so many workers.
func workTime(workers int) (used func() time.Duration) {
	start := time.Now()
	return func() time.Duration {
		if d, ok := processTime(); ok {
			return d
		}
		return time.Since(start) * time.Duration(max(1, workers))
	}
}

// stopwatch measures how long a peer has computed.
type stopwatch struct {
	start time.Time
	used  time.Duration // by the process, at the start
}

func startStopwatch() stopwatch {
	used, _ := processTime()
	return stopwatch{time.Now(), used}
}

// elapsed returns the lesser of the real time since the start and the processor time of the
// process: on a busy machine, real time passes in which a peer does not compute.
func (w stopwatch) elapsed() time.Duration {
	elapsed := time.Since(w.start)
	if used, ok := processTime(); ok {
		elapsed = min(elapsed, used-w.used)
	}
	return elapsed
}

// limits end a search from outside. No verdict depends on limits: the report leaves out
// unfinished work, or says how much was done.
type limits struct {
	stop  <-chan struct{} // or nil
	until time.Time       // zero: there is time
}

// lastRuns is how long the runs under way may go on when the time of the search is up, or it was interrupted.
const lastRuns = 10 * time.Second

// watch sets late when the runs under way have to end, and returns what ends the watch.
func (l limits) watch(late *atomic.Bool) (end func()) {
	if l.stop == nil && l.until.IsZero() {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		var due <-chan time.Time
		if !l.until.IsZero() {
			due = time.After(time.Until(l.until))
		}
		select {
		case <-l.stop:
		case <-due:
		case <-over:
			return
		}
		select {
		case <-time.After(lastRuns):
			late.Store(true)
		case <-over:
		}
	}()
	return func() { close(over) }
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
// The user's higher percentage, or a collector turned off, is left alone.
func raiseGC() (restore func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.users++; collector.users == 1 {
		collector.before = debug.SetGCPercent(exploreGC)
		if collector.before < 0 || collector.before > exploreGC {
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
