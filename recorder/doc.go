// Package recorder taps live sessions.
//
// # What it promises
//
// The wire is never disturbed: bytes pass unchanged, in order and at once, also the first half
// of a line whose second half has not come. The recorder hands every byte to the operating
// system, in the session's spool, before passing it on. So no response is logged before its
// request, and a recorder that is killed has written everything the other side saw. Both
// directions and standard error share one total order. Secrets are recorded as they are,
// except credentials in HTTP headers: package store/mask masks them in copies that leave the
// store.
//
// If the disk does not answer, a frame is delayed by [outage.Bound] at most. Then the frame
// passes, stamped, and its event waits in memory with the following ones, in order: 24 MiB for
// the recorders of a process together. Events that the disk refuses wait there, too. Once the
// disk takes them, a note in the log tells how long they waited. If the memory is full and the
// disk is only slow, a frame waits a second more. Events without room are counted, and a
// "lost" event stands in the gap; the same holds for events that still wait at the end of a
// session whose disk takes nothing. During an outage one promise does not hold: the log of a
// recorder that is killed ends before the events in its memory. [Strict] gives up the session
// instead.
//
// # Data layout
//
// A [Recorder] owns one session. Its log (log.go) has the clock, the spool, the Seq of events
// and the account of lost events, and one turn to use them. A [Tap] passes on one direction of
// a pipe, or standard error: it reads a chunk, hands it to the spool, and writes it on.
// Readers of the spool cut, number and limit the frames (store.Assembler). A [Stream] is one
// direction of an exchange over HTTP, whose frames may come in pieces; package httptap makes
// streams. No goroutine holds the turn while it writes to a peer. An [outage.Spool] stands
// between log and store, and handles a disk that does not answer.
//
// # What it refuses to do
//
// It parses no JSON, reads no recording and holds no line in memory. It waits only for one write
// of the spool, and for a bounded time.
package recorder
