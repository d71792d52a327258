package closed

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// The categories: why a session stands still. A closed replay finds the first four, package
// explore all.
//
// To add one: name it here and say it in [CategoryTerms], in the words of the table of
// docs/hang.md, which a test compares; find it where it is seen, in waitgraph.go or in
// replay/explore/hang, and give replay/explore's report its name.
const (
	// BothWrite: both ends are at a write, and no reader waits.
	BothWrite = "both sides write and neither reads"
	// BehindNotification, BehindRequest, BehindAnswer: a reader holds such a message and does not
	// come back for the next one, and what is waited for is behind it. BehindBatch: it holds
	// several at once.
	BehindNotification = "blocked behind a notification"
	BehindRequest      = "blocked behind a request"
	BehindAnswer       = "blocked behind an answer"
	BehindBatch        = "blocked behind a batch"
	// MutualWait: each end works at a request of the other and waits for its own to the other.
	MutualWait = "each waits for the other's answer"
	// NeverSent: the awaited frame was not sent, or not to a reader; in a closed replay it is
	// not in the recording.
	NeverSent = "never sent"
	// AnswerLost: the request or the response was read, both ends are at rest, and the
	// operation gets no answer.
	AnswerLost = "answer lost"
	// BlockedHandler: every request was answered and no frame is on its way, but the handler
	// of a notification, in the user's own code, has not returned.
	BlockedHandler = "blocked handler"
	// Pool: as many handlers of one kind as an end runs at once stand at one place, and none
	// has begun for a request that the end has read.
	Pool = "pool"
	// Lock: a part waits for a mutex whose holder waits for ever.
	Lock = "lock"
	// TimerOnly: no hang but a failed check, after a timer alone had ended an operation.
	TimerOnly = "after a timer"
)

// CategoryTerms returns every category of a hang; an expectation may name no other.
func CategoryTerms() []Term {
	return []Term{
		{BothWrite, "each side is blocked writing, and neither reads"},
		{BehindNotification, "a reader holds a notification and does not read on; what is waited for is behind it"},
		{BehindRequest, "the same, with a request"},
		{BehindAnswer, "the same, with an answer"},
		{BehindBatch, "the same, with several messages that came as one"},
		{MutualWait, "each side works at a request of the other, and waits for the answer to its own"},
		{NeverSent, "what is waited for was not sent, or is not in the recording"},
		{AnswerLost, "all was read, both sides rest, and a call has no answer"},
		{BlockedHandler, "the handler of a notification or of a listen has not returned"},
		{Pool, "the handlers are blocked at one place, and a request was read that none has begun"},
		{Lock, "a goroutine waits for a mutex whose holder waits for ever"},
		{TimerOnly, "of a failed check: an operation returned only because a timer fired"},
	}
}

// Behind returns the category of a reader that holds messages of these kinds.
func Behind(kinds ...transport.MessageKind) string {
	switch {
	case len(kinds) > 1:
		return BehindBatch
	case len(kinds) == 0:
		return NeverSent
	case kinds[0] == transport.Request:
		return BehindRequest
	case kinds[0] == transport.Response:
		return BehindAnswer
	}
	return BehindNotification
}

// IsBehind reports whether a category is one of those of [Behind].
func IsBehind(category string) bool {
	return slices.Contains([]string{BehindNotification, BehindRequest, BehindAnswer, BehindBatch}, category)
}
