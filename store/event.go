package store

import (
	"bytes"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Kind is the sort of an event's fact. Unknown kinds are kept and passed on.
type Kind string

// The kinds of mcprec's own events. payload.go describes their payloads.
//
// To add one: name it here and its payload in payload.go; say how a line shows it
// (replay/timeline, eventText) and what a filter reads of it (replay/filter, fields.go); give
// storetest an example; then look at what it means for a wait (replay/why and replay/check, Fold),
// for a replay (replay/closed, recording.go), and for a part of a session (mcprec export, which
// numbers the events that a payload names anew). Every other reader passes over what it does not know.
const (
	Opened    Kind = "opened"    // the session's header; always Seq 1
	Frame     Kind = "frame"     // a frame's exact bytes
	Delivered Kind = "delivered" // a blocked write to the receiver
	Stalled   Kind = "stalled"   // the receiver does not read
	Stderr    Kind = "stderr"    // a line of the server's standard error
	HTTP      Kind = "http"      // an HTTP exchange or stream opened or closed
	EOF       Kind = "eof"       // a direction ended
	Exited    Kind = "exit"      // the server process ended
	Signal    Kind = "signal"    // a signal came to the recorder
	Lost      Kind = "lost"      // events could not be stored
	Note      Kind = "note"      // a user's annotation
	Closed    Kind = "closed"    // the recording's end; seals the log
)

// Event is an immutable recorded fact.
type Event struct {
	// Seq is the position in the session's log, from 1, without gaps.
	Seq uint64
	// At is the monotonic offset from the start of the session: for a frame of a pipe the time
	// of the end, for an HTTP body the time of the first byte.
	At time.Duration
	// Kind says how to read the rest.
	Kind Kind
	// Dir is the direction of a frame, or of an event about a direction.
	Dir transport.Direction
	// Stream is the frame's stream number; 0 on stdio.
	Stream uint64
	// Unterminated marks a frame or stderr line without a newline at the end.
	Unterminated bool
	// Redacted is the number of placeholders for secrets in the payload. If Redacted is 0
	// the payload is the exact bytes.
	Redacted uint64
	// Cut is the number of passed bytes of a frame over the limit for recording.
	Cut uint64
	// Open marks a frame of a live session whose rest has not come yet. It is never stored; see
	// [ReadOptions].
	Open bool
	// RecordedSize is the length of the recorded payload if a masked copy has another length;
	// else 0. RecordedSize is never stored.
	RecordedSize int
	// Payload is the exact bytes. The holder of an Event must not change the payload.
	Payload []byte
}

// Equal reports whether two events are equal to the byte. Open and RecordedSize do not count.
func (e Event) Equal(o Event) bool {
	return e.Seq == o.Seq && e.At == o.At && e.Kind == o.Kind && e.Dir == o.Dir &&
		e.Stream == o.Stream && e.Unterminated == o.Unterminated && e.Redacted == o.Redacted && e.Cut == o.Cut &&
		bytes.Equal(e.Payload, o.Payload)
}

// Size returns the length of the payload in the log; a masked copy may differ.
func (e Event) Size() int {
	if e.RecordedSize != 0 {
		return e.RecordedSize
	}
	return len(e.Payload)
}

// AsFrame returns the transport frame of a Frame event.
func (e Event) AsFrame() transport.Frame {
	return transport.Frame{Bytes: e.Payload, Stream: e.Stream, Unterminated: e.Unterminated}
}
