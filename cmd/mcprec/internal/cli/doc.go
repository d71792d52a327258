// Package cli is how mcprec behaves as a program of a command line: how it ends, its streams and
// signals, and the files that its user names.
//
// # What it promises
//
// A command ends with one [Status]: an exit code or a signal, and the error to print, if any.
// [StatusOf] makes one of every other error. Between two processes mcprec passes signals on and dies
// of them as its child did. A [File] is written whole or not at all, over an existing file only on
// demand, and never through a symbolic link of another user.
//
// # Source files
//
//	exit.go               the exit codes, usage errors, what is printed of an error
//	process*.go           standard streams, signals and memory, by operating system
//	outfile.go, link*.go  files
//	self.go               whether a command line is that of an mcprec, and the path of this one
//	httpserver.go         an HTTP server that gives up requests without an end
//
// # What it refuses
//
// It reads no flags (each command does) and knows nothing of sessions.
package cli
