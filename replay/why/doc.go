// Package why says what a session waits for, and which side must move next.
//
// # Promises
//
// A [Fold] is pure: no I/O, no clock, no goroutine. It takes a session's events once, in their
// order, and keeps only what is open and what came last. [Fold.Report] says what is stuck at a
// moment: the present of a live session, which the caller passes with what it knows of the open
// lines and of the server's process, or the end of a session that is over. One hang is one
// [Finding] with one culprit.
//
// A wait is judged by how long it lasted and for whom. How it was put to an end, as by a closed
// pipe, a signal, a cancellation of a client that leaves, a killed server, does not excuse it.
//
// # Data layout
//
// fold.go keeps the calls without an answer, by direction, with their latest progress; HTTP
// exchanges that are open, or ended without an answer; the last frame of each direction, the
// last line of standard error, the write that blocks; the first event that ended the session.
// ends.go says which end makes an answer worthless. An answer counts that the client can still take:
// behind the end of the server's process, which may have been a launcher, behind a signal, and behind
// the end of the client's output. One counts not that came when the client no longer read, or that only
// the end brought forth, of a server that kept its client waiting until then. judge.go finds the cause of each wait, and
// makes one finding of the waits with one cause. words.go writes the finding down. newline.go opens
// calls again whose answers lack their newlines, which the log tells only later, or are in another form than a
// line of JSON, which few ends can read; an end that goes on has read them. dropped.go looks at the
// answer behind which a client is silent: whether a strict client takes it. tasks.go
// judges the tasks that are not over. repeats.go finds what comes again and again. stderr.go finds the line of
// standard error that says what went wrong.
//
// # What it refuses
//
// It judges no rule of the protocol: package check does. A call with progress or log messages
// that still come, a person who is being asked, an acknowledged subscription, a quiet stream,
// and a client with nothing to say are not stuck. Of a client that fell silent behind an answer
// it says only what the recording supports, and says that it is a suggestion.
package why
