package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport/phrase"
)

// clock is what a run knows of time: since when it stands still, which timers fired, and which
// traffic timers bring again and again.
type clock struct {
	real     bool // not virtual
	timers   timers
	periodic periodic

	start time.Time // the engine's time when the run began
	moved bool      // something other than periodic traffic has happened since still was set
	still int       // the number of steps when the run last stood still after such a move
	since time.Time // the engine's time then
	woken bool      // a timer fired, and no step but periodic traffic since

	open *openWaits // when the run last stood still after such a move; nil: not traced
}

// begin sets the clock to the start of a run.
func (c *clock) begin(terms *terms) {
	c.real = terms.inRealTime()
	c.since = time.Now()
	c.start = c.since
}

// ran says for how long the run goes on.
func (c *clock) ran() string { return c.told(time.Since(c.start)) }

// step notes a step that is released, and returns a note if a timer alone brought it.
func (c *clock) step(step gate.Step, p *peers) (note string) {
	c.timers.idle = false
	if step.Kind == gate.Time {
		c.moved = true
		return ""
	}
	if c.periodic.recurs(step, p.byName) {
		return ""
	}
	if c.woken && !p.finished() {
		note = fmt.Sprintf("nothing was enabled: a timer brought «%s», after %s", step.Name(), c.passed())
	}
	c.moved = true
	c.woken = false
	return note
}

// standStill notes that no step is enabled after so many.
func (c *clock) standStill(steps int) {
	c.periodic.standstills++
	if c.moved {
		c.since = time.Now()
		c.still = steps
		c.moved = false
	}
}

// passed says for how long the run has stood still.
func (c *clock) passed() string { return c.told(time.Since(c.since)) }

// told tells a time of the run. Real time is rounded to seconds: a fraction would change from run to run.
func (c *clock) told(d time.Duration) string {
	if c.real {
		return fmt.Sprintf("%v of real time", d.Round(time.Second))
	}
	return fmt.Sprintf("%v of virtual time", d)
}

// periodic finds traffic that timers alone bring again and again: pings, a log message
// every minute, a poll. Periodic traffic does not put off the horizon, or it would hide an
// unanswered call.
//
// Traffic is periodic from the fourth period on, and the run still lasts to the horizon: a
// server that sends log messages until the answer does not hang. Requests of an unreturned
// user operation, and the responses, are never periodic; a client that resumes the stream of such a
// request again and again is.
type periodic struct {
	standstills int
	seen        map[periodicKey]periods
}

// periodicKey is a step's content without the occurrence number.
type periodicKey struct {
	class int
	what  string
}

// periods counts the standstills after which timers brought a kind of step, and has the last.
type periods struct{ count, last int }

// recurs reports whether a step is periodic traffic. A session may sign its traffic with the
// returned operation that created the session.
func (p *periodic) recurs(step gate.Step, ops map[string]*Operation) bool {
	switch {
	case step.Flight == nil && !step.IsHTTP():
		return false
	case step.Flight != nil && step.Flight.Ping:
		return true
	case p.standstills == 0:
		return false
	}
	if step.Flight != nil {
		by := step.Flight.Op
		if step.Flight.Answers != nil {
			by = step.Flight.Answers.Request.Op
		}
		if op := ops[by]; by != "" && op != nil && !op.done { // a request of the operation, or a response to it
			return false
		}
	}
	if p.seen == nil {
		p.seen = map[periodicKey]periods{}
	}
	key := periodicKey{step.Class(), withoutOccurrence(step.What)}
	n := p.seen[key]
	if n.last != p.standstills {
		n = periods{n.count + 1, p.standstills}
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
		if s.Flight == nil || !s.Flight.Ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
