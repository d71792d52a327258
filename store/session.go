package store

import "fmt"

// Next returns the head after e, or an error if e cannot follow. It checks the rules of
// [Validator], but not the header.
func (h Head) Next(e Event) (Head, error) {
	switch {
	case e.Seq != h.Seq+1:
		return h, fmt.Errorf("event %d: expected event %d", e.Seq, h.Seq+1)
	case h.Sealed:
		return h, fmt.Errorf("event %d: after the closed event", e.Seq)
	case e.At < h.At:
		return h, fmt.Errorf("event %d: at %v, before the event in front of it (%v)", e.Seq, e.At, h.At)
	case (e.Seq == 1) != (e.Kind == Opened):
		return h, fmt.Errorf("event %d: kind %s", e.Seq, e.Kind)
	}
	return Head{Seq: e.Seq, At: e.At, Chain: NextChain(h.Chain, e), Sealed: e.Kind == Closed}, nil
}

// Count adds e to the header and the counts of a session. It leaves Head and State alone.
func (s *Session) Count(e Event) error {
	switch e.Kind {
	case Opened:
		h, err := ParseHeader(e.Payload)
		if err != nil {
			return err
		}
		s.Header = h
	case Frame:
		s.Frames++
		s.Bytes += uint64(len(e.Payload))
	case Lost:
		info, err := DecodePayload[LostInfo](e)
		if err != nil {
			return err
		}
		s.Lost += info.Frames
	case Note:
		// Other programs may write any notes.
		if info, err := DecodePayload[NoteInfo](e); err == nil && s.Doubtful == 0 {
			s.Doubtful = info.Doubtful
		}
	case Exited:
		info, err := DecodePayload[ExitInfo](e)
		if err != nil {
			return err
		}
		s.Exit = info.String()
	}
	return nil
}
