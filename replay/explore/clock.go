package explore

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
)

// clock is what a run knows of time: since when it rests, which timers fired, and which traffic
// timers bring again and again.
type clock struct {
	real     bool // not virtual
	timers   timers
	periodic periodic

	moved bool      // something but periodic traffic happened since the last rest
	still int       // steps when the run came to rest after that
	since time.Time // the engine's time at that rest
	woken bool      // a timer fired, and no step but periodic traffic since
}

// begin sets the clock to the start of a run.
func (c *clock) begin(terms *terms) {
	c.real = terms.settles()
	c.since = time.Now()
}

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

// rest notes that no step is enabled after so many.
func (c *clock) rest(steps int) {
	c.periodic.rests++
	if c.moved {
		c.since = time.Now()
		c.still = steps
		c.moved = false
	}
}

// passed says how long ago the run last came to rest. Real time is rounded to seconds, as
// the rest would change from run to run.
func (c *clock) passed() string {
	passed := time.Since(c.since)
	if c.real {
		return fmt.Sprintf("%v of real time", passed.Round(time.Second))
	}
	return fmt.Sprintf("%v of virtual time", passed)
}
