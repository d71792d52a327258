package check

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules E1, E2, E10, E11, E17 and E18: what package why says of each wait.
var (
	unanswered    = newDemand("E1", "every request is answered", order.Error, "basic, Responses")
	mayStayOpen   = newDemand("E2", "a request may stay without an answer", order.Note, "basic, Responses")
	clientGoesOn  = newDemand("E10", "a client goes on behind an answer", order.Error, "")
	clientMayStop = newDemand("E10", "a client of the first revision is not silent behind an answer", order.Warning, "", mcp.Range{First: mcp.Oldest, Last: mcp.Oldest})
	clientIsIdle  = newDemand("E10", "a client that is silent behind an answer may be idle", order.Note, "", mcp.Range{First: mcp.Revision2025_03_26, Last: mcp.Newest})
	gaveUp        = newDemand("E11", "an answer comes before its caller gives up", order.Warning, "basic/lifecycle, Timeouts")
	nobodyWaits   = newDemand("E17", "no end waits in vain", order.Error, "")
	taskPolled    = newDemand("E17", "a task that is not over is polled", order.Warning, "extensions/tasks, Task Polling", mcp.Range{First: mcp.Tasks.First, Last: mcp.Newest})
	bringsNew     = newDemand("E18", "what is asked again brings something new", order.Warning, "")
)

// Waits returns the report of package why on the events so far, from the fold that this one has: a caller
// that shows both needs no other.
func (f *Fold) Waits(live why.Live, after time.Duration) why.Report {
	return f.waits.Report(live, after)
}

// judgeWaits is rules E1, E2, E10, E11, E17 and E18, and counts the calls without an answer.
func (f *Fold) judgeWaits(ctx context.Context, live why.Live, revision string) error {
	if !f.live {
		live = why.Live{}
	}
	report, err := f.waits.ReportContext(ctx, live, 0)
	if err != nil {
		return err
	}
	flag := interrupt.On(ctx)
	f.countOpen(report, flag)
	revisions := map[uint64]string{} // by request
	for _, c := range f.calls {
		revisions[c.seq] = c.scope.rules.Revision()
	}
	revisionOf := func(calls ...uint64) string {
		i := slices.IndexFunc(calls, func(seq uint64) bool { return revisions[seq] != "" })
		if i < 0 {
			return revision
		}
		return revisions[calls[i]]
	}
	f.judgeForms(report, flag)
	for _, open := range report.Open {
		if flag.Raised() {
			break
		}
		f.giveOpen(open, report.After, revisionOf(open.Call))
	}
	for _, hang := range report.Findings {
		if flag.Raised() {
			break
		}
		f.giveHang(hang, revisionOf(hang.Calls...))
	}
	return flag.Err()
}

// judgeForms is rule P17 for the answers whose form the client took all the same; the others are rule E1's.
func (f *Fold) judgeForms(report why.Report, flag *interrupt.Flag) {
	for _, c := range f.openCalls() {
		if flag.Raised() {
			return
		}
		if _, _, isWait := report.Waited(c.of); c.of.Untaken != nil && !isWait {
			f.report(answeredInForm, c.dir.Reverse(), c.scope.rules.Revision(), []uint64{c.of.Untaken.Seq, c.seq},
				"%v was answered %s (#%d), which its client took all the same", c, c.of.Untaken.How(), c.of.Untaken.Seq)
		}
	}
}

// openCalls returns the calls without an answer, in their order.
func (f *Fold) openCalls() []*call {
	return slices.SortedFunc(maps.Values(f.calls), func(a, b *call) int { return cmp.Compare(a.of.Number(), b.of.Number()) })
}

// countOpen adds the calls without an answer to the tallies.
func (f *Fold) countOpen(report why.Report, flag *interrupt.Flag) {
	for _, c := range f.openCalls() {
		if flag.Raised() {
			return
		}
		waited, until, ok := report.Waited(c.of)
		if !ok {
			waited = f.now.at - c.at
		}
		tally := f.tallies.add(c, waited)
		if c.cancelled.seq != 0 || c.hungUp && mcp.Stateless.Has(c.scope.rules.Revision()) {
			tally.Cancelled++
		} else {
			tally.Open++
		}
		f.gate.judgeDuration(f.reporter, c, cmp.Or(until, f.now.seq), waited, false)
	}
}

// giveOpen is rules E2, E11 and E18, and E10 for a client that may be idle.
func (f *Fold) giveOpen(open why.Open, after time.Duration, revision string) {
	var events []uint64
	d := mayStayOpen
	switch {
	case open.Why == why.Repeats:
		d = bringsNew
		events = open.Events
	case open.Why == why.Idle:
		d = clientIsIdle
		events = []uint64{f.now.seq}
	case open.Of == nil: // a task
		return
	case open.Why == why.GivenUp && open.Of.Method != mcp.MethodListen && (open.TimedOut || open.Waited >= after):
		d = gaveUp
		if open.TimedOut && f.gate.FailOnTimeout {
			d.Severity = order.Error
		}
		events = []uint64{open.Until, open.Call}
	case f.calls[open.Of] == nil: // answered, behind the end of the session
		return
	case open.Why == why.CutOff:
		d = unanswered
		events = []uint64{open.Call, open.Until}
	default:
		events = []uint64{open.Call}
	}
	dir := directionOf(open.Culprit)
	if dir == transport.NoDirection && open.Of != nil {
		dir = open.Of.Dir
	}
	f.give(Finding{
		Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
		Dir: dir, Events: events, Text: open.Text,
	})
}

// giveHang is rules E1, E10 and E17 for a hang.
func (f *Fold) giveHang(hang why.Finding, revision string) {
	d := unanswered
	switch {
	case hang.Shape == why.ClientSilent:
		d = clientGoesOn
		if hang.Unknown != "" {
			d = clientMayStop
		}
	case hang.Shape == why.TaskNotPolled:
		d = taskPolled
	case hang.Shape == why.NotEnding:
		d = nobodyWaits
		d.Severity = order.Warning // nobody waits for it but the machine
	case hang.Shape == why.NoResponse && len(hang.Calls) == 0: // rule E14
		return
	case hang.Shape == why.NotStarted: // rule E13
		return
	case len(hang.Calls) == 0 || hang.Shape == why.InputMissing:
		d = nobodyWaits
	}
	events := slices.Compact(slices.Clone(hang.Calls)) // the calls of a batch are one event
	for _, e := range hang.Evidence {
		if e.Seq != 0 && !slices.Contains(events, e.Seq) {
			events = append(events, e.Seq)
		}
	}
	f.give(Finding{
		Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
		Dir: directionOf(hang.Culprit), Events: events, Text: hang.Text, Shape: hang.Shape,
	})
}

// directionOf returns the direction in which an end sends; none for both.
func directionOf(end string) transport.Direction {
	return map[string]transport.Direction{"client": transport.ClientToServer, "server": transport.ServerToClient}[end]
}
