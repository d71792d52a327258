package store

import (
	"fmt"
	"slices"
	"time"
)

// Sequence checks the order of the parts of a live session. A spool holds its recorder to it,
// because a log in a wrong order cannot be read. It is a value: after a failed write the old
// one is still valid. Chunks have no numbers in it.
type Sequence struct {
	seq    uint64        // of the newest event begun
	at     time.Duration // its time
	closed bool          // the newest event is Closed
	open   []uint64      // events in parts without their last part; never changed in place
}

// After returns the sequence after the parts, or an error for a part that does not fit.
func (s Sequence) After(parts []Part) (Sequence, error) {
	for i := range parts {
		p := &parts[i]
		if p.Chunk {
			if err := s.chunk(p); err != nil {
				return s, err
			}
			s.at = p.At
			continue
		}
		if p.Cont {
			k := slices.Index(s.open, p.Seq)
			if k < 0 {
				return s, fmt.Errorf("event %d: continued, but it is not open", p.Seq)
			}
			if !p.More {
				s.open = slices.Concat(s.open[:k], s.open[k+1:])
			}
			continue
		}
		switch {
		case p.Seq != s.seq+1:
			return s, fmt.Errorf("event %d: expected event %d", p.Seq, s.seq+1)
		case s.closed:
			return s, fmt.Errorf("event %d: after the closed event", p.Seq)
		case p.At < s.at:
			return s, fmt.Errorf("event %d: at %v, before the event in front of it (%v)", p.Seq, p.At, s.at)
		case (p.Seq == 1) != (p.Kind == Opened):
			return s, fmt.Errorf("event %d: kind %s", p.Seq, p.Kind)
		}
		s.seq, s.at, s.closed = p.Seq, p.At, p.Kind == Closed
		if p.More {
			s.open = append(slices.Clip(s.open), p.Seq)
		}
	}
	return s, nil
}

func (s Sequence) chunk(p *Part) error {
	_, ok := pipeOf(p.Kind, p.Dir)
	switch {
	case !ok:
		return fmt.Errorf("chunk: kind %q, direction %q: no pipe", p.Kind, p.Dir)
	case s.seq == 0 || s.closed:
		return fmt.Errorf("chunk: before the log's beginning or after its end")
	case p.At < s.at:
		return fmt.Errorf("chunk: at %v, before what is in front of it (%v)", p.At, s.at)
	}
	return nil
}

// At returns the time of the newest part.
func (s Sequence) At() time.Duration { return s.at }

// Seq returns the Seq of the newest event begun; 0: none.
func (s Sequence) Seq() uint64 { return s.seq }
