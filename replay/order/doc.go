// Package order holds what the Model Context Protocol says about the order of
// messages: which of them a peer may send, given what it has sent and received.
//
// # Promises
//
// A [Checker] is pure: no I/O, no clock, no goroutine; one goroutine at a time may
// use it. It judges each frame as it goes onto the wire, by what its sender could
// know when it began to write it, so that a peer is never blamed for what was
// still on its way to it. The rules are
// those of the revision that the session itself settles on, 2024-11-05 to
// 2026-07-28; until one is settled only what all of them say is judged.
//
// A [Violation] of a MUST is an [Error], one of a SHOULD a [Warning]. Where pages
// of the specification disagree, or an honest peer may race into it, it is a
// warning, never an error.
//
// # Rules
//
//	P1   a response answers a request that was received, once
//	P2   ids are not reused
//	P3   progress: of a received request, before its response, rising
//	P4   the handshake comes first (to 2025-11-25)
//	P5   only clients ask, only servers answer (from 2026-07-28)
//	P6   a cancellation names an own open request
//	P7   a subscription is acknowledged before it notifies
//	P8   log messages only for a request that asked for them (from 2026-07-28)
//	P9   batches (2025-03-26 alone)
//	P10  a task begins working, and its terminal status is final (2025-11-25)
//
// [Checker.Observe] is for a tap between the ends, which cannot see what an end had
// received: what hangs on that alone is a [Note]. Of a long session it keeps little.
//
// # Data layout
//
// A checker holds for each end the requests that it sent, in order, the latest by
// id and by progress token. What an end was given is numbered by that end's own
// clock ([Mark]); a fact on the wire carries the mark at which the other end came
// to know it, 0 while it does not. Nothing else is kept of a frame.
//
// # What it refuses
//
// It knows one ordered stream of frames each way, as stdio and a pipe have it:
// the streams of HTTP, and what is sent again on them, are not told apart, but for one
// thing: of two open requests with one id a response answers that of its own exchange.
// That HTTP refused a request is to be said: see [Checker.Refuse]. It
// reads no schemas: whether a message has the members it should is not asked.
// It is told of frames one by one; what a whole recording allows is to be built
// on top of it.
package order
