// Package state says how a session stood after any of its events, and finds the event
// at which something came to be so.
//
// # Promises
//
// A [State] is a pure fold: no I/O, no clock, no goroutine. It takes a session's events
// once, in their order; after each it says what is open then, and nothing that came
// later changes it. [State.Clone] costs what is open, not what has passed, so a caller
// keeps as many points of a session as it likes and goes on from any of them.
//
// A [Condition] is asked after each event, so what it finds is the first event at which
// it holds, also where it ceases to hold later.
//
// # Data layout
//
// A call is a request without an answer, by its direction and id; one id may be open
// more than once, and an answer belongs to the call of its own HTTP exchange, else to
// the latest. A lane is a direction of one exchange (of the whole session on stdio), with
// the Seqs of the frames that nothing shows its receiver to have taken. What shows it is
// a delivered event, an answer or progress, initialized, and over HTTP the response to a
// request. Resource subscriptions and tasks are by uri and task id.
//
// [View] is a State as lists in a fixed order; [View.Facts] tells it a line each, under
// a key that stays the same while the fact lasts, and [Diff] compares those.
//
// # What it refuses
//
// It judges nothing: what breaks a rule is for package check. A frame counts as queued
// while nothing shows that it was taken; a tap notes a delivery only when a write had
// blocked, so on stdio that is an upper bound, and over HTTP only streams of events have
// a queue towards the client. Noise, and messages that belong to nothing open, change no
// more than the counts. Of a recording with several sessions of one server it tells one
// state: that of the last that said so.
package state
