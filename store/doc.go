// Package store defines how recordings are kept: Event, Session, Store, Spool, the rules of
// every log, and the Assembler, which cuts a spool's bytes into events.
//
// # What it promises
//
// A log is the events of one session in order. Seq starts at 1 and has no gaps; At never
// falls; the first event is "opened"; nothing follows "closed". [Validator] checks exactly
// this. Payloads are the exact passed bytes. Appending is atomic and idempotent: the store
// accepts equal events again, and for different events returns a [ConflictError] with the head.
//
// # Data layout
//
// An [Event] has a binary form (codec.go), versioned by its container, and a text form
// (package jsonl). Payloads of mcprec's own kinds ("opened", "exit", …) are small JSON objects
// (payload.go). This package never looks into the payloads of frames and stderr, except for
// the brackets of a line without a newline.
//
// A spool holds [Part]s: chunks of the pipes of a stdio session, and events. An [Assembler]
// makes the events from the parts. A frame is ordered by its last byte. A server may answer as soon
// as the closing brace has come, before the newline arrives; the answer still comes after the
// request. An event in several parts, such as a long HTTP body, has the place of the first
// part.
//
// Store is what every store can do. What only some can is an optional interface each, beside Store. What
// only a folder needs, about files, space and faults, are methods of boltstore.Store; its reports are in
// report.go.
//
// # Concurrency
//
// A [Store] may be used by many goroutines, and by many processes if the engine says so; a
// [Spool] only by the recorder. Events, headers and other plain values never change after they
// were returned, and may be shared. A [Validator], a [Sequence] and an [Assembler] belong to
// one goroutine.
//
// # What it refuses to do
//
// It parses no frame, knows no MCP method and drops no event: a "lost" event counts the events
// without a place in the store.
package store
