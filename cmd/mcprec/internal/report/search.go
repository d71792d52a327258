package report

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/external"
)

// Search is what the search for a fault of a process says while it goes on: each finding when it is found, and
// on a terminal a line that moves.
type Search struct {
	Screen *output.Screen // for the findings; nil: they are not printed
	Line   *output.Progress
	Mask   func(string) string

	began time.Time
	err   error // of the screen

	mu    sync.Mutex // guards what follows
	at    external.Progress
	since time.Time // of what is watched
}

// Begin draws the line until the caller calls end.
func (s *Search) Begin() (end func() error) {
	s.began = time.Now()
	over := s.Line.During(s.words)
	return func() error { over(); return s.err }
}

// Progress takes where the search is.
func (s *Search) Progress(at external.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Watched != s.at.Watched || at.Does != s.at.Does {
		s.since = time.Now()
	}
	s.at = at
}

// Found prints a finding.
func (s *Search) Found(f external.Finding) {
	if s.Screen == nil {
		return
	}
	f.Detail = s.Mask(f.Detail)
	s.Line.Beside(func() {
		s.Screen.PaintVerdict(f.Text())
		s.err = errors.Join(s.err, s.Screen.Flush())
	})
}

// words are the line. What a terminal cuts off comes last.
func (s *Search) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := func(since time.Time) time.Duration { return time.Since(since).Round(time.Second) }
	switch at := s.at; {
	case at.Watched != "":
		return fmt.Sprintf("explore: %s, watching, %v: %s", at.Watched, elapsed(s.since), at.Does)
	case at.Planned == 0:
		return fmt.Sprintf("explore: the recorded order first, %v; ^C ends it with a report", elapsed(s.began))
	default:
		return fmt.Sprintf("explore: %d of %d orders in %v; ^C ends it with a report", at.Played, at.Planned, elapsed(s.began))
	}
}
