package explore

import (
	"context"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

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

// A panic in a goroutine that the peers started ends the process: nothing recovers it, and nothing
// runs after it. But the runtime prints the labels of the goroutine that panics, and goroutines
// inherit labels. So the token of the running schedule is a label, and stands in the first line of
// the trace. Go shows labels from version 1.26 on.

// crashLabel says in the trace what the token is, and what to do with it.
const crashLabel = "this order ran; run it again with Plan.Token, in fixtures with MCPREC_TOKEN"

// crashToken is the token of a running schedule, as a label. The labels of goroutines cannot be set
// from outside, so the bytes of the label change. Only the runtime reads them, when it prints a trace.
// A run that follows a token has none: the token is known, and the looks at its stacks would take
// twice as long.
type crashToken struct {
	text  []byte // as long as the token may become, the rest blanks
	used  int
	first bool // no choice was added yet
}

// newCrashToken returns the token of a run that has made no choice yet, with room for as many as it
// may have steps.
func newCrashToken(eager schedule.Token, steps int) *crashToken {
	const choiceSize, fewest, most = len("-100:00000000"), 32, 1 << 10
	begin := strings.TrimSuffix(eager.String(), schedule.TokenEager)
	choices := min(max(steps, fewest), most)
	c := &crashToken{text: make([]byte, len(begin)+choices*choiceSize), used: len(begin), first: true}
	end := copy(c.text, begin)
	end += copy(c.text[end:], schedule.TokenEager)
	for i := end; i < len(c.text); i++ {
		c.text[i] = ' '
	}
	return c
}

// label marks the calling goroutine and those that it starts, with other labels, too.
func (c *crashToken) label(others ...string) {
	if c != nil {
		others = append(others, crashLabel, unsafe.String(unsafe.SliceData(c.text), len(c.text)))
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(others...)))
}

// add adds a choice. A profile may read the label at the same time, which is no race of the peers.
//
//go:norace
func (c *crashToken) add(choice schedule.Choice) {
	if c == nil {
		return
	}
	const digits = "0123456789abcdef"
	var buf [32]byte
	b := buf[:0]
	if !c.first {
		b = append(b, '-')
	}
	b = append(strconv.AppendInt(b, int64(choice.Step), 10), ':')
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[choice.Hash>>shift&15])
	}
	if c.used+len(b) > len(c.text) {
		const cut = "... too long to show"
		b = append(buf[:0], cut...)
		c.used = max(0, min(c.used, len(c.text)-len(b)))
	}
	if c.first { // over the word eager
		for i := range c.text[c.used:] {
			c.text[c.used+i] = ' '
		}
		c.first = false
	}
	c.used += copy(c.text[c.used:], b)
}

var crashTraces struct {
	sync.Mutex
	users  int
	before string
	was    bool // set
}

// showLabels lets the runtime print labels in traces while a search runs, and returns the way back.
// It leaves the user's own setting alone.
func showLabels() (restore func()) {
	const variable, setting = "GODEBUG", "tracebacklabels="
	c := &crashTraces
	c.Lock()
	defer c.Unlock()
	if c.users++; c.users == 1 {
		c.before, c.was = os.LookupEnv(variable)
		if !strings.Contains(c.before, setting) {
			_ = os.Setenv(variable, strings.TrimPrefix(c.before+","+setting+"1", ","))
		}
	}
	return func() {
		c.Lock()
		defer c.Unlock()
		if c.users--; c.users > 0 {
			return
		}
		if c.was {
			_ = os.Setenv(variable, c.before)
		} else {
			_ = os.Unsetenv(variable)
		}
	}
}
