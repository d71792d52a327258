// Package recorder taps live sessions.
//
// # What it promises
//
// The wire is never disturbed: bytes pass unchanged, in order and at once, also
// the first half of a line whose second half has not come. Every byte is handed
// to the operating system, in the session's spool, before it is passed on, so
// no response is logged before its request and a recorder that is killed has
// written all that the other side saw. Both directions and standard error share
// one total order. If the spool fails the wire keeps flowing; what could not be
// written is counted, and a "lost" event stands where the gap is.
//
// # Data layout
//
// A [Recorder] owns one session: the next Seq, the clock, the spool, one lock
// around the three. A [Tap] is one direction's pass-through. It cuts what it
// reads at newlines into store.Parts and gives the parts of one read to the
// spool in one call; the event of a frame takes its Seq and At when the frame's
// first byte is seen. The lock is never held while a peer is written to.
//
// # What it refuses to do
//
// It does not parse JSON, reads no log, holds no line in memory, and never
// waits for a store other than the spool's one write.
package recorder
