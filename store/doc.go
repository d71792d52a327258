// Package store holds the seams behind which recordings live: Event, Session,
// Store, Spool, and the rules that every log keeps.
//
// # What it promises
//
// A log is the events of one session in order. Seq starts at 1 and has no
// gaps; At never falls; the first event is "opened"; nothing follows "closed".
// [Validator] checks exactly this. Payloads are the exact bytes that were
// seen. Appending is atomic and idempotent: the same events again are
// accepted, different ones are a [ConflictError] that carries the head.
//
// # Data layout
//
// An [Event] has a binary form (codec.go), versioned by the container around
// it, and a text form (package jsonl). Payloads of the kinds that mcprec
// itself makes ("opened", "exit", …) are small JSON objects (payload.go);
// payloads of frames and stderr are bytes that this package never looks into, but for
// the brackets of a line without a newline.
//
// A spool holds [Part]s: what was read from the pipes of a stdio session, in chunks, and
// events. An [Assembler] makes the events of them. A frame stands where its end was seen;
// a peer that answers as soon as the closing brace is there, before the newline, is still
// logged after the request it answers. An event that comes in several parts, as a long
// body of HTTP does, stands where its first part stood.
//
// # Concurrency
//
// A [Store] may be used by any number of goroutines, and where its engine says so
// of processes; a [Spool] by its one recorder. Events, headers and the other
// plain values are never changed once they were handed out, and may be shared. A
// [Validator], a [Sequence] and an [Assembler] belong to one goroutine.
//
// # What it refuses to do
//
// It parses no frame and knows no MCP method, and it drops nothing: what could
// not be stored is a "lost" event with a count.
package store
