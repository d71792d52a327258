package check

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Finding is something that a recording shows.
type Finding struct {
	Rule     string              `json:"rule"` // such as "P3", "E1"
	Title    string              `json:"title"`
	Severity order.Severity      `json:"severity"`
	Revision string              `json:"revision"` // in force then; "" before one is settled
	Section  string              `json:"section"`  // of the specification: page, heading; "" where it says nothing
	Dir      transport.Direction `json:"-"`        // of whoever is at fault
	Events   []uint64            `json:"events"`   // Seqs, first the one that shows it
	Text     string              `json:"text"`     // a sentence
}

// String returns the finding as one line.
func (f Finding) String() string {
	events := make([]string, len(f.Events))
	for i, seq := range f.Events {
		events[i] = fmt.Sprintf("#%d", seq)
	}
	at := f.Section
	if at != "" && f.Revision != "" {
		at = f.Revision + ", " + at
	}
	line := fmt.Sprintf("%s %s %s: %s", strings.Join(events, " "), f.Severity, f.Rule, f.Text)
	if at != "" {
		line += " (" + at + ")"
	}
	return line
}

// The rules of what is evidence, beside those of package order.
var (
	unanswered = order.Demand{Rule: "E1", Title: "every request is answered", Severity: order.Error, Section: "basic, Responses"}
	openEnd    = order.Demand{Rule: "E2", Title: "a request may stay without an answer", Severity: order.Note, Section: "basic, Responses"}
	lateAnswer = order.Demand{Rule: "E3", Title: "an answer may come after its cancellation", Severity: order.Note, Section: "basic/utilities/cancellation, Timing Considerations"}
	noise      = order.Demand{Rule: "E4", Title: "only messages are on the wire", Severity: order.Error, Section: "basic/transports, stdio"}
	blank      = order.Demand{Rule: "E4", Title: "there are no blank lines on the wire", Severity: order.Warning, Section: "basic/transports, stdio"}
	notUTF8    = order.Demand{Rule: "E5", Title: "messages are UTF-8", Severity: order.Error, Section: "basic/transports"}
	afterEnd   = order.Demand{Rule: "E6", Title: "nothing is sent after the end", Severity: order.Warning}
	gap        = order.Demand{Rule: "E7", Title: "the recording is whole", Severity: order.Warning}
	redefined  = order.Demand{Rule: "E8", Title: "a tool stays what it was", Severity: order.Warning, Section: "server/tools, Security Considerations"}
	misrouted  = order.Demand{Rule: "E9", Title: "headers say what the body says", Severity: order.Error, Section: "basic/transports/streamable-http"}
	tooLong    = order.Demand{Rule: "G1", Title: "no call takes longer than --max-duration", Severity: order.Error}
	expected   = order.Demand{Rule: "G2", Title: "the tools of --expect-tool are called", Severity: order.Error}
	forbidden  = order.Demand{Rule: "G3", Title: "the tools of --forbid-tool are not called", Severity: order.Error}
)

// Demands lists all rules: those of package order, then those of evidence (E) and
// those that the user sets (G).
func Demands() []order.Demand {
	list := order.Demands()
	for _, d := range []order.Demand{unanswered, openEnd, lateAnswer, noise, blank, notUTF8, afterEnd, gap, redefined, misrouted, tooLong, expected, forbidden} {
		d.First, d.Last = order.Revisions[0], order.Revisions[len(order.Revisions)-1]
		if d.Rule == misrouted.Rule {
			d.First = d.Last
		}
		list = append(list, d)
	}
	return list
}
