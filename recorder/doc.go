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
// A disk that does not answer holds a frame for [outage.Bound], at most. Then the frame
// passes, stamped, and what was to be written waits in memory, 24 MiB for all recorders of
// a process, with all that follows, in order; so does what the disk refuses. Once it takes it,
// all is written, and a note says for how long it was not. For room there a frame waits
// again, for a second at most, where the disk is only slow. What there is no room for
// is counted, and a "lost" event stands where the gap is; so is what still waits when
// the session ends and the disk takes nothing. Of the promise above one thing is
// given up meanwhile: a recorder that is killed takes with it what is in its memory,
// and its recording ends before. [Strict] gives up the session instead.
//
// # Data layout
//
// A [Recorder] owns one session: the clock, the spool, the Seq of events, and one turn to
// use them, of which there is one total order. A [Tap] is one direction's pass-through, or
// standard error's: it reads, hands what it read to the spool as one chunk, and passes it on.
// The readers of the spool cut, number and limit the frames (store.Assembler). The turn is
// never held while a peer is written to. A [Stream] is one direction of an exchange over HTTP,
// whose frames may come in pieces; package httptap makes them. Between Recorder and store
// stands an [outage.Spool], which knows what to do about a disk that does not answer.
//
// # What it refuses to do
//
// It does not parse JSON, reads no recording and holds no line in memory. It waits only for the
// spool's one write, and for that not long.
package recorder
