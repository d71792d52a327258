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
// A wait is judged by how long it lasted and for whom. It does not matter how it ended: by a closed pipe, a
// signal, a cancellation of a client that leaves, or a killed server.
//
// # Data layout
//
// The Fold keeps the calls without an answer, by direction, with their latest progress; the HTTP exchanges
// that are open, or ended without an answer; the last frame of each direction; the first event that ended the
// session. A Report puts each call without an answer into one Finding, or into one [Open], which says why it is
// not stuck.
//
//	fold.go       takes Steps of the Model
//	ends.go       which end makes an answer worthless
//	http.go       exchanges, and the streams on which answers come
//	newline.go    calls whose answers lack their newlines or have another form: an end that goes on has read them
//	dropped.go    the answer behind which a client is silent: would a strict client take it?
//	tasks.go      tasks that are not over
//	repeats.go    what comes again and again
//	stderr.go     the line of standard error that says what went wrong
//	processes.go  which process is the server, and which others have its input
//	explored.go   the note of an exploration that proved a hang
//	judge.go      the cause of each wait; one finding of the waits with one cause
//	open.go       what is open and not stuck
//	words.go      the sentences
//
// An answer counts if the client can still take it: behind the end of the server's process, which may have been
// a launcher, behind a signal, and behind the end of the client's output. It does not count if the client no
// longer read, or if a server that had kept its client waiting gave it only at the end.
//
// # What it refuses
//
// It judges no rule of the protocol: package check does. A call with progress or log messages
// that still come, a person who is being asked, an acknowledged subscription, a quiet stream,
// and a client with nothing to say are not stuck. About a client that fell silent behind an answer it says
// only what the recording supports, as a suggestion.
package why
