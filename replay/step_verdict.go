package replay

import "github.com/mcprec/mcprec/transport"

// StepResult is what became of a step of a recording that was played to a live end.
type StepResult string

// The results of a step.
const (
	// Match: the live end said what the recorded one did, but for what is Mapped.
	Match StepResult = "match"
	// Mismatch: it said something else, or at another place in the order.
	Mismatch StepResult = "mismatch"
	// Missing: it did not say it.
	Missing StepResult = "missing"
	// Extra: it said what the recorded one did not.
	Extra StepResult = "extra"
	// NotSent: a recorded frame of the end that is played was not sent, because
	// what it waits for did not come.
	NotSent StepResult = "not sent"
)

// StepVerdict is the verdict on one step of a recording that was played to a live
// end.
type StepVerdict struct {
	Seq         uint64              // the recorded event; of an extra one the nearest, or 0
	Dir         transport.Direction // of the message
	What        string              // tools/call echo; the answer to tools/call echo; notifications/progress
	Result      StepResult
	Differences []Difference // of a mismatch in content; of an extra request: from the nearest
	More        int          // differences beyond those listed
	Order       string       // of a mismatch in order: came after #8, the answer to tools/call; recorded before it
	Mapped      []Mapping    // what was not compared as it stands, and why
	Text        string       // one sentence, for everything but a match
}

// Difference is a place where a live message is not as the recorded one.
type Difference struct {
	Path      string // JSON pointer from the message's root
	Within    string // of a text that is JSON itself: JSON pointer from its root
	Want, Got string // JSON text, clipped; "nothing" where there is none
	Hint      string // the normalizers under which the two would match: time; or ""
}

// Mapping is a place where a live message is not as the recorded one, and matches
// all the same.
type Mapping struct {
	Path string // JSON pointer from the message's root
	// By says why: variable, ignored, redacted, identity, matcher, method, order, or
	// the name of a normalizer.
	By        string
	Want, Got string
}

// String returns the verdict on one line.
func (v StepVerdict) String() string {
	if v.Text == "" {
		return string(v.Result) + ": " + v.What
	}
	return string(v.Result) + ": " + v.Text
}
