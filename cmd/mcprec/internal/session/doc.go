// Package session opens a SESSION argument, and the store that most of them name.
//
// # What it promises
//
// A [Home] says where the store is and how secrets are masked. A [Session] is a log in the store, in a
// fixture, or in a file of another recorder. It yields events through a [Masker]. A view that quotes few messages
// gets the steps as they were recorded, and a mask ([Session.Steps]). Closing a [Store] that [OpenStore] opened
// tidies the files of dead recorders.
//
// # Source files
//
//	home.go          where the store is
//	open.go          opens it
//	store.go         the open Store: finding sessions, labels
//	save.go          stores the events of a session
//	summary.go       summaries, and which sessions have an event
//	session.go       the Session: opening an argument, reading, choosing events
//	several.go       files with several sessions
//	recording.go     a whole session in memory
//	entries.go, events.go, state.go  what is read of a session
//	parallel.go      work on events on several cores
//	progress.go      a line on the terminal while a session is read
//	mask.go          the Masker
//	folder.go        fixtures below folders
//
// # What it refuses
//
// It reads no flags, and prints only faults on closing and which of two sessions a word names.
package session
