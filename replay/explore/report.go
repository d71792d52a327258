package explore

import "github.com/mcprec/mcprec/store"

// The words of a report's verdict.
const (
	// Pass: every schedule that was run came to its end and satisfied the check.
	Pass = "pass"
	// Hang: an operation cannot return; nothing can happen that would let it.
	Hang = "hang"
	// Stall: an operation has not returned and nobody of the run moves; that no
	// timer will change this is not known. It is what [Settle] says for a hang.
	Stall = "stall"
	// CheckFailed: the plan's check, or an operation, returned an error.
	CheckFailed = "check failed"
	// Panic: an operation, Setup, Check or a goroutine of [Run.Go] panicked.
	Panic = "panic"
	// Leak: goroutines were left at the end that nothing ends, and no schedule of the
	// search failed otherwise.
	Leak = "leak"
	// Illegal: a live peer broke a rule of the protocol; the category is the rule.
	Illegal = "illegal"
	// Lost: a live peer has read a request and never answers it, though all
	// operations have returned.
	Lost = "lost"
	// Different: the answer to a request changes with the order. It takes two
	// schedules to see: the report names the other one's token, too.
	Different = "different"
	// Diverged: the token names a step that is not enabled.
	Diverged = "diverged"
	// Undecided: the run was still busy after the plan's limit of steps, or stood
	// still in something that its engine cannot see the end of; or the search was
	// stopped before its first schedule.
	Undecided = "undecided"
)

// stands reports whether a run with the verdict came to rest too early.
func stands(verdict string) bool { return verdict == Hang || verdict == Stall }

// What ended a search that found nothing.
const (
	EndSchedules = "schedules"
	EndCPU       = "cpu time"
	// EndTime: the plan's Budget was used up, or the test's deadline near.
	EndTime = "time"
	// EndStopped: the plan's Stop was closed.
	EndStopped = "interrupted"
	// EndVisited: [Exhaustive] has visited all classes of schedules.
	EndVisited = "all visited"
	// EndLost: Exhaustive met peers that did not do the same on the same steps.
	EndLost = "not the same again"
)

// The categories of a hang.
const (
	// HeadOn: both ends are at a write and no reader waits.
	HeadOn = "head-on"
	// Swallowed: a reader took one frame, has not come back, and what it or an
	// operation waits for is behind that frame.
	Swallowed = "swallowed"
	// Mutual: each end has read a request of the other and answers neither; one was
	// sent by an end after it had read the other.
	Mutual = "mutual call"
	// LostAnswer: the request or the response was read, both sides are at rest, and
	// nobody is left to answer the operation.
	LostAnswer = "lost answer"
	// NeverSent: what the operation waits for was not sent, or not to a reader.
	NeverSent = "never sent"
	// BlockedHandler: every request was answered and nothing is on its way, but the
	// handler of a notification, in the user's own code, has not returned.
	BlockedHandler = "blocked handler"
	// Lock: an operation waits for a mutex whose holder waits for ever.
	Lock = "lock"
	// TimerOnly: of a failed check: the operation ended by a timer alone.
	TimerOnly = "timer only"
)

// Report is the result of an exploration. All but the first failing schedule is
// left out.
type Report struct {
	Verdict  string `json:"verdict"`
	Category string `json:"category"` // of a hang, where it can be told
	// Explanation is one sentence on the failure.
	Explanation string `json:"explanation"`
	Level       Level  `json:"level"`
	// Capacity is the failing schedule's.
	Capacity Capacity `json:"capacity"`
	// Engine is the failing schedule's, or the plan's; "" is the bubble.
	Engine Engine `json:"engine,omitempty"`
	// Tried are the other capacities and what they gave; of a pass all of them.
	Tried []Tried `json:"tried"`
	// Slack says in words how the verdict changes with the capacity, of a failure
	// that was compared.
	Slack string `json:"slack"`
	// Boundary says from which capacity on this one schedule does not fail; "" if none.
	Boundary string `json:"boundary"`
	// Schedules is how many were run up to the failure, with it.
	Schedules int `json:"schedules"`
	// Ended is what ended the search, of a pass, and of a search that ran no schedule. Of a
	// failure it is EndTime or EndStopped if that cut short what follows on a failure, else "".
	Ended string `json:"ended"`
	// Planned is how many schedules there would have been.
	Planned int `json:"planned"`
	// Coverage is of the schedules that were run.
	Coverage Coverage `json:"coverage"`
	// Steps is how many steps the failing schedule had.
	Steps int `json:"steps"`
	// Unfinished names the operations that had not returned.
	Unfinished []string `json:"unfinished"`
	// Waits says who waits for what, and where the frames are.
	Waits []Wait `json:"waits"`
	// Broken are the rules of the protocol that live peers broke in the failing
	// schedule.
	Broken []Breach `json:"broken"`
	// Chain says who waits for whom, one after the other; the last line says
	// whether it goes round.
	Chain []string `json:"chain"`
	// Sequence draws the failing schedule.
	Sequence []string `json:"sequence"`
	// Stacks are of the goroutines at the failure, trimmed.
	Stacks []string `json:"stacks"`
	// Events are the failing schedule as a recording, in the form of a store.
	Events []store.Event `json:"-"`
	// Token reproduces the failing schedule.
	Token string `json:"token"`
	// Choices says in words what the token's schedule does other than eager.
	Choices []string `json:"choices"`
	// Shrunk says how the schedule came to be so simple, of a failure that was
	// followed again.
	Shrunk Shrunk `json:"shrunk"`
	// Smaller is the smallest session with the same failure, of a plan that plays one.
	Smaller *Smaller `json:"smaller"`
	// Leaked: goroutines of the failing schedule are left that nothing ends.
	Leaked bool `json:"leaked"`
	// Busy: the failing schedule was given up while a goroutine of it computed.
	Busy  bool     `json:"busy,omitempty"`
	Notes []string `json:"notes"`
	// Err is what the check returned.
	Err error `json:"-"`
}

// Tried is what another capacity gave.
type Tried struct {
	Capacity  Capacity `json:"capacity"`
	Verdict   string   `json:"verdict"`
	Schedules int      `json:"schedules"` // run at it, up to its first failure
	// Classes is how many classes of schedules [Exhaustive] has visited, and All
	// that there are no others. Schedules beyond them were cut.
	Classes int  `json:"classes,omitempty"`
	All     bool `json:"all,omitempty"`
}

// Wait says of one part of a hang what it holds and what it waits for.
type Wait struct {
	Who      string `json:"who"`
	Holds    string `json:"holds,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"`
	Why      string `json:"why"`
	// BlockedAt is the state and the place, in the peer's own code, of an operation,
	// or of a reader that has not come back.
	BlockedAt string `json:"blocked_at,omitempty"`
}

// report describes a run.
func (s *search) report(r *Run, schedules int) Report {
	report := Report{
		Verdict: r.verdict, Category: r.category, Explanation: r.why,
		Level: r.level, Engine: r.kind, Capacity: r.capacity, Schedules: schedules, Steps: len(r.steps),
		Waits: r.waits, Chain: r.chain.lines(), Sequence: r.sequence, Stacks: r.stacks,
		Token: r.asToken().String(), Events: r.recording,
		Choices: r.turns, Leaked: r.stuck, Busy: r.busy, Notes: append([]string(nil), r.notes...), Err: r.err,
	}
	report.Broken = append(report.Broken, r.broken...)
	if !stands(r.verdict) { // nobody waits for ever that is known
		report.Chain = nil
	}
	for _, op := range r.stood {
		report.Unfinished = append(report.Unfinished, op.name)
	}
	return report
}
