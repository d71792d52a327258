// Package recorder taps live sessions.
//
// # What it promises
//
// The wire is never disturbed: bytes pass unchanged, in order and at once, also
// the first half of a line whose second half has not come. Every byte is handed
// to the operating system, in the session's spool, before it is passed on, so
// no response is logged before its request and a recorder that is killed has
// written all that the other side saw. Both directions and standard error share one total
// order. Secrets are recorded as they are: package store/mask takes them out of what leaves
// the store.
//
// A disk that does not answer holds a frame for [Bound], at most. Then the frame
// passes, stamped, and what was to be written waits in memory, 24 MiB for all recorders of
// a process, with all that follows, in order; so does what the disk refuses. Once it takes it,
// all is written, and a note says for how long it was not. For room there a frame waits
// again, for a second at most, where the disk is only slow. What there is no room for
// is counted, and a "lost" event stands where the gap is; so is what still waits when
// the session ends and the disk takes nothing. Of the promise above one thing is
// given up meanwhile: a recorder that is killed takes with it what is in its memory,
// and its recording ends before. [Strict] gives up the session instead.
//
// Over HTTP bodies stream through likewise, and so does what MCP says around them. Of the
// headers those are recorded that matter to MCP, and credentials never.
//
// # Data layout
//
// A [Recorder] owns one session: the clock, the spool, the Seq of events, and one turn to
// use them (handover.go), of which there is one total order. A [Tap] is one direction's
// pass-through, or standard error's: it reads, hands what it read to the spool as one
// chunk, and passes it on. Frames are cut, numbered and limited by whoever reads the spool
// (store.Assembler). The turn is never held while a peer is written to. Between
// Recorder and spool stands a backlog (backlog.go): a pump writes to the spool in its
// own goroutine, which is quickest, and another takes the pump over if that write is
// overdue; who cannot be taken over, as a handler, has another goroutine write.
//
// An [HTTPTap] has many recordings, one for each MCP session, and three faces: a
// reverse proxy, a round tripper, a handler. An exchange is a request with its
// response; it has a number in its recording, from 1, which is the Stream of all its
// events, and two bodies. What a body is to the log follows from its content type: one
// frame, server-sent events, or bytes that are no frame. It is cut without I/O
// (body.go); what one read gives goes to the spool in one call.
//
//   - A JSON body is one frame. It stands where its first byte was seen.
//   - A body that is no frame, and any body of an exchange that does not look like MCP, such
//     as a login, is recorded as it is read.
//   - A server-sent event stands where its blank line was seen, for that is when a
//     receiver takes it, and is in the spool before that line is passed on; what is
//     not complete passes at once and is held for the log. Data of more than 64 KiB is
//     not held: it goes to the spool in parts, and stands where that began.
//   - Only the event that nearly all servers write is just a frame. What else belongs
//     to one is in an HTTP event in front of it, so that the stream can be made again.
//
// # What it refuses to do
//
// It does not parse JSON, reads no log, holds no line in memory, and never
// waits for a store other than the spool's one write, and for that not long; only who begins a session over
// HTTP waits while 128 others are on their way into the store. Over HTTP it follows no
// redirect, decodes gzip, deflate, br and zstd for the log only and keeps other codings as
// they are, and passes no upgrade to another protocol. A client that closes only its sending
// half has hung up: net/http cannot tell the two apart.
package recorder
