// Package timeline tells what passed in a session, event by event, and which response,
// progress notification and cancellation belongs to which request.
//
// # Data layout
//
// A [Projection] is a fold over a session's events, in Seq order. A program can throw one
// away and rebuild it at any time; [Project] feeds several in one pass.
//
// [Index] pairs messages, for this package and for every other. It holds the open requests
// by direction and by the value of their ids and progress tokens, and over HTTP by exchange
// too, because two clients may use the same id. [Linker] applies it to the messages of a session, and
// says how each belongs to its [Call]. [Transcript] makes an [Entry] of each event
// as it passes, and remembers only the open calls and the latest past ones. [Calls] keeps
// every [Call] with its response. [Endings] keeps a few bytes of each call, so that a
// Transcript can name the answer at the request.
//
// # What it refuses
//
// The package does no I/O, asks no clock and starts no goroutine. It does not judge whether
// a message is allowed: replay/check does. It does not guess: a response, a progress
// notification or a cancellation without a request has no [Call].
package timeline
