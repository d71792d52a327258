package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Traffic that only timers bring, the same again and again, must not hide a call
// that nobody will answer: pings, a log message every minute, a poll. A beat is a
// step of such traffic. It does not put off the horizon.
//
// Three periods of the same are looked at before any is a beat, and the run still
// lasts to the horizon: a server that says that it is at work until it answers is
// not taken for one that hangs. What a user operation itself asks, and is
// answered, is no beat.

// periods is how often timers must have brought a step before it is a beat.
const periods = 3

// beats counts in how many rests each kind of step was brought by timers.
type beats struct {
	rests int
	seen  map[beatName]beatCount
}

// beatName is a step's content without its occurrence.
type beatName struct {
	class int
	what  string
}

type beatCount struct{ periods, last int }

// recurs reports whether a step is a beat.
func (r *Run) recurs(s Step) bool {
	b := &r.beats
	switch {
	case s.flight == nil:
		return false
	case s.flight.ping:
		return true
	case b.rests == 0 || r.asked(s.flight):
		return false
	}
	if b.seen == nil {
		b.seen = map[beatName]beatCount{}
	}
	name := beatName{s.class(), withoutOccurrence(s.What)}
	n := b.seen[name]
	if n.last != b.rests {
		n = beatCount{n.periods + 1, b.rests}
		b.seen[name] = n
	}
	return n.periods > periods
}

// asked reports whether a frame is a request of an operation that has not returned,
// or the response to one. What a session does of its own accord may bear the name
// of the operation that made the session.
func (r *Run) asked(f *flight) bool {
	by := f.op
	if f.answers != nil {
		by = f.answers.request.op
	}
	return by != "" && slices.ContainsFunc(r.ops, func(op *Operation) bool { return op.name == by && !op.done })
}

// withoutOccurrence takes the numbers out of a content name.
func withoutOccurrence(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		b.WriteByte(name[i])
		for name[i] == '#' && i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
			i++
			for i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
				i++
			}
		}
	}
	return b.String()
}

// beatNote says what went on while a run hung, instead of how each beat began, and
// takes it out of its choices.
func (r *Run) beatNote() {
	steps := r.steps[min(r.still, len(r.steps)):]
	if len(steps) == 0 {
		return
	}
	names := beatNames(steps)
	r.notes = slices.DeleteFunc(r.notes, func(note string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, what, quoted := strings.Cut(name, " ")
			return quoted && strings.Contains(withoutOccurrence(note), strings.TrimSuffix(what, "»"))
		})
	})
	if len(names) > shownBeats {
		names = append(names[:shownBeats], "…")
	}
	r.notes = append([]string{fmt.Sprintf("for %v of %s nothing but %s passed, %d steps of them; the token leaves them to eager",
		r.passed(), r.kind.clock(), strings.Join(names, ", "), len(steps))}, r.notes...)
	r.choices = slices.DeleteFunc(r.choices, func(c Choice) bool { return c.Step > r.still })
}

// shownBeats is how many kinds of beats a note names.
const shownBeats = 3

// beatNames names what the beats were.
func beatNames(steps []Step) (names []string) {
	for _, s := range steps {
		name := "pings"
		if s.flight != nil && !s.flight.ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
