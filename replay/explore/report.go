package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// The words of a report's verdict.
const (
	// Pass: every schedule came to its end and satisfied the check.
	Pass = "pass"
	// Hang: an operation cannot return, whatever happens.
	Hang = "hang"
	// Stall: an operation has not returned and the run stands still; a timer might still
	// end the standstill. It is the hang of [Settle].
	Stall = "stall"
	// CheckFailed: the plan's check, or an operation, returned an error.
	CheckFailed = "check failed"
	// Panic: an operation, Setup, Check or a goroutine of [Run.Go] panicked. A panic of another
	// goroutine ends the process: the trace begins with the token of the schedule.
	Panic = "panic"
	// DataRace: the race detector reported a data race while the schedule ran in its bubble.
	// The schedule is not shrunk, nor its token followed: the detector reports each race once a
	// process, so a token needs go test -race in a process of its own. A race of tests that run
	// in parallel may be taken for one of the schedule.
	DataRace = "data race"
	// Leak: goroutines were left at the end, and no schedule of the search failed
	// otherwise.
	Leak = "leak"
	// Illegal: a live peer broke a rule of the protocol; the category is the rule.
	Illegal = "illegal"
	// Lost: a live peer has read a request and never answers, though every operation has
	// returned.
	Lost = "lost"
	// Different: the answer to a request changes with the order. The report names the token
	// of the other schedule too.
	Different = "different"
	// Diverged: the token names a step that is not enabled.
	Diverged = "diverged"
	// Undecided: the run was still busy after the limit of steps, or stood still in a wait
	// with an end that the engine cannot see; or the search was stopped before a schedule.
	Undecided = "undecided"
)

// stands reports whether a run with the verdict came to rest too early.
func stands(verdict string) bool { return verdict == Hang || verdict == Stall }

// The ends of a search without failure.
const (
	EndSchedules = "orders"
	EndCPU       = "cpu time"
	// EndTime: the plan's Budget was used up, or the test's deadline near.
	EndTime = "time"
	// EndStopped: the plan's Stop was closed.
	EndStopped = "interrupted"
	// EndVisited: [Exhaustive] has visited all classes of schedules.
	EndVisited = "all visited"
	// EndLost: Exhaustive met peers that behaved differently on the same steps.
	EndLost = "not the same again"
)

// The categories of a hang, and of a failed check; see package replay/closed.
const (
	BothWrite          = closed.BothWrite
	BehindNotification = closed.BehindNotification
	BehindRequest      = closed.BehindRequest
	BehindAnswer       = closed.BehindAnswer
	BehindBatch        = closed.BehindBatch
	MutualWait         = closed.MutualWait
	AnswerLost         = closed.AnswerLost
	NeverSent          = closed.NeverSent
	BlockedHandler     = closed.BlockedHandler
	Pool               = closed.Pool
	Lock               = closed.Lock
	TimerOnly          = closed.TimerOnly
)

type (
	// Wait is a part of a hang; see package hang.
	Wait = hang.Wait
	// Breach is a frame that broke a rule of the protocol.
	Breach = gate.Breach
)

