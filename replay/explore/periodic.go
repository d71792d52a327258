package explore

import (
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/phrase"
)

// periodic finds traffic that timers alone bring again and again: pings, a log message
// every minute, a poll. Periodic traffic does not put off the horizon, or it would hide an
// unanswered call.
//
// Traffic is periodic from the fourth period on, and the run still lasts to the horizon: a
// server that sends log messages until the answer does not hang. Requests of an unreturned
// user operation, and the responses, are never periodic.
type periodic struct {
	rests int
	seen  map[periodicKey]periods
}

// periodicKey is a step's content without the occurrence number.
type periodicKey struct {
	class int
	what  string
}

// periods counts the rests after which timers brought a kind of step, and has the last.
type periods struct{ count, last int }

// recurs reports whether a step is periodic traffic. A session may sign its traffic with the
// returned operation that created the session.
func (p *periodic) recurs(step gate.Step, ops map[string]*Operation) bool {
	switch {
	case step.Flight == nil:
		return false
	case step.Flight.Ping:
		return true
	case p.rests == 0:
		return false
	}
	by := step.Flight.Op
	if step.Flight.Answers != nil {
		by = step.Flight.Answers.Request.Op
	}
	if op := ops[by]; by != "" && op != nil && !op.done { // a request of the operation, or a response to it
		return false
	}
	if p.seen == nil {
		p.seen = map[periodicKey]periods{}
	}
	key := periodicKey{step.Class(), withoutOccurrence(step.What)}
	n := p.seen[key]
	if n.last != p.rests {
		n = periods{n.count + 1, p.rests}
		p.seen[key] = n
	}
	return n.count > 3
}

// withoutOccurrence takes the occurrence numbers out of a content name.
func withoutOccurrence(name string) string { return occurrence().ReplaceAllString(name, "#") }

var occurrence = phrase.Regexp(`#[0-9]+`)

// kindsOf names the kinds of periodic traffic among steps.
func kindsOf(steps []gate.Step) (names []string) {
	for _, s := range steps {
		name := "pings"
		if s.Flight != nil && !s.Flight.Ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
