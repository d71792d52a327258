// Package timeline reads a session once, and says of each event what passed and what belongs
// together.
//
// A [Model] takes the events one by one, in Seq order. It returns a [Step] for each: the messages of the
// event, the [Call] that each begins, answers, reports on or cancels, the HTTP [Exchange], and the
// [Scope] in which ids are unique. Every view of a session is made of Steps, and keeps only facts of its
// own.
//
// # Data layout
//
// A Model holds the calls that are open, the latest that are over, and the exchanges that go on, however
// long the session is. [Steps] reads a session. A [Projection] is a fold over its steps; a program can throw
// one away and rebuild it at any time, and [Project] feeds several in one pass.
//
//	model.go       the Model and its Steps
//	framing.go     messages that are not a line each: which lines hold one, by package framing
//	requests.go    which call a message belongs to: the rules
//	answers.go     which of several calls an answer belongs to, answers that are exchanged, answers to no request
//	exchange.go    HTTP exchanges, and whose ids are whose
//	exit.go        Exit: the end of the server's process, which another process may outlive
//	tasks.go       tasks that are not over: their status, who asked for it last, what they ask for
//	call.go        Call, and Calls, which keeps every call
//	untaken.go     answers in a form that clients do not take
//	projection.go  Projection, and Project
//	shown.go       a Mask, for what a view quotes
//	clone.go       a copy of a Model, to go on from the middle
//	endings.go     Endings: a few bytes of each call, so that a Transcript can name the answer at the request
//	transcript.go  Transcript: an Entry for each event as it passes
//	entry.go, text.go  an Entry as a line
//
// # What it refuses
//
// The package does no I/O, asks no clock and starts no goroutine. It does not judge whether
// a message is allowed: replay/check does. It does not guess: a response, a progress notification or a
// cancellation has no Call if it has no request, or if it may belong to either of two clients.
package timeline