// Report is the result of an exploration, with the first schedule that failed.
type Report struct {
	Verdict  string `json:"verdict"`
	Category string `json:"category"` // of a hang, where known
	// Advice is what the plan's Advise said.
	Advice string `json:"advice,omitempty"`
	// Blocked are the lines of the user's code at which a handler waits, at a hang.
	Blocked []string `json:"blocked"`
	// Explanation is a sentence on the failure.
	Explanation string `json:"explanation"`
	// Summary says which ends would hang on the session; "" if an end is live.
	Summary string         `json:"summary,omitempty"`
	Level   schedule.Level `json:"vary"`
	// Capacity is the failing schedule's.
	Capacity schedule.Capacity `json:"buffer"`
	// Engine is the failing schedule's, or the plan's; "" is the bubble.
	Engine schedule.Engine `json:"engine,omitempty"`
	// Tried are the verdicts at the other capacities; after a pass at every capacity.
	Tried []Tried `json:"tried"`
	// Slack says in words how the verdict changes with the capacity.
	Slack string `json:"depends"`
	// Boundary says from which capacity on this schedule does not fail; "" if there is
	// none.
	Boundary string `json:"boundary"`
	// Schedules counts the runs up to the failure, with it.
	Schedules int `json:"orders"`
	// Ended is the end of a search that passed or ran no schedule. For a failure it is
	// EndTime or EndStopped if the shrinking was cut short, otherwise "".
	Ended string `json:"ended"`
	// Planned counts the runs that there would have been.
	Planned int `json:"planned"`
	// Coverage says how much the runs have seen.
	Coverage schedule.Coverage `json:"coverage"`
	// Decided says that one schedule decides at each capacity, because the peers come to the
	// same end in every order. The caller sets it: Text then says so in place of the coverage.
	Decided bool `json:"decided,omitempty"`
	// AtRest: a search that passed met no [Point], so a live side came to rest between two messages each time.
	AtRest bool `json:"at_rest,omitempty"`
	// Steps counts the steps of the failing schedule.
	Steps int `json:"steps"`
	// Failing is the failing schedule with its steps; nil after a pass, and for a run that
	// was given up. Passing is the nearest schedule that passes: the longest beginning in
	// common with Failing, or else the same order with more room; nil if none was found.
	Failing *Schedule `json:"failing,omitempty"`
	Passing *Schedule `json:"passing,omitempty"`
	// Apart is the index of the first step, of all, that only one of the two has.
	Apart int `json:"apart"`
	// Unfinished names the operations that had not returned.
	Unfinished []string `json:"unfinished"`
	// Waits are the waits of the parts, and the places of the frames.
	Waits []hang.Wait `json:"waits"`
	// WaitsAt says, of a failed check, when Waits were seen; they may have ended since.
	WaitsAt string `json:"waits_at,omitempty"`
	// Broken are the rules of the protocol that live peers broke in the failing schedule.
	Broken []gate.Breach `json:"broken"`
	// Chain is the chain of waits; the last line says whether the chain goes round.
	Chain []string `json:"chain"`
	// Sequence draws the failing schedule.
	Sequence []string `json:"sequence"`
	// Stacks are of the goroutines at the failure, trimmed.
	Stacks []string `json:"stacks"`
	// Events are the failing schedule as a recording, in the form of a store.
	Events []store.Event `json:"-"`
	// Token reproduces the failing schedule.
	Token string `json:"token"`
	// Choices says in words where the schedule differs from eager.
	Choices []string `json:"choices"`
	// Timers says of each step in which time passed while frames waited: for how long, which
	// frames waited, what a timer brought, and where the goroutines stood that it woke.
	Timers []string `json:"timers"`
	// Shrunk says how the schedule came to be so simple.
	Shrunk Shrunk `json:"shrunk"`
	// Smaller is the smallest session with the same failure, of a plan that plays one.
	Smaller *Smaller `json:"smaller"`
	// Leaked: goroutines of the failing schedule are left.
	Leaked bool `json:"leaked"`
	// Busy: the failing schedule was given up while a goroutine of it computed.
	Busy  bool     `json:"busy,omitempty"`
	Notes []string `json:"notes"`
	// Err is the error of the check.
	Err error `json:"-"`
}

// Tried is the verdict at another capacity.
type Tried struct {
	Capacity  schedule.Capacity `json:"buffer"`
	Verdict   string            `json:"verdict"`
	Schedules int               `json:"orders"` // run, up to the first failure
	// Classes counts the classes of schedules that [Exhaustive] has visited; All: there are
	// no other classes. Further schedules were cut.
	Classes int  `json:"classes,omitempty"`
	All     bool `json:"all,omitempty"`
}

// Shrunk says how the schedule of a report was made simpler, and whether its token holds.
type Shrunk struct {
	// From and To count the choices that deviate from eager.
	From int `json:"from"`
	To   int `json:"to"`
	// Runs counts the schedules made for it.
	Runs int `json:"runs"`
	// Held counts how many of Verified runs of the token failed in the same way.
	Held     int `json:"held"`
	Verified int `json:"verified"`
}

// Smaller is the smallest session found that fails in the same way as the plan's session.
type Smaller struct {
	// From and To count the frames of the plan's session and of this one.
	From int `json:"from"`
	To   int `json:"to"`
	// Runs counts the sessions that were tried.
	Runs int `json:"runs"`
	// Token reproduces the failure with this session in the plan.
	Token string `json:"token"`
	// Held counts how many of Verified runs of the token did.
	Held     int `json:"held"`
	Verified int `json:"verified"`
	// Boundary says at which capacities the failure shows; "" if unknown.
	Boundary string `json:"boundary"`
	// Events are the session.
	Events []store.Event `json:"-"`
}

