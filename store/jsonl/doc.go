// Package jsonl reads and writes the text form of a session: JSON Lines that jq, git and
// every language read, and that a hand can write. A fixture is a file of such text.
//
// # What it promises
//
// Decoding encoded events gives the same events, to the byte, for every log that
// [store.Validator] accepts.
//
// # Data layout
//
//	{"mcprec":1,"id":"0192…","start":"2026-11-21T15:00:00Z","transport":"stdio","label":"","command":["srv"]}
//	{"seq":2,"at":"1.2ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
//	{"seq":3,"at":"1.9ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{}}}
//	{"seq":4,"at":"2ms","kind":"stderr","dir":"s2c","text":"bye"}
//
// The first line is the header: the payload of the opened event, as [store.Header] writes
// the header, a JSON object whose first member is "mcprec", the format's version. The line
// stands for the opened event with Seq 1, At 0 and no direction. Any other opened event
// (another time, a payload with line ends) has an event line, behind the stand-in line
//
//	{"mcprec":1,"opened":"next line"}
//
// Every other line is one event, a JSON object with these members in this order. A member
// at its default is left out, save seq and at.
//
//	seq           the position in the log, from 1, without gaps
//	at            the offset from the session's start, a Go duration: "12.3ms"
//	kind          the kind of event; left out: "frame"
//	dir           "c2s" or "s2c"; left out: none
//	stream        the frame's stream number; left out: 0
//	unterminated  true when no newline ended the frame or stderr line
//
// The payload comes last, as one of
//
//	frame         the exact bytes of a frame, not re-encoded
//	data          the same for events of other kinds
//	text          a string: the payload is any other UTF-8
//	base64        a string, RFC 4648 with padding: the payload is not UTF-8
//
// A payload stands verbatim when it is exactly one JSON value in UTF-8, no blank stands
// around the value, no CR or LF in it, no escape of half a surrogate pair (jq refuses such an
// escape), and encoding/json reads its depth.
//
// # What a reader tolerates
//
// Lines may have any length. Blank lines, blanks around a line, CRLF, a byte order mark and a
// missing last newline are skipped. Members may come in any order. Events of unknown kinds are
// kept. Unknown members are ignored, so that a fixture may carry remarks; they are not written
// again. Older versions of the format are read for ever. Files from other recorders are
// recognised by content and read as well, see package foreign.
//
// By hand, seq may be left out (the events count up), and at (the time of the event before). A
// header without an id gets an id derived from its line: a version 8 UUID of the line's
// SHA-256, put at the payload's end.
//
// # What it refuses
//
// A newer version is refused with [store.ErrNewer]. A text that is not a log (a seq that jumps,
// a time that falls, an event after closed) is an error that wraps [store.ErrCorrupt] and names
// the line, the events before the line and the remedy. Two things cannot be written: a kind
// that is not UTF-8, and a direction besides the two.
package jsonl
