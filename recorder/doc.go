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
// Over HTTP bodies stream through in the same way. Methods, paths, status codes and the headers
// that matter to MCP are recorded too; credentials in headers never are.
//
// # Data layout
//
// A [Recorder] owns one session: the clock, the spool, the Seq of events, and one turn to
// use them (handover.go), of which there is one total order. A [Tap] is one direction's
// pass-through, or standard error's: it reads, hands what it read to the spool as one
// chunk, and passes it on. The readers of the spool cut, number and limit the frames
// (store.Assembler). The turn is never held while a peer is written to. Between
// Recorder and spool stands a backlog (backlog.go): a pump writes to the spool in its
// own goroutine, which is quickest, and another takes the pump over if that write is
// overdue. The HTTP side has another goroutine write, for its own belongs to net/http.
//
// An [HTTPTap] has many recordings, one for each MCP session (recording.go). It is used as a
// reverse proxy (proxy.go), a round tripper or a handler (wrappers.go). An exchange is a
// request with its response (exchange.go). Its number in its recording, from 1, is the Stream
// of all its events. It has two bodies, which are cut without I/O (body.go): by its content
// type a body is one frame, server-sent events, or bytes that are no frame. The items of one
// read are written with one call of the spool.
//
//   - A JSON body is one frame. Its place in the recording is that of its first byte.
//   - A body that is no frame, and any body of an exchange that does not look like MCP, such
//     as a login, is recorded as it is read.
//   - The place of a server-sent event is that of its blank line, which is when a receiver
//     takes it. It is in the spool before that line is passed on. An incomplete event passes at
//     once, and the recorder holds it until it is complete; data of more than 64 KiB is not
//     held but recorded in parts, from its beginning on.
//   - The event that nearly all servers write is recorded as a frame alone. Of any other, an
//     HTTP event in front of the frame has the rest, so that the stream can be made again.
//
// # What it refuses to do
//
// It does not parse JSON, reads no recording and holds no line in memory. It waits only for the
// spool's one write, and for that not long; but over HTTP a new session waits while 128 others
// are folded into the store. It follows no redirect, decodes gzip, deflate, br and zstd only
// for the recording, keeps other codings as they are, and passes no upgrade to another
// protocol. A client that closes only its sending half has hung up: net/http cannot tell the
// two apart.
package recorder
