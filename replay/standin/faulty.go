package standin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// now returns the time since Serve began.
func (s *serving) now() time.Duration { return time.Since(s.start) }

// send sends a frame, or does what the faults want in its place.
func (s *serving) send(ctx context.Context, frame transport.Frame) error {
	if s.Faults == nil {
		return s.conn.Write(ctx, frame)
	}
	s.mu.Lock()
	steps := s.Faults.Say(s.now(), frame)
	s.mu.Unlock()
	return s.carryOut(ctx, steps)
}

// faultsDue returns the steps whose time has come. When the client has ended, frames that wait for
// other ones go out. The lock is held.
func (s *serving) faultsDue() []fault.Step {
	if s.Faults == nil {
		return nil
	}
	steps := s.Faults.Due(s.now())
	if s.ended && len(s.queue) == 0 && len(steps) == 0 && (s.Live == nil || s.Live.over) {
		steps = s.Faults.End()
	}
	return steps
}

// isHeld reports whether a fault holds frames back that will go out. The lock is held.
func (s *serving) isHeld() bool {
	if s.Faults == nil {
		return false
	}
	_, waits := s.Faults.Next()
	return waits
}

// faultTimer returns a channel that tells when faultsDue has steps, and a function that ends the
// timer behind it. The lock is held.
func (s *serving) faultTimer() (due <-chan time.Time, stop func()) {
	if s.Faults == nil {
		return nil, func() {}
	}
	at, waits := s.Faults.Next()
	if !waits {
		return nil, func() {}
	}
	timer := time.NewTimer(at - s.now())
	return timer.C, func() { timer.Stop() }
}

// carryOut does the steps of the faults.
func (s *serving) carryOut(ctx context.Context, steps []fault.Step) error {
	for _, step := range steps {
		var err error
		switch {
		case step.Kind == fault.Note:
			s.tell(step.Text)
		case step.Kind == fault.Send:
			err = s.conn.Write(ctx, step.Frame)
		case step.Kind == fault.Refuse:
			body := fmt.Appendf(nil, "mcprec: a fault answers with status %d\n", step.Code)
			header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
			s.responses.Answer(step.Frame.Stream, streamable.Answer{Status: step.Code, Header: header, Plain: true, Body: body})
		case step.Kind == fault.Err:
			err = s.flood(step.Size)
		case step.Kind == fault.End && s.responses != nil:
			s.responses.EndStream(step.Frame)
		case s.responses != nil:
			s.responses.Break(step.Frame, step.Kind == fault.SendHalf, step.Open)
		case step.Kind == fault.SendHalf:
			half := step.Frame.Bytes[:len(step.Frame.Bytes)/2]
			err = s.conn.Write(ctx, transport.Frame{Bytes: half, Unterminated: true})
			if err == nil && !step.Open {
				err = errCut
			}
		default:
			err = errCut
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flood writes so many bytes to standard error, in lines. It waits as long as nobody reads them: a server does.
func (s *serving) flood(size int) error {
	if s.Stderr == nil {
		return nil
	}
	line := strings.Repeat("a fault floods standard error. ", 3)[:80-1] + "\n"
	for written := 0; written < size; written += len(line) {
		if _, err := io.WriteString(s.Stderr, line[max(0, len(line)-(size-written)):]); err != nil {
			return fmt.Errorf("write to standard error: %w", err)
		}
	}
	return nil
}

// refuse asks the faults about a frame of the client. It reports whether the player is not to get
// the frame.
func (s *serving) refuse(frame transport.Frame) bool {
	if s.Faults == nil {
		return false
	}
	s.mu.Lock()
	steps := s.Faults.Hear(s.now(), frame)
	s.mu.Unlock()
	if s.responses == nil {
		return false // a status is for HTTP
	}
	_ = s.carryOut(context.Background(), steps) // no step of these writes
	return len(steps) > 0
}

// tell reports a fault to the caller.
func (s *serving) tell(text string) {
	if s.Told != nil {
		s.saying.Lock()
		defer s.saying.Unlock()
		s.Told(text)
	}
}
