package explore

import (
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
)

// course is the schedule of a run, and who chooses it: a token, or a chooser.
type course struct {
	follower *schedule.Follower // of a token, or nil
	chooser  schedule.Chooser
	walk     *schedule.Walk // the walk of the chooser, or nil; it chooses even where one step is enabled

	steps     []gate.Step // released, in order
	choices   []schedule.Choice
	trail     schedule.Trail
	crash     *crashToken
	unlearned bool // the reach of the last step is not known yet
	lessons   schedule.Lessons
}

// choose returns the index of the next step among the enabled ones. Below 0 is none: the token
// does not fit, and diverged says how, or the chooser cuts the run.
func (c *course) choose(enabled []gate.Step) (i int, diverged string) {
	at := len(c.steps) + 1
	switch {
	case c.follower != nil:
		return c.follower.Choose(at, enabled)
	case len(enabled) > 1 || c.walk != nil:
		return c.chooser(at, enabled), ""
	}
	return 0, ""
}

// add adds the chosen step, which is about to be released.
func (c *course) add(enabled []gate.Step, i int) {
	if i > 0 { // eager would choose the first
		choice := schedule.Choice{Step: len(c.steps) + 1, Hash: uint32(enabled[i].Hash())}
		c.choices = append(c.choices, choice)
		c.crash.add(choice)
	}
	c.trail.Step(enabled, i)
	c.steps = append(c.steps, enabled[i])
}

// teach lets a walk begin to learn what the step that is about to be released reaches.
func (c *course) teach(g *gate.Gate) {
	if c.walk != nil {
		g.Used = [2]bool{}
		g.GivenUp = false
		c.unlearned = true
	}
}

// learn learns what the last step has reached, now that the run is at rest.
func (c *course) learn(g *gate.Gate) {
	if c.unlearned {
		c.lessons.Learn(c.steps[len(c.steps)-1], g.Used, g.GivenUp, c.trail.Touching)
		c.unlearned = false
	}
}

// forget leaves out the choices after so many steps.
func (c *course) forget(steps int) {
	c.choices = slices.DeleteFunc(c.choices, func(choice schedule.Choice) bool { return choice.Step > steps })
}
