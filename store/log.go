package store

import (
	"fmt"
	"slices"
	"time"
)

// logEnd is the end of a log, by which the rules of the order of events are checked: Seq from 1
// without gaps, At never falling, Opened first and only there, nothing after Closed.
type logEnd struct {
	seq    uint64
	at     time.Duration
	closed bool
}

// next returns the end after event, or an error if event cannot follow.
func (l logEnd) next(event *Event) (logEnd, error) {
	switch {
	case event.Seq != l.seq+1:
		return l, fmt.Errorf("event %d: expected event %d", event.Seq, l.seq+1)
	case l.closed:
		return l, fmt.Errorf("event %d: after the closed event", event.Seq)
	case event.At < l.at:
		return l, fmt.Errorf("event %d: at %v, before the event in front of it (%v)", event.Seq, event.At, l.at)
	case (event.Seq == 1) != (event.Kind == Opened):
		return l, fmt.Errorf("event %d: kind %s", event.Seq, event.Kind)
	}
	return logEnd{event.Seq, event.At, event.Kind == Closed}, nil
}

// Validator checks the order of a log event by event, and the header. A Validator does not look into
// frames. The zero value is ready.
type Validator struct{ end logEnd }

// Check checks the next event. The error names the broken invariant and wraps ErrCorrupt.
func (v *Validator) Check(event Event) error {
	next, err := v.end.next(&event)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	if event.Seq == 1 {
		if _, err := ParseHeader(event.Payload); err != nil {
			return err
		}
	}
	v.end = next
	return nil
}

// Head returns the last Seq checked and whether the log is sealed.
func (v *Validator) Head() (seq uint64, sealed bool) { return v.end.seq, v.end.closed }

// Next returns the head after event, or an error if event cannot follow. Next checks the rules of
// [Validator], but not the header.
func (h Head) Next(event Event) (Head, error) {
	end, err := logEnd{h.Seq, h.At, h.Sealed}.next(&event)
	if err != nil {
		return h, err
	}
	return Head{Seq: end.seq, At: end.at, Chain: NextChain(h.Chain, event), Sealed: end.closed}, nil
}

// Count adds event to the header and the counts of a session. Count leaves Head and State alone.
func (s *Session) Count(event Event) error {
	switch event.Kind {
	case Opened:
		h, err := ParseHeader(event.Payload)
		if err != nil {
			return err
		}
		s.Header = h
	case Frame:
		s.Frames++
		s.Bytes += uint64(len(event.Payload))
	case Lost:
		info, err := DecodePayload[LostInfo](event)
		if err != nil {
			return err
		}
		s.Lost += info.Frames
	case Note:
		// Other programs may write any notes.
		if info, err := DecodePayload[NoteInfo](event); err == nil && s.Doubtful == 0 {
			s.Doubtful = info.Doubtful
		}
	case Exited:
		info, err := DecodePayload[ExitInfo](event)
		if err != nil {
			return err
		}
		s.Exit = info.String()
	}
	return nil
}

// Sequence checks the order of the parts of a live session. A spool holds its recorder to the
// order, because a log in a wrong order cannot be read. A Sequence is a value: after a failed
// write the old value is still valid. Chunks have no numbers.
type Sequence struct {
	end  logEnd   // the newest event begun; at: the time of the newest part
	open []uint64 // events in parts without their last part; never changed in place
}

// After returns the sequence after the parts, or an error for a part that does not fit.
func (s Sequence) After(parts []Part) (_ Sequence, err error) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Chunk:
			_, isPipe := pipeOf(p.Kind, p.Dir)
			switch {
			case !isPipe:
				return s, fmt.Errorf("chunk: kind %q, direction %q: no pipe", p.Kind, p.Dir)
			case s.end.seq == 0 || s.end.closed:
				return s, fmt.Errorf("chunk: before the log's beginning or after its end")
			case p.At < s.end.at:
				return s, fmt.Errorf("chunk: at %v, before the part in front of it (%v)", p.At, s.end.at)
			}
			s.end.at = p.At
		case p.Cont:
			k := slices.Index(s.open, p.Seq)
			if k < 0 {
				return s, fmt.Errorf("event %d: continued, but it is not open", p.Seq)
			}
			if !p.More {
				s.open = slices.Concat(s.open[:k], s.open[k+1:])
			}
		default:
			if s.end, err = s.end.next(&p.Event); err != nil {
				return s, err
			}
			if p.More {
				s.open = append(slices.Clip(s.open), p.Seq)
			}
		}
	}
	return s, nil
}

// At returns the time of the newest part.
func (s Sequence) At() time.Duration { return s.end.at }

// Seq returns the Seq of the newest event begun; 0 without an event.
func (s Sequence) Seq() uint64 { return s.end.seq }
