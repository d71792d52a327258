// Package output is how a command prints: on a terminal or not, as text, JSON, JUnit XML or SARIF.
//
// # What it promises
//
// Recorded text cannot drive a terminal: a [Writer] and [Plain] let no character with an effect through
// but line ends and tabs. A [Screen] paints and lays out lines on a
// terminal, and changes nothing anywhere else. A [Background] never makes its caller wait for the
// reader of standard error.
//
// # Data layout
//
// A [Document] is a list of sections. A [Section] says the same thing in up to four ways: Text writes it
// for people, Value is its JSON, Cases are its JUnit test cases, and Results are its SARIF results; a
// way that is nil says nothing. Text and JSON, an object a line, are written section by section. JUnit
// and SARIF put totals and tables first, so a [Printer] keeps their cases and results until it is
// closed.
//
//	document.go, junit.go, sarif.go  documents
//	plain.go                         text that cannot drive a terminal
//	screen.go, fit.go, progress.go   colours, lines that are cut, a line of progress
//	fold.go                          lines that are broken at blanks
//	body.go                          the payload of a frame on lines that a reader can follow
//	format.go                        sizes and durations for people
//	background.go                    standard error that nobody reads
//	golog.go                         what Go's packages log
//
// # What it refuses
//
// It knows nothing of sessions and rules: each command brings its text and its JSON along. It masks
// nothing.
package output
