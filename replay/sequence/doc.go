// Package sequence draws a session as a sequence diagram: two lifelines, an arrow for each
// frame, and beside the lifelines a rail for each call, from its request to its answer.
//
// # Promises
//
// A [Diagram] draws each event as it comes and remembers only the calls in flight. Its
// lines fit the requested width: longer text is cut between characters, which may take two
// columns or none. A peer's text stays on one line and cannot drive the terminal. Nothing
// here does I/O or looks at a clock. [Mermaid] writes the same as text of mermaid.js, where
// a name can neither end a line nor be read as a keyword.
//
// # Data layout
//
//	     5    0.008681 ╭      |- tools/call "count" (id 2) ------------>|
//	     6    0.009150 ├      |<  notifications/progress of #5 - - - - -|
//	     8    0.009607 ╰      |<- result of #5 tools/call, 926µs -------|
//	event      seconds  rails  the client's lifeline    the server's      rails
//
// The rails at the left are the client's calls, at the right the server's. A rail begins at
// the request, is touched by its progress, and ends with the answer, or at × with the
// cancellation. The rail of an unanswered call never ends. Notifications are dashed. An
// event that is no frame stands between the lifelines without an arrow.
//
// # What it refuses
//
// It shows the order in which the recording's tap saw the frames, not when an end read
// them. [replay/explore] and the closed replay draw their own runs, where a frame has four
// steps and may stand in a queue: other diagrams.
//
// [replay/explore]: https://pkg.go.dev/github.com/mcprec/mcprec/replay/explore
package sequence
