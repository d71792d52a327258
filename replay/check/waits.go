package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules E10 and E17.
var (
	clientGoesOn = newDemand("E10", "a client goes on behind an answer", order.Warning, "")
	nobodyWaits  = newDemand("E17", "no end waits in vain", order.Error, "")
)

// heldFinding is a finding about a call, which is given out at the end unless the call is part
// of a hang.
type heldFinding struct {
	call uint64
	Finding
}

// excuse notes that a call is part of no hang, if it had a sign of its receiver not long before
// the end of its wait, or its caller gave it up soon.
func (f *Fold) excuse(d *diagnosis, c *call, until moment) {
	sign := max(c.at, c.progress.at)
	least := f.longWait()
	if b := d.blocked[c.dir.Reverse()]; b.seq > c.seq && b.seq < until.seq {
		sign = max(sign, b.at)
	}
	asks := firstAfter(d.open[transport.ServerToClient], c.seq)
	if c.needsNoAnswer() || c.dir == transport.ServerToClient || c.recorderLeft || d.ending.gaveUp != 0 || d.ending.isOpen() && !d.live || asks != nil && asks.waitsForPerson() {
		least = max(least, why.Patience) // a short wait may be as it should
	}
	if until.at-sign < least || c.scope.deleted.seq > c.seq {
		if f.excused == nil {
			f.excused = map[uint64]bool{}
		}
		f.excused[c.seq] = true
	}
}

// hold keeps a finding about a call until the end of the session.
func (f *Fold) hold(call uint64, d order.Demand, dir transport.Direction, revision string, events []uint64, format string, args ...any) {
	f.held = append(f.held, heldFinding{call, Finding{
		Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
		Dir: dir, Events: events, Text: fmt.Sprintf(format, args...),
	}})
}

// A client leaves open calls behind. Neither end is at fault, unless the client had waited in
// vain. A call of a session that is over has waited long after leftTimes as long as any answer took
// before, but not before leftFor, and after leftLong in any case. A call of a session that goes
// on has after the patience of package why.
const (
	leftFor   = time.Second
	leftTimes = 10
	leftLong  = 10 * time.Second
)

// longWait is how long a wait is at least to be a hang.
func (f *Fold) longWait() time.Duration {
	if f.live {
		return why.Patience
	}
	return min(max(leftFor, leftTimes*f.outcome.slowest), leftLong)
}

// Waits returns the report of package why on the events so far, from the fold that finds the
// hangs: a caller that shows both needs no other.
func (f *Fold) Waits(live why.Live, after time.Duration) why.Report {
	return f.waits.Report(live, after)
}

// reportWaits is rules E1, E10 and E17 for the hangs that package why finds, and gives out the
// findings about calls that are part of none.
func (f *Fold) reportWaits(live why.Live, revision string) {
	if !f.live {
		live = why.Live{}
	}
	hung := map[uint64]bool{}
	live.Doubtful = true // E10 is a warning then
	for _, w := range f.waits.Report(live, f.longWait()).Findings {
		d := unanswered
		switch {
		case w.Shape == why.ClientSilent:
			d = clientGoesOn
			if w.Unknown == "" {
				d.Severity = order.Error
			}
		case w.Shape == why.NoResponse && len(w.Calls) == 0: // rule E14
			continue
		case len(w.Calls) == 0 || w.Shape == why.InputMissing:
			d = nobodyWaits
		}
		isWait := func(call uint64) bool { return !f.excused[call] }
		if len(w.Calls) > 0 && w.Shape != why.ServerEnded && w.Shape != why.StreamCut && !slices.ContainsFunc(w.Calls, isWait) {
			continue
		}
		events := slices.Compact(slices.Clone(w.Calls)) // the calls of a batch are one event
		text := w.Text
		for _, e := range w.Evidence {
			if e.Seq != 0 && !slices.Contains(events, e.Seq) {
				events = append(events, e.Seq)
			}
		}
		for _, seq := range events {
			hung[seq] = true
		}
		for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			if b := f.traffic.blocked[dir]; len(w.Calls) > 0 && b.seq > w.Calls[0] && b.blocked > 0 {
				text += fmt.Sprintf(" The %s took #%d after a write had blocked for %v (#%d).", dir.Receiver(), b.upto, phrase.Brief(b.blocked), b.seq)
			}
		}
		culprit := map[string]transport.Direction{"client": transport.ClientToServer, "server": transport.ServerToClient}[w.Culprit]
		f.give(Finding{
			Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
			Dir: culprit, Events: events, Text: text, Shape: w.Shape,
		})
	}
	for _, held := range f.held {
		if !hung[held.call] {
			f.give(held.Finding)
		}
	}
}
