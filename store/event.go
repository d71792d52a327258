package store

import (
	"bytes"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Kind says what sort of fact an event is. Unknown kinds are kept and passed on.
type Kind string

// The kinds that mcprec writes. The payload of each is given in payload.go.
const (
	Opened    Kind = "opened"    // the session's header; always Seq 1
	Frame     Kind = "frame"     // a frame's exact bytes
	Delivered Kind = "delivered" // a write to the receiver that blocked
	Stderr    Kind = "stderr"    // a line of the server's standard error
	HTTP      Kind = "http"      // an HTTP exchange or stream opened or closed
	EOF       Kind = "eof"       // a direction ended
	Exited    Kind = "exit"      // the server process ended
	Lost      Kind = "lost"      // something could not be stored
	Note      Kind = "note"      // a user's annotation
	Closed    Kind = "closed"    // the recording's end; seals the log
)

// Event is an immutable recorded fact.
type Event struct {
	// Seq is the position in the session's log, from 1, without gaps.
	Seq uint64
	// At is the monotonic offset from the session's start. A frame of a pipe has the time
	// at which its end was seen, one of an HTTP body that of its first byte.
	At time.Duration
	// Kind says how to read the rest.
	Kind Kind
	// Dir is the direction of a frame, and of what concerns one direction.
	Dir transport.Direction
	// Stream is the frame's stream number; 0 on stdio.
	Stream uint64
	// Unterminated marks a frame or stderr line that no newline ended.
	Unterminated bool
	// Redacted counts the secrets that a placeholder stands for in the payload. Without
	// any the payload is the exact bytes.
	Redacted uint64
	// Cut counts the bytes of a frame that passed behind what is in the payload, and were
	// too many to be recorded.
	Cut uint64
	// RecordedSize is the length of the recorded payload in a masked copy whose payload has
	// another length; else 0. It is never stored.
	RecordedSize int
	// Payload is the exact bytes. The holder of an Event must not change them.
	Payload []byte
}

// Equal reports whether two events are the same to the byte. Where a masked copy comes from
// does not count.
func (e Event) Equal(o Event) bool {
	return e.Seq == o.Seq && e.At == o.At && e.Kind == o.Kind && e.Dir == o.Dir &&
		e.Stream == o.Stream && e.Unterminated == o.Unterminated && e.Redacted == o.Redacted && e.Cut == o.Cut && bytes.Equal(e.Payload, o.Payload)
}

// Size returns how many bytes the event has in its log: a masked copy may be longer or
// shorter.
func (e Event) Size() int {
	if e.RecordedSize != 0 {
		return e.RecordedSize
	}
	return len(e.Payload)
}

// AsFrame returns the transport frame that a Frame event records.
func (e Event) AsFrame() transport.Frame {
	return transport.Frame{Bytes: e.Payload, Stream: e.Stream, Unterminated: e.Unterminated}
}
