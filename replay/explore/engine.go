package explore

import (
	"fmt"
	"time"
)

// Engine chooses how a run is kept still between its steps.
type Engine string

const (
	// Bubble is the default: a testing/synctest bubble. Its time is virtual, and it
	// proves hangs.
	Bubble Engine = "a"
	// Settle takes stacks of the whole process until nobody of the run moves. It is
	// for peers that cannot live in a bubble. Its time is real, and what it finds
	// is a [Stall].
	Settle Engine = "b"
)

// clock names the engine's time.
func (e Engine) clock() string {
	if e == Settle {
		return "real time"
	}
	return "virtual time"
}

// passed is the time since the run last came to rest. Of real time a report has
// seconds: the rest would be another every time.
func (r *Run) passed() time.Duration {
	passed := time.Since(r.since)
	if r.kind == Settle {
		passed = passed.Round(time.Second)
	}
	return passed
}

// retry runs a schedule that froze its bubble where time is real, and notes what
// that gives. It lets time pass for whatever timer there may be.
func (s *search) retry(report *Report, token Token) {
	r := s.newRun(token.Capacity)
	r.kind, r.token, r.level, r.patient = token.Engine, &token, token.Level, true
	r.play(s.t, s.plan)
	text := r.verdict
	if r.category != "" {
		text += " " + r.category
	}
	if r.why != "" {
		text += ": " + r.why
	}
	report.Notes = append(report.Notes, fmt.Sprintf("in real time (engine %s) the same schedule gives: %s", Settle, text))
}
