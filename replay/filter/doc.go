// Package filter selects events of a session by a few words, in one language for
// every command.
//
//	filter = { term }                       all of them hold
//	term   = [ "-" | "!" ] ( field ":" value { ("|" | ",") value } | value { "|" value } )
//	value  = word | "text in quotes"
//
// Blanks separate terms. A value of a field must match the whole of the field's text, and
// * in it stands for anything; a value without a field may be anywhere in the event.
// Characters in quotes are literal; \" is a quote there. [Fields] lists the fields.
//
// # What it promises
//
// A term about a call selects everything about the call: its request, its answer, its
// progress and its cancellation, whichever end sent them. A frame with several messages
// is selected when one message fits all terms. Everything here is pure: no I/O, no
// clock, and no memory of earlier events; the [timeline.Entry] says which call a message
// belongs to. An error in an expression names its place and the words that would do.
//
// # Layout
//
// filter.go has the syntax and the selection; fields.go has a matcher for each field.
//
// # What it refuses
//
// It does not order or combine terms: there are no parentheses, and no "or" but that of
// values. Conditions over a session's state are [replay/state]'s, which asks at each
// event how the session stands; their FILTER is this language.
//
// [replay/state]: https://pkg.go.dev/github.com/mcprec/mcprec/replay/state
package filter
