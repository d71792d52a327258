package order

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Severity is how binding the broken words are.
type Severity uint8

const (
	// Note: what breaks nothing, or may be a race of two ends that a tap between
	// them cannot decide.
	Note Severity = iota + 1
	// Warning: a SHOULD, or a doubt.
	Warning
	// Error: a MUST.
	Error
)

// String returns the severity in lower case.
func (s Severity) String() string { return [...]string{"none", "note", "warning", "error"}[s] }

// MarshalText writes the severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Violation is a frame that its sender should not have sent then.
type Violation struct {
	Rule     string              `json:"rule"`  // such as "P3"
	Title    string              `json:"title"` // what the rule says
	Severity Severity            `json:"severity"`
	Revision string              `json:"revision"` // the rules applied; "" while none is settled
	Section  string              `json:"section"`  // of that revision's specification: page, heading
	Dir      transport.Direction `json:"-"`
	Text     string              `json:"text"` // what was sent, and what is wrong with it
	Race     bool                `json:"-"`    // see Checker.Observe: it may be none
}

// String returns the violation as one line.
func (v Violation) String() string {
	revision := v.Revision
	if revision == "" {
		revision = "every revision"
	}
	return fmt.Sprintf("%s %s: %s (%s; %s, %s)", v.Rule, v.Severity, v.Text, v.Title, revision, v.Section)
}

// law is one demand of a rule.
type law struct {
	rule     string
	title    string
	severity Severity
	page     page
	heading  string
}

var (
	lawAnswer      = law{"P1", "a response answers a request", Error, pageBase, "Responses"}
	lawAnswerGiven = law{"P1", "a response comes after its request was received", Error, pageBase, "Responses"}
	lawAnswerOnce  = law{"P1", "a request is answered once", Error, pageBase, "Responses"}
	lawRetry       = law{"P1", "a retry with the input that was asked for has a new id", Error, pageMRTR, "Client Requirements"}

	lawNoNullID   = law{"P2", "the id of a request is not null", Error, pageBase, "Requests"}
	lawFreshID    = law{"P2", "the id of a request was not used before in the session", Error, pageBase, "Requests"}
	lawUniqueID   = law{"P2", "the id of a request is not that of another open one", Error, pageBase, "Requests"}
	lawFreshToken = law{"P3", "a progress token is unique among open requests", Error, pageProgress, "Progress Flow"}

	lawToken         = law{"P3", "progress is of a request that was received", Error, pageProgress, "Behavior Requirements"}
	lawProgressEnds  = law{"P3", "progress stops when the request is answered", Error, pageProgress, "Implementation Notes"}
	lawProgressRises = law{"P3", "progress rises with each notification", Error, pageProgress, "Progress Flow"}
	lawProgressFrom  = law{"P3", "only the server sends progress", Error, pageProgress, "Progress Flow"}

	lawInitializeFirst = law{"P4", "initialize comes first", Error, pageLifecycle, "Initialization"}
	lawInitializeOnce  = law{"P4", "a session is initialized once", Error, pageLifecycle, "Initialization"}
	lawInitializeAlone = law{"P4", "initialize is not part of a batch", Error, pageLifecycle, "Initialization"}
	lawInitializeKept  = law{"P4", "initialize is not cancelled", Error, pageCancel, "Behavior Requirements"}
	lawInitialized     = law{"P4", "initialized comes after the response to initialize", Error, pageLifecycle, "Initialization"}
	lawInitializedOnce = law{"P4", "initialized is sent once", Warning, pageLifecycle, "Initialization"}
	lawClientWaits     = law{"P4", "before the response to initialize the client asks only for pings", Warning, pageLifecycle, "Initialization"}
	lawClientReady     = law{"P4", "before initialized the client asks only for pings", Warning, pageLifecycle, "Initialization"}
	lawServerWaits     = law{"P4", "before initialized the server asks only for pings", Warning, pageLifecycle, "Initialization"}

	lawServerAsks    = law{"P5", "the server sends no requests", Error, pageStdio, "Receiving Messages"}
	lawClientAnswers = law{"P5", "the client sends no responses", Error, pageStdio, "Sending Messages"}

	lawCancelOwn    = law{"P6", "a cancellation names a request of its sender", Error, pageCancel, "Behavior Requirements"}
	lawCancelOpen   = law{"P6", "a cancellation names a request that is believed open", Warning, pageCancel, "Behavior Requirements"}
	lawCancelListen = law{"P6", "a server cancels subscriptions alone", Error, pageCancel, "Behavior Requirements"}
	lawCancelled    = law{"P6", "after a cancellation nothing more is sent for the request", Warning, pageStdio, "Cancellation"}

	lawSubscribed   = law{"P7", "a subscription's notification names an open subscription", Error, pageSubscriptions, "Receiving Notifications"}
	lawAcknowledged = law{"P7", "a subscription is acknowledged before it notifies", Error, pageSubscriptions, "Acknowledgment"}
	lawFilter       = law{"P7", "only what a subscription asked for is notified", Error, pageSubscriptions, "Opening a Stream"}
	lawFilterURI    = law{"P7", "only resources that a subscription asked for, or parts of them, are updated", Warning, pageSubscriptions, "Opening a Stream"}
	lawUpdated      = law{"P7", "a resource is subscribed to before its updates", Warning, pageResources, "Subscriptions"}

	lawLogLevel = law{"P8", "log messages need a request that set a log level", Error, pageLogging, "Per-request log level"}
	lawLogEnds  = law{"P8", "log messages stop when the requests that set a log level are answered", Warning, pageLogging, "Per-request log level"}

	lawNoBatch    = law{"P9", "there are no batches", Error, pageBase, "Messages"}
	lawDoubtBatch = law{"P9", "batches are not described", Warning, pageBase, "Messages"}
	lawEmptyBatch = law{"P9", "a batch is not empty", Error, pageBase, "Messages"}

	lawTaskBegins   = law{"P10", "a task begins working", Error, pageTasks, "Task Status Lifecycle"}
	lawTaskResult   = law{"P10", "tasks/result is answered when the status is terminal", Error, pageTasks, "Result Retrieval"}
	lawTaskCancels  = law{"P10", "tasks/cancel is answered when the status is cancelled", Error, pageTasks, "Task Cancellation"}
	lawTaskMade     = law{"P10", "a task is made before it is asked about", Warning, pageTasks, "Creating Tasks"}
	lawTaskTerminal = law{"P10", "a terminal status is final", Error, pageTasks, "Task Status Lifecycle"}
)

