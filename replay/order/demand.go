package order

import "slices"

// Revisions are those of the specification, in their order.
var Revisions = []string{Revision2024_11_05, Revision2025_03_26, Revision2025_06_18, Revision2025_11_25, Revision2026_07_28}

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
	first = Revision2024_11_05
	shook = Revision2025_11_25 // the last with a handshake
	last  = Revision2026_07_28
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
	{lawNoBatch, Revision2025_06_18, last}, {lawDoubtBatch, first, first}, {lawEmptyBatch, first, last},
	{lawTaskMade, shook, shook}, {lawTaskBegins, shook, shook}, {lawTaskResult, shook, shook}, {lawTaskCancels, shook, shook}, {lawTaskTerminal, shook, shook},
}
