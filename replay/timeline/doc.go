// Package timeline tells what passed in a session, event by event, and which response,
// progress notification and cancellation belongs to which request.
//
// # Data layout
//
// A [Projection] is a fold over a session's events, in Seq order. It can be thrown away
// and rebuilt at any time; [Project] feeds several in one pass.
//
// [Index] pairs messages: it holds the requests that are open, by direction and by the value
// of their ids and progress tokens, and over HTTP by exchange too, because two clients may
// use the same id. Whoever pairs messages asks it. [Transcript] makes an [Entry] of
// each event as it passes. It remembers only the calls in flight and the latest ones that
// are over. [Calls] keeps every [Call] with its response. [Endings] keeps a few bytes of
// each call, with which a Transcript can name a request's answer at the request.
//
// # What it refuses
//
// It does no I/O, asks no clock and starts no goroutine. It does not judge whether a
// message is allowed: replay/check does. It does not guess: a response, a progress
// notification or a cancellation that names no open request is an [Orphan].
package timeline
