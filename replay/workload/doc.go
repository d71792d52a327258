// Package workload makes the client's half of a session for a server that nobody has recorded: it asks for
// what the server offers, and then makes the calls of which the server says that they only read.
//
// # What it promises
//
// A tool is called only if its annotations say that it only reads and do not say that it reaches out of the
// machine, or if the user names it. The calls of a [Caller] are known before the first of them is made. Arguments are
// made from the schema of the tool, and fit it: a tool for which no fitting arguments were found is not called, and the
// plan says why. What a server has named in the answers of a session before ([Seen]) is taken where it fits, and a
// [Trial] finds out which of that a tool takes that has failed.
//
// Given the same answers a [Caller] says the same.
//
// # Data layout
//
// A [Caller] is a pure machine: frames of the server in, frames of the client out. It collects an [Offer], and a
// [Chooser] makes an [Agenda] of it: the requests, each with its arguments, and the tools that are left out. A
// schema is what encoding/json makes of it: maps, lists, texts, json.Number.
//
// # Source files
//
//	caller.go     the client: the handshake, the lists, then the plan; its answers to the server's questions
//	plan.go       which requests are made, and in which order
//	arguments.go  a value for a schema
//	others.go     another value in its place
//	text.go       texts: of formats, of descriptions, and what a text names
//	seen.go       values that the server has named in its answers
//	trial.go      another client, which finds out which of them a server takes
//	fits.go       where a value does not fit a schema
//	pattern.go    a text for a regular expression
//
// # What it refuses to do
//
// It does not guess what an argument means, beyond names for files, folders and addresses, and what its description
// gives as an example. It keeps no state between two sessions. It knows no keyword of JSON Schema that refers to another document.
package workload
