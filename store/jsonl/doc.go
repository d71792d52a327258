// Package jsonl reads and writes the text form of a session: JSON Lines that jq, git and
// every language read, and that a hand can write. A fixture is a file of it.
//
// # Data layout
//
//	{"mcprec":1,"id":"0192…","start":"2026-11-21T15:00:00Z","transport":"stdio","label":"","command":["srv"]}
//	{"seq":2,"at":"1.2ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
//	{"seq":3,"at":"1.9ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{}}}
//	{"seq":4,"at":"2ms","kind":"stderr","dir":"s2c","text":"bye"}
//
// # The header line
//
// The first line is the payload of the opened event, as [store.Header] writes
// it: a JSON object whose first member is "mcprec", the format's version. The
// line is the opened event: Seq 1, At 0, no direction. An opened event that is
// anything else (another time, a payload with line ends) is written as an event
// line after the stand-in line
//
//	{"mcprec":1,"opened":"next line"}
//
// # Event lines
//
// Every other line is one event, a JSON object with these members in this
// order. A member at its default is left out, save seq and at.
//
//	seq           the position in the log, from 1, without gaps
//	at            the offset from the session's start, a Go duration: "12.3ms"
//	kind          what sort of event; left out: "frame"
//	dir           "c2s" or "s2c"; left out: none
//	stream        the frame's stream number; left out: 0
//	unterminated  true when no newline ended the frame or stderr line
//
// The payload comes last, as one of
//
//	frame         of a frame: its exact bytes, not re-encoded
//	data          the same for events of other kinds
//	text          a string: the payload is any other UTF-8
//	base64        a string, RFC 4648 with padding: the payload is not UTF-8
//
// A payload stands verbatim when it is exactly one JSON value in UTF-8 with no
// blank around it, no CR or LF in it, no escape of half a surrogate pair (jq
// refuses it), and no deeper than encoding/json reads.
// So decoding what was encoded gives the same events, to the byte, for every
// log that [store.Validator] accepts. Two things cannot be written and are
// refused: a kind that is not UTF-8 and a direction that is neither of the two.
//
// # What a reader tolerates
//
// Lines may be as long as they like. Blank lines, blanks around a line, CRLF, a
// byte order mark and a missing last newline are skipped. Members may come in
// any order. Kinds that this version does not know are kept. Members that it does
// not know are ignored, so that a fixture may carry remarks; they are not
// written again. An older "mcprec" is read for ever, a newer one is refused
// with [store.ErrNewer].
//
// A file that another recorder wrote is read as well, by what it holds; package
// foreign says which, and what becomes of it.
//
// By hand, seq may be left out (the events count up) and at too (the time of
// the event before). A header without an id gets one derived from its line: a
// version 8 UUID of the line's SHA-256, put at the payload's end.
//
// What is no log (a seq that jumps, a time that falls, something after
// closed) is an error that names the line, what was read so far and what to do,
// and wraps [store.ErrCorrupt].
package jsonl
