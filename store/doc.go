// Package store defines how recordings are kept: Event, Session, Store, Spool, and the rules
// of every log.
//
// # What it promises
//
// A log is the events of one session in order. Seq starts at 1 and has no gaps; At never
// falls; the first event is "opened"; nothing follows "closed". [Validator] checks exactly
// this. Payloads are the exact bytes that passed. Appending is atomic and idempotent: it
// accepts equal events again, and for different ones returns a [ConflictError] with the head.
//
// # Data layout
//
// An [Event] has a binary form (codec.go), versioned by its container, and a text form
// (package jsonl). Payloads of mcprec's own kinds ("opened", "exit", …) are small JSON objects
// (payload.go). This package never looks into the payloads of frames and stderr, except for
// the brackets of a line without a newline.
//
// A spool holds [Part]s: chunks of the pipes of a stdio session, and events. An [Assembler]
// makes all events from them. A frame is ordered by its last byte. A server may answer as soon
// as it sees the closing brace, before the newline arrives; the answer still comes after the
// request. An event in several parts, such as a long HTTP body, has the place of its first
// part.
//
// # Concurrency
//
// A [Store] may be used by many goroutines, and by many processes if its engine says so; a
// [Spool] only by its recorder. Events, headers and other plain values never change after they
// were returned, and may be shared. A [Validator], a [Sequence] and an [Assembler] belong to
// one goroutine.
//
// # What it refuses to do
//
// It parses no frame and knows no MCP method, and it drops nothing: a "lost" event counts the
// events that could not be stored.
package store
