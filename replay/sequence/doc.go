// Package sequence draws a session as a sequence diagram: two lifelines, an arrow a
// frame, and beside the lifelines a rail for each call, from its request to its answer.
//
// # Promises
//
// A [Diagram] draws each event as it comes and remembers only the calls in flight. Its
// lines fit the width that was asked for: what is too long is cut between characters,
// which may take two columns or none. What a peer chose is on one line and drives
// nothing. Nothing here does I/O or looks at a clock. [Mermaid] writes the same as text
// of mermaid.js, where a name can neither end a line nor say anything in its language.
//
// # Data layout
//
//	     5    0.008681 ╭      |- tools/call "count" (id 2) ------------>|
//	     6    0.009150 ├      |<  notifications/progress of #5 - - - - -|
//	     8    0.009607 ╰      |<- result of #5 tools/call, 926µs -------|
//	event      seconds  rails  the client's lifeline    the server's      rails
//
// The rails at the left are calls that the client made, at the right the server's:
// they begin at the request, are touched by its progress, end with the answer, or at ×
// with the cancellation. One that never ends was never answered. Notifications are
// dashed. What is no frame stands between the lifelines without an arrow.
//
// # What it refuses
//
// It shows what the recording's tap saw, in its order, not when an end read it.
// [replay/explore] and the closed replay draw their own runs, where a frame has four
// steps and may stand in a queue: those are other diagrams.
//
// [replay/explore]: https://pkg.go.dev/github.com/mcprec/mcprec/replay/explore
package sequence