// Text returns the report for a reader: for a pass a line, the coverage and notes; for a
// failure the waits, in the manner of Java's deadlock report, then the capacities, the run
// and the stacks.
func (r Report) Text() string {
	var b strings.Builder
	if r.Verdict == Pass || r.Verdict == Undecided && r.Schedules == 0 {
		fmt.Fprintf(&b, "%s %s", strings.ToUpper(r.Verdict), r.Level.Words())
		if r.Engine != "" {
			fmt.Fprintf(&b, ", engine %s", r.Engine)
		}
		count := phrase.Plural(r.Schedules, "order")
		if r.Ended == EndTime || r.Ended == EndStopped {
			count = fmt.Sprintf("%d of %s", r.Schedules, phrase.Plural(r.Planned, "order"))
		}
		fmt.Fprintf(&b, ", %s%s", count, endTexts[r.Ended])
		for _, t := range r.Tried {
			fmt.Fprintf(&b, ", %v %s (%s)", t.Capacity, t.Verdict, t.count())
		}
		if r.Explanation != "" {
			fmt.Fprintf(&b, ": %s", r.Explanation)
		}
		b.WriteByte('\n')
	} else {
		r.failureText(&b)
	}
	if r.Decided {
		fmt.Fprintf(&b, "one order decides with each buffer: these models come to the same end in every order of delivery\n")
	} else if r.Coverage.Classes > 0 && (r.Verdict == Pass || r.Verdict == Undecided) {
		r.coverageText(&b)
		if c := r.Coverage; c.Timed > 0 {
			fmt.Fprintf(&b, "timers: time passed while messages waited in %s; in %d of them a timer then made a side use the transport\n",
				phrase.Plural(c.Timed, "order"), c.Fired)
		}
	}
	if r.AtRest {
		b.WriteString("handlers ran to rest between messages: orders of your own goroutines were not tried; " +
			"explore.Point, or gosdk.Points for all handlers, makes them steps\n")
	}
	if r.Schedules > 0 {
		fmt.Fprintf(&b, "%s: %s\n", r.Level.Words(), r.Level.Meaning())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// coverageText says which share of the orders the search has seen.
func (r Report) coverageText(b *strings.Builder) {
	c := r.Coverage
	fmt.Fprintf(b, "coverage: %s of the steps", phrase.Plural(c.Classes, "different order"))
	switch {
	case r.Ended == EndVisited:
		b.WriteString(", and there are no others")
	case r.Schedules > c.Recent && c.Recent > 0:
		fmt.Fprintf(b, " in %s; the last %d brought %s", phrase.Plural(r.Schedules, "order"), c.Recent, phrase.Plural(c.New, "new order"))
		if 2*c.New >= c.Recent {
			b.WriteString(", so more orders would bring more")
		}
	}
	if c.Races > 0 {
		of := "of "
		if c.Uncounted {
			of = "of the first "
		}
		fmt.Fprintf(b, "; %s%s of steps that can go either way, %d went both ways", of, phrase.Plural(c.Races, "pair"), c.Reversed)
	}
	b.WriteByte('\n')
}

// Brief returns the beginning of the text of a failure, in at most so many lines, and how many lines are left
// out. What stands in front of the first empty line is whole.
func (r Report) Brief(most int) (text string, left int) {
	lines := strings.SplitAfter(r.Text(), "\n")
	lines = lines[:len(lines)-1] // behind the last newline
	if len(lines) <= most {
		return r.Text(), 0
	}
	most = max(most, slices.Index(lines, "\n"))
	if run := slices.Index(lines, "  the run:\n"); run >= 0 && run < most && most < run+1+len(r.Sequence) {
		most = run // a part of the run says nothing
	}
	for behind := 1; behind <= 3; behind++ { // a title with nothing below it says nothing
		if lines[most-behind] == "\n" {
			most -= behind
			break
		}
	}
	return strings.Join(lines[:most], ""), len(lines) - most
}

func (r Report) failureText(b *strings.Builder) {
	if r.Advice != "" {
		fmt.Fprintf(b, "%s\n", r.Advice)
	}
	for _, line := range r.Blocked {
		fmt.Fprintf(b, "blocked in your code: %s\n", line)
	}
	word := strings.ToUpper(r.Verdict)
	if r.Verdict == Hang {
		word += " (proved)"
	}
	if r.Verdict == Stall {
		word += " (quiescent)"
	}
	if r.Category != "" {
		word += " " + r.Category
	}
	if r.Engine != "" {
		word += ", engine " + string(r.Engine)
	}
	if r.Summary != "" {
		fmt.Fprintf(b, "A%s.\n", r.Summary[1:])
	}
	fmt.Fprintf(b, "%s, %s, buffer %v, %s, order %d\ntoken %s\n", word, r.Level.Words(), r.Capacity,
		phrase.Plural(r.Steps, "step"), r.Schedules, r.Token)
	switch lines := strings.Split(r.Explanation, "\n"); {
	case len(lines) > 1 || r.Verdict == CheckFailed: // the words of the test
		fmt.Fprintf(b, "  %s\n", strings.Join(lines, "\n  "))
	case r.Explanation != "":
		fmt.Fprintf(b, "  %s.\n", r.Explanation)
	}
	writeList(b, "the order that it takes, all else in the default order", r.Choices, 5)
	if s := r.Shrunk; s.To < s.From {
		fmt.Fprintf(b, "    (shrunk from %s to %d, in %s; the token held %d of %d times)\n",
			phrase.Plural(s.From, "choice"), s.To, phrase.Plural(s.Runs, "run"), s.Held, s.Verified)
	}
	writeList(b, "time passed while messages waited", r.Timers, 5)
	r.waitText(b)
	if len(r.Chain) > 1 { // one alone waits for nobody
		writeList(b, "who waits for whom", []string{strings.Join(r.Chain, "\n-> ")}, 1)
	}
	var broken []string
	for i, v := range r.Broken {
		text := fmt.Sprintf("step %d, %s\n  %v", v.Step, v.Frame, v)
		if len(v.Code) > 0 && (i == 0 || !slices.Equal(v.Code, r.Broken[i-1].Code)) {
			text += "\n  written at\n    " + strings.Join(v.Code, "\n    ")
		}
		broken = append(broken, text)
	}
	writeList(b, "rules broken", broken, 5)
	if r.Slack != "" {
		fmt.Fprintf(b, "\n  buffers: %s\n", r.Slack)
	}
	if r.Boundary != "" {
		fmt.Fprintf(b, "  this very order: %s (each way alone)\n", r.Boundary)
	}
	writeList(b, "the run", r.Sequence, len(r.Sequence))
	if r.Smaller != nil {
		s := r.Smaller
		title := fmt.Sprintf("the session shrinks from %s to %d (in %s); its token, %s, held %d of %d times",
			phrase.Plural(s.From, "message"), s.To, phrase.Plural(s.Runs, "run"), s.Token, s.Held, s.Verified)
		if s.Boundary != "" {
			title += "; " + s.Boundary
		}
		names := gate.NewNamer(nil) // as the run does
		var frames []string
		for _, e := range s.Events {
			if e.Kind == store.Frame {
				frames = append(frames, e.Dir.String()+" "+names.Name(e.Dir, e.AsFrame()))
			}
		}
		writeList(b, title, frames, 40)
	}
	writeList(b, "stacks", r.Stacks, 12)
	switch {
	case r.Leaked && (r.Verdict == Undecided || r.Category == Lock):
		b.WriteString("\n  leak: the run was given up where it stands, with its goroutines\n")
	case r.Leaked:
		b.WriteString("\n  leak: goroutines of this run are still there after the connection was closed and the context cancelled\n")
	}
}

// writeList writes at most so many items under a title; without items no title.
func writeList(b *strings.Builder, title string, items []string, most int) {
	for i, item := range items {
		if i == 0 {
			fmt.Fprintf(b, "\n  %s:\n", title)
		}
		if i == most {
			fmt.Fprintf(b, "    … and %d more\n", len(items)-i)
			return
		}
		fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(item, "\n", "\n    "))
	}
}

// waitText writes the waits as a table.
func (r Report) waitText(b *strings.Builder) {
	switch {
	case len(r.Waits) == 0:
	case r.WaitsAt != "":
		fmt.Fprintf(b, "\n  what was open %s:\n", r.WaitsAt)
	default:
		b.WriteByte('\n')
	}
	width := 0
	for _, w := range r.Waits {
		width = max(width, utf8.RuneCountInString(w.Who))
	}
	indent := strings.Repeat(" ", width+4)
	for _, w := range r.Waits {
		fmt.Fprintf(b, "  %s%s  ", w.Who, strings.Repeat(" ", width-utf8.RuneCountInString(w.Who)))
		if w.Holds != "" {
			fmt.Fprintf(b, "holds      %s\n%s", w.Holds, indent)
		}
		if w.WaitsFor != "" {
			fmt.Fprintf(b, "waits for  %s\n%s", w.WaitsFor, indent)
		}
		switch {
		case w.Why == "" && w.BlockedAt != "":
			fmt.Fprintf(b, "blocked at %s\n", w.BlockedAt)
		case w.BlockedAt != "":
			fmt.Fprintf(b, "%s\n%sblocked at %s\n", w.Why, indent, w.BlockedAt)
		default:
			fmt.Fprintf(b, "%s\n", w.Why)
		}
	}
}

// endTexts say what ended a search before all its schedules were run.
var endTexts = map[string]string{
	EndCPU:     " (then the CPU time was up)",
	EndTime:    " (then its time was up)",
	EndStopped: " (then it was interrupted)",
	EndVisited: " (these are all orders: none fails)",
	EndLost:    " (nothing is proved: the sides did not do the same on the same steps)",
}

// count says how many schedules were run, and of how many classes. In words for a user an
// order is a class: orders that differ only in steps that commute count once.
func (t Tried) count() string {
	count := phrase.Plural(t.Schedules, "order")
	switch {
	case t.All:
		return fmt.Sprintf("%s, all %s", count, phrase.Plural(t.Classes, "order"))
	case t.Classes > 0:
		return fmt.Sprintf("%s, %s, not all", count, phrase.Plural(t.Classes, "order"))
	}
	return count
}

// MarshalJSON writes the report with lists that are never null.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	p := plain(r)
	p.Tried = append([]Tried{}, r.Tried...)
	p.Waits = append([]hang.Wait{}, r.Waits...)
	p.Broken = append([]gate.Breach{}, r.Broken...)
	for _, list := range []*[]string{&p.Blocked, &p.Unfinished, &p.Chain, &p.Choices, &p.Timers, &p.Sequence, &p.Stacks, &p.Notes} {
		*list = append([]string{}, *list...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // arrows stay arrows
	err := enc.Encode(p)
	return b.Bytes(), err
}

// notMet stands in slackText for the verdict of a capacity at which a search found no failure.
const notMet = "not met"

// slackText says how a failure depends on the capacity: a program whose results do not change
// with the buffering is called slack-elastic. Several orders were tried at each capacity, in
// contrast to the boundary of a single order. A capacity passes where all orders are known to:
// where one schedule decides, or all classes were visited.
func slackText(verdict string, at schedule.Capacity, others []Tried, boundary string, decided bool) string {
	if len(others) == 0 {
		return ""
	}
	verdicts := []string{verdict}
	where := map[string][]string{verdict: {at.Short()}}
	for _, t := range others {
		result, place := t.Verdict, t.Capacity.Short()
		switch {
		case result == Pass && (decided || t.All):
			place += " (" + t.count() + ")"
		case result == Pass:
			result = notMet
			place += " in " + t.count()
			if len(where[notMet]) > 0 {
				place = "at " + place
			}
		}
		if len(where[result]) == 0 {
			verdicts = append(verdicts, result)
		}
		where[result] = append(where[result], place)
	}
	if len(verdicts) == 1 {
		text := verb(verdict) + " at all tried: "
		if boundary != "" {
			text = "some order " + text
		}
		text += strings.Join(where[verdict], ", ")
		if stands(verdict) {
			text += "; no buffer of the transport hides it"
		}
		return text
	}
	parts := make([]string, len(verdicts))
	for i, v := range verdicts {
		list := where[v] // 0, 1 and unbounded
		last := len(list) - 1
		parts[i] = verb(v) + " at " + strings.Join(list[:last], ", ") + " and " + list[last]
		if last == 0 {
			parts[i] = verb(v) + " at " + list[0]
		}
	}
	text := strings.Join(parts, ", ")
	if len(where[notMet]) > 0 {
		return text
	}
	return "it depends on the buffer: " + text
}

// verb says what a run with the verdict does.
func verb(verdict string) string { return cmp.Or(verbs[verdict], "is "+verdict) }

var verbs = map[string]string{
	Pass: "passes", Hang: "hangs", Stall: "stalls", Panic: "panics", Leak: "leaks",
	Illegal: "breaks a rule", Lost: "loses a message", CheckFailed: "fails its check", DataRace: "has a data race",
	notMet: notMet,
}