// page is a page of the specification; it moved with the revisions.
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
)

// at returns the page's path at a revision; of none, the newest with a handshake.
func (p page) at(revision string) string {
	modern := revision >= mcp.Revision2026_07_28
	switch p {
	case pageProgress, pageCancel:
		name := map[page]string{pageProgress: "progress", pageCancel: "cancellation"}[p]
		if modern {
			return "basic/patterns/" + name
		}
		return "basic/utilities/" + name
	case pageBase:
		if revision == mcp.Revision2024_11_05 {
			return "basic/messages"
		}
		return "basic"
	}
	return map[page]string{
		pageLifecycle: "basic/lifecycle", pageStdio: "basic/transports/stdio", pageMRTR: "basic/patterns/mrtr",
		pageSubscriptions: "basic/patterns/subscriptions", pageResources: "server/resources",
		pageLogging: "server/utilities/logging", pageTasks: "basic/utilities/tasks",
	}[p]
}

// Revisions are those of the specification, in their order.
var Revisions = []string{mcp.Revision2024_11_05, mcp.Revision2025_03_26, mcp.Revision2025_06_18, mcp.Revision2025_11_25, mcp.Revision2026_07_28}

// Demand is one of the things that a rule asks for.
type Demand struct {
	Rule     string   `json:"rule"` // such as "P3"
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	First    string   `json:"first"` // the first revision that has it
	Last     string   `json:"last"`  // the last one
	Section  string   `json:"section"`
}

// Demands lists all that the rules ask for, rule by rule. A Violation has the Rule
// and the Title of one of them.
func Demands() []Demand {
	list := make([]Demand, len(laws))
	for i, l := range laws {
		list[i] = Demand{l.rule, l.title, l.severity, l.first, l.last, l.page.at(l.last) + ", " + l.heading}
	}
	return list
}

// In reports whether a revision has the demand.
func (d Demand) In(revision string) bool {
	i := slices.Index(Revisions, revision)
	return i >= slices.Index(Revisions, d.First) && i <= slices.Index(Revisions, d.Last)
}

// Observable reports whether a recording alone can show that the demand is broken. What
// an end had been given when it wrote is not in one.
func (d Demand) Observable() bool { return d.Title != lawAnswerGiven.title }

// since is a law and the revisions that have it.
type since struct {
	law
	first, last string
}

const (
	first = mcp.Revision2024_11_05
	shook = mcp.Revision2025_11_25 // the last with a handshake
	last  = mcp.Revision2026_07_28
)

// laws are all of them.
var laws = []since{
	{lawAnswer, first, last}, {lawAnswerGiven, first, last}, {lawAnswerOnce, first, last}, {lawRetry, last, last},
	{lawNoNullID, first, last}, {lawFreshID, first, shook}, {lawUniqueID, first, last},
	{lawFreshToken, first, last}, {lawToken, first, last}, {lawProgressEnds, first, last}, {lawProgressRises, first, last}, {lawProgressFrom, last, last},
	{lawInitializeFirst, first, shook}, {lawInitializeOnce, first, shook}, {lawInitializeAlone, first, shook}, {lawInitializeKept, first, shook},
	{lawInitialized, first, shook}, {lawInitializedOnce, first, shook}, {lawClientWaits, first, shook}, {lawClientReady, first, shook}, {lawServerWaits, first, shook},
	{lawServerAsks, last, last}, {lawClientAnswers, last, last},
	{lawCancelOwn, first, last}, {lawCancelOpen, first, last}, {lawCancelListen, last, last}, {lawCancelled, last, last},
	{lawSubscribed, last, last}, {lawAcknowledged, last, last}, {lawFilter, last, last}, {lawFilterURI, last, last}, {lawUpdated, first, shook},
	{lawLogLevel, last, last}, {lawLogEnds, last, last},
	{lawNoBatch, mcp.Revision2025_06_18, last}, {lawDoubtBatch, first, first}, {lawEmptyBatch, first, last},
	{lawTaskMade, shook, shook}, {lawTaskBegins, shook, shook}, {lawTaskResult, shook, shook}, {lawTaskCancels, shook, shook}, {lawTaskTerminal, shook, shook},
}
