// Package check says what a recording alone shows: which rules of the protocol it
// breaks, which calls were never answered and who had them, what is no message.
//
// # Promises
//
// A [Fold] is pure: no I/O, no clock, no goroutine. It takes a session's events once,
// in their order, gives out each [Finding] at the event that shows it, and keeps what
// is still open: its memory does not grow with the calls of a session. The rules are
// those of the revision that the session itself settles on.
//
// A finding that is an error is so whatever the two ends did between the frames. The
// recording was made by a tap between them: what one had not read yet when it wrote
// cannot be seen, and what hangs on that is a note. After a gap in the recording
// nothing is an error.
//
// # Rules
//
//	P1 to P10  of package order
//	P11        streams of server-sent events that are taken up again (to 2025-11-25)
//	P12        requests that are sent again with what was asked for (from 2026-07-28)
//	P13, P14   what each message says of itself
//	U1 to U4   the steps of a frame: what no recording of a session can say
//	E1 to E16  evidence beside the rules of order
//	S1         the schema of the revision
//	G1 to G4   what the user asks for
//
// testdata/rules.txt has a session that breaks each, and a legal one.
//
// # Data layout
//
// A scope is what has ids of its own: the session, and over HTTP every exchange that
// belongs to no session. It has a checker of package order. A call is a request
// without an answer, by its scope, direction and id; it goes when it is answered, and
// of all calls to one tool there is then a [Tally]: a count, bytes, and how many calls
// took or waited how long, in steps of less than one hundredth. A course is how far an HTTP
// exchange has come; its place is in a strand, a stream of server-sent events over all
// exchanges that carry it. Of events with an id, and of responses that asked for input,
// the latest are remembered.
//
// # What it refuses
//
// It needs no payload twice and keeps none. No duration makes an error of a call that was
// answered, but the one that the user sets with [Gate]. How long a client had waited when it
// went away tells a call that it left from one that it waited for in vain. No message is
// held to its schema unless [Gate] asks for it.
package check
