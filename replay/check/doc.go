// Package check reports what a recording alone shows: the rules of the protocol that it
// breaks, the calls without an answer and who had them, the bytes that are no message.
//
// # Promises
//
// A [Fold] is pure: no I/O, no clock, no goroutine. It takes a session's events once,
// in their order, gives out each [Finding] at the event that shows it, and keeps only
// the open calls and exchanges: its memory does not grow with the calls of a session. It
// applies the rules of the revision that the session itself settles on.
//
// A finding of severity error holds whatever the two ends did between the frames. The
// recording was made by a tap between them: it does not show what an end had not read yet
// when it wrote, and a finding that depends on that is a note. After a gap in the
// recording no finding is an error.
//
// # Rules
//
//	P1 to P10   the rules of package order; P1 also answers.go: answers without an id, and exchanged ones
//	P11         exchanges.go: streams of server-sent events that are resumed (to 2025-11-25)
//	P12         retries.go: requests that are sent again with the input that the server requested (from 2026-07-28)
//	P13, P14    frames.go, answers.go: the members that each message has
//	P15 to P17  httpsessions.go, waits.go: sessions, versions and answers over HTTP
//	U1, U2, U4  frames.go: the delivery of frames; no real session breaks U1 or U2
//	U3          exchanges.go: the order of an HTTP exchange
//	E1, E2, E11 waits.go: calls without an answer, in the words of package why
//	E3          calls.go: answers behind a cancellation
//	E4, E5      frames.go, framing.go: bytes that are no message, and messages in another form than a line each
//	E6, E7      fold.go: frames after the end, and gaps
//	E8          tools.go: tools that change
//	E9          headers.go: routing headers
//	E12 to E15  ending.go, exchanges.go: how the session ended
//	E16         exchanges.go: recordings that begin in the middle
//	E10, E17    waits.go, ending.go: a client that falls silent or leaves, and hangs with every request answered
//	E18         waits.go: what comes again and again
//	E20         httpsessions.go: calls that HTTP refuses
//	E21         framing.go: a session of another protocol
//	S1          frames.go: the schema of the revision
//	G1 to G5    gate.go, tools.go: the user's own rules
//
// A file declares the demands of each of its rules, with the severity and the section of the
// specification, before the code that judges them. findings.go says how to add a rule.
//
// # Data layout
//
// A scope is a space of ids: the session, and over HTTP also each exchange outside a session. It has a checker
// of package order. The answered calls to a tool make a [Tally]: a count, bytes, and how many calls took how
// long, in steps of less than one hundredth. An exchange is the state of one HTTP exchange; its position is its
// place in a stream of server-sent events, which several exchanges may carry. The latest events with an id, and
// the latest responses that asked for input, are remembered.
//
// # What it refuses
//
// It needs no payload twice and keeps none. No duration makes an answered call an error,
// except the limit that the user sets with [Gate]. Whether a call without an answer is stuck, and who is to
// blame, package why says. A message must fit its schema only if [Gate] asks for it.
package check
