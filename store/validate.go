package store

import (
	"fmt"
	"time"
)

// Validator checks the invariants of a log event by event, without looking into frames: Seq
// from 1 without gaps, At never falling, Opened first and only there, nothing after Closed.
// The zero value is ready.
type Validator struct {
	seq    uint64
	at     time.Duration
	closed bool
}

// Check checks the next event. The error names the broken invariant and wraps ErrCorrupt.
func (v *Validator) Check(e Event) error {
	fault := ""
	switch {
	case e.Seq != v.seq+1:
		fault = fmt.Sprintf("expected event %d", v.seq+1)
	case e.At < v.at:
		fault = fmt.Sprintf("at %v, before the event in front of it (%v)", e.At, v.at)
	case v.closed:
		fault = "after the closed event"
	case (e.Seq == 1) != (e.Kind == Opened):
		fault = fmt.Sprintf("kind %s", e.Kind)
	}
	if e.Seq == 1 && fault == "" {
		if _, err := ParseHeader(e.Payload); err != nil {
			return err
		}
	}
	if fault != "" {
		return fmt.Errorf("event %d: %s: %w", e.Seq, fault, ErrCorrupt)
	}
	v.seq, v.at, v.closed = e.Seq, e.At, e.Kind == Closed
	return nil
}

// Head returns the last Seq checked and whether the log is sealed.
func (v *Validator) Head() (seq uint64, sealed bool) { return v.seq, v.closed }
