// Package filter selects events of a session by a few words, in one language for
// every command.
//
//	filter = { term }                       all of them hold
//	term   = [ "-" | "!" ] ( field ":" value { ("|" | ",") value } | value { "|" value } )
//	value  = word | "text in quotes"
//
// Terms stand apart by blanks. A value of a field must be the whole of what the field
// says, and * in it stands for anything; a value without a field may be anywhere in the
// event. What stands in quotes is taken as it is; \" is a quote there. [Fields] lists
// the fields.
//
// # What it promises
//
// A term about a call selects all that is about the call: its request, its answer, its
// progress and its cancellation, whichever end sent them. A frame with several messages
// is selected when one of them fits all terms. Everything here is pure: no I/O, no
// clock, and no memory of earlier events; what belongs together is told by the
// [replay.Entry]. A fault of an expression is named by its place, with the words that
// would do.
//
// # What it refuses
//
// It does not order or combine terms: there are no parentheses, and no "or" but that of
// values. Conditions over a session's state are [replay/state]'s, which asks at each
// event how the session stands; their FILTER is this language.
//
// [replay/state]: https://pkg.go.dev/github.com/mcprec/mcprec/replay/state
package filter
