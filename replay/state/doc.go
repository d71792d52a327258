// Package state gives the state of a session after any of its events, and finds the first
// event at which a condition holds, even if it ceases to hold later.
//
// # Promises
//
// A [State] is a pure fold: no I/O, no clock, no goroutine. It takes a session's events
// once, in order; after each it has the open calls, tasks, subscriptions and queues of that
// time, and later events leave a clone alone. [State.Clone] costs as much as is open, however
// long the session: a caller may keep many points of a session and go on from any.
//
// A caller asks a [Condition] after each event, so it finds the first event at which the
// condition holds, also if it ceases to hold later.
//
// # Data layout
//
// calls.go has the call table: a call is a request without an answer, by its direction and
// id, compared by value. One id may be open more than once; an answer belongs to the call of
// its own HTTP exchange, else to the first that is open. state.go has the fold. A lane is a
// direction of one exchange (of the whole session on stdio), with a queue: the Seqs of the
// frames that no event shows to be taken. A delivered event, an answer or progress,
// initialized, and over HTTP the response to a request show it. Resource subscriptions are
// by URI and tasks by task id.
//
// view.go: a [View] is a State as lists in a fixed order. facts.go: [View.Facts] describes it in
// lines, each under a key that stays the same while the fact lasts, and [Diff] compares those.
// follow.go: a [Follower] tells after each event which of the facts are others, at the cost of these,
// so that all facts of a session take as much room as the session. queues.go has the queues and the
// gaps. condition.go has the expression language.
//
// # What it refuses
//
// It judges nothing: package check does. A frame counts as queued until an event shows that
// it was taken. A tap notes a delivery only if a write had blocked, so on stdio a queue is an
// upper bound, and over HTTP only streams of events have a queue towards the client. Noise,
// and messages that belong to no open call, change only the counts. Of a recording with
// several sessions of one server it gives one state: that of the last session that said so.
package state
