package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

// periodic finds traffic that only timers bring, the same again and again: pings, a log
// message every minute, a poll. It must not hide a call that nobody will answer, so it does
// not put off the horizon.
//
// Three periods of the same are looked at before any is called periodic, and the run still
// lasts to the horizon: a server that says that it is at work until it answers is
// not taken for one that hangs. Traffic that a user operation asks for, and its answers,
// are never periodic.
type periodic struct {
	rests int
	seen  map[periodicKey]periods
}

// periodicKey is a step's content without its occurrence.
type periodicKey struct {
	class int
	what  string
}

// periods counts the rests after which timers brought a kind of step, and has the last.
type periods struct{ count, last int }

// recurs reports whether a step is periodic traffic. A session may sign its own traffic
// with the operation that made it, and that has returned.
func (p *periodic) recurs(s Step, ops map[string]*Operation) bool {
	switch {
	case s.Flight == nil:
		return false
	case s.Flight.Ping:
		return true
	case p.rests == 0:
		return false
	}
	by := s.Flight.Op
	if s.Flight.Answers != nil {
		by = s.Flight.Answers.Request.Op
	}
	if op := ops[by]; by != "" && op != nil && !op.done { // it asks, or is answered
		return false
	}
	if p.seen == nil {
		p.seen = map[periodicKey]periods{}
	}
	key := periodicKey{s.Class(), withoutOccurrence(s.What)}
	n := p.seen[key]
	if n.last != p.rests {
		n = periods{n.count + 1, p.rests}
		p.seen[key] = n
	}
	return n.count > 3
}

// withoutOccurrence takes the numbers out of a content name.
func withoutOccurrence(name string) string { return occurrence().ReplaceAllString(name, "#") }

var occurrence = phrase.Regexp(`#[0-9]+`)

// notePeriodic notes the periodic traffic of a run that hung instead of how each of it
// began, and takes it out of the run's choices.
func notePeriodic(r *Run) {
	steps := r.steps[min(r.still, len(r.steps)):]
	if len(steps) == 0 {
		return
	}
	var names []string
	for _, s := range steps {
		name := "pings"
		if s.Flight != nil && !s.Flight.Ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	r.notes = slices.DeleteFunc(r.notes, func(note string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, what, quoted := strings.Cut(name, " ")
			return quoted && strings.Contains(withoutOccurrence(note), strings.TrimSuffix(what, "»"))
		})
	})
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	r.notes = append([]string{fmt.Sprintf("for %s nothing but %s passed, %d steps of them; the token leaves them to eager",
		r.passed(), strings.Join(names, ", "), len(steps))}, r.notes...)
	r.choices = slices.DeleteFunc(r.choices, func(c Choice) bool { return c.Step > r.still })
}
