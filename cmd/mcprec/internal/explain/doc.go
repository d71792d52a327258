// Package explain says what hangs in a session, in the words of mcprec why.
//
// # What it promises
//
// [Session] reads a session, asks the system how the processes of a live one stand, and returns
// an [Answer]: the findings of package why, masked, with a command to go on with. Every command
// that says what hangs says it through this package. [Judge] puts what hung in a recording before
// the verdict of a closed replay.
//
// # Data layout
//
// answer.go has the answer and its text, live.go what is known of a live session beside its log,
// judge.go the closed replay of a session.
//
// # What it refuses
//
// It decides nothing: package why judges the session, and package closed the models. It reads
// sessions and the state of processes, and changes neither.
package explain
