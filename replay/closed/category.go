package closed

// The categories: why a session stands still. A closed replay finds the first four, package
// explore all.
//
// To add one: name it here and say it in [CategoryTerms], in the words of the table of
// docs/hang.md, which a test compares; find it where it is seen, in waitgraph.go or in
// replay/explore/hang, and give replay/explore's report its name.
const (
	// HeadOn: both ends are at a write, and no reader waits.
	HeadOn = "head-on"
	// Swallowed: a reader holds a frame and does not come back for the next one, and what is
	// waited for is behind it.
	Swallowed = "swallowed"
	// Mutual: each end works at a request of the other and waits for its own to the other.
	Mutual = "mutual call"
	// NeverSent: the awaited frame was not sent, or not to a reader; in a closed replay it is
	// not in the recording.
	NeverSent = "never sent"
	// LostAnswer: the request or the response was read, both ends are at rest, and the
	// operation gets no answer.
	LostAnswer = "lost answer"
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
		{HeadOn, "both ends are at a write, and neither reads"},
		{Swallowed, "a reader holds a frame and does not read on; what is waited for is behind it"},
		{Mutual, "each end works at a request of the other, and waits for its own to the other"},
		{NeverSent, "what is waited for was not sent, or is not in the recording"},
		{LostAnswer, "all was read, both ends rest, and a call has no answer"},
		{BlockedHandler, "the handler of a notification or of a listen has not returned"},
		{Pool, "handlers stand at one place, and a request was read for which none has begun"},
		{Lock, "a goroutine waits for a mutex whose holder waits for ever"},
		{TimerOnly, "of a failed check: an operation returned only because a timer fired"},
	}
}
