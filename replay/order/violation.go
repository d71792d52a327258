package order

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/acp"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Severity is how binding the broken words are.
type Severity uint8

const (
	// Note is no fault, or may be a race of two ends, undecided by a tap in between.
	Note Severity = iota + 1
	// Warning is a SHOULD, or a doubt.
	Warning
	// Error is a MUST.
	Error
)

// String returns the severity in lower case.
func (s Severity) String() string { return [...]string{"none", "note", "warning", "error"}[s] }

// MarshalText writes the severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Violation is a frame that should not have been sent then.
type Violation struct {
	Rule     string              `json:"rule"`  // such as "P3"
	Title    string              `json:"title"` // the rule, as a sentence
	Severity Severity            `json:"severity"`
	Revision string              `json:"revision"` // the revision of the rules; "" before a revision is settled
	Section  string              `json:"section"`  // of the revision's specification: page, heading
	Dir      transport.Direction `json:"-"`
	Text     string              `json:"text"` // the message, and what is wrong with it
	Race     bool                `json:"-"`    // perhaps no violation: see Checker.Observe
}

// String returns the violation as one line.
func (v Violation) String() string {
	revision := cmp.Or(v.Revision, "every revision")
	return fmt.Sprintf("%s %s: %s (%s; %s, %s)", v.Rule, v.Severity, v.Text, v.Title, revision, v.Section)
}

// Demand is a demand of a rule.
type Demand struct {
	Rule     string   `json:"rule"` // such as "P3"
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	First    string   `json:"first"` // the first revision with the demand; "ACP 1" is a version of the Agent Client Protocol
	Last     string   `json:"last"`  // the last revision
	Section  string   `json:"section"`
}

// In reports whether a revision, one of [mcp.Revisions], or a version of the Agent Client Protocol has the demand.
func (d Demand) In(revision string) bool {
	known := mcp.Revisions
	if d.Rule[0] == 'A' {
		known = []string{acp.Version1, acp.Version2}
	}
	return slices.Contains(known, revision) && mcp.Range{First: d.First, Last: d.Last}.Has(revision)
}

// Observable reports whether a recording alone can show a violation of the demand. A
// recording does not say when an end received a frame.
func (d Demand) Observable() bool {
	return d.Title != answerReceived.title && d.Title != turnCancelled.title
}

// law is a demand of a rule. A file declares the laws of a rule before the code that judges
// the rule; package check explains the rules.
type law struct {
	rule     string
	title    string
	severity Severity
	page     page
	heading  string
	in       mcp.Range
}

// laws holds the laws of the package, in the order of declaration.
var laws []law

// newLaw declares a law.
func newLaw(law law) law {
	laws = append(laws, law)
	return law
}

// Demands lists the demands, in the order of declaration. A Violation has the Rule and the
// Title of a demand.
func Demands() (list []Demand) {
	for _, l := range laws {
		list = append(list, l.demand())
	}
	return list
}

// RetryNewID returns the demand that a retry has a new id. Package check applies it over
// several HTTP exchanges.
func RetryNewID() Demand { return retryNewID.demand() }

func (l law) demand() Demand {
	return Demand{l.rule, l.title, l.severity, l.in.First, l.in.Last, l.page.at(l.in.Last) + ", " + l.heading}
}

// page is a page of the specification; some moved with the revisions.
type page uint8

const (
	pageBase page = iota
	pageProgress
	pageCancel
	pageLifecycle
	pageStdio
	pageMRTR
	pageSubscriptions
	pageResources
	pageLogging
	pageTasks
	pageAgentInitialization // of the Agent Client Protocol, this and the next
	pageAgentSetup
	pageAgentPrompt
)

// at returns the page's path at a revision; for "", at the newest with a handshake.
func (p page) at(revision string) string {
	utilities := "basic/utilities/"
	if mcp.Stateless.Has(revision) {
		utilities = "basic/patterns/"
	}
	if p == pageTasks && mcp.TaskExtension.Has(revision) {
		return "extensions/tasks"
	}
	if p == pageBase && revision == mcp.Oldest {
		return "basic/messages"
	}
	return [...]string{
		pageBase: "basic", pageProgress: utilities + "progress", pageCancel: utilities + "cancellation",
		pageLifecycle: "basic/lifecycle", pageStdio: "basic/transports/stdio", pageMRTR: "basic/patterns/mrtr",
		pageSubscriptions: "basic/patterns/subscriptions", pageResources: "server/resources",
		pageLogging: "server/utilities/logging", pageTasks: "basic/utilities/tasks",
		pageAgentInitialization: "protocol/initialization", pageAgentSetup: "protocol/session-setup", pageAgentPrompt: "protocol/prompt-turn",
	}[p]
}

// violations collects the violations of a frame.
type violations struct {
	revision string // in force; "" before a revision is settled
	found    []Violation
}

// add notes a violation; the text goes on after "the client sent".
func (v *violations) add(law law, dir transport.Direction, format string, args ...any) {
	v.found = append(v.found, Violation{
		Rule: law.rule, Title: law.title, Severity: law.severity, Revision: v.revision, Dir: dir,
		Section: law.page.at(v.revision) + ", " + law.heading,
		Text:    "the " + dir.Sender() + " sent " + fmt.Sprintf(format, args...),
	})
}

// stateless reports whether the revision has no handshake.
func (v *violations) stateless() bool { return mcp.Stateless.Has(v.revision) }
