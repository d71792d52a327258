package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// longestPassage is the most virtual time that passes in a step while frames wait. It covers
// the deadlines that SDKs come with (a minute in the TypeScript SDK, five in the Python SDK)
// and the usual keepalives.
const longestPassage = 5 * time.Minute

// mostIdle is how many Time steps of a run may come to nothing, in addition to those in which a
// timer fires: half an hour, so that what lives for an hour, such as a cached list, lives on.
const mostIdle = 6

// timers are the steps of a run in which time passes while frames wait. Whether a timer of a
// peer runs is not seen before time has passed.
type timers struct {
	most     int // Time steps in which a timer fires
	fired    int // so far
	passages []*passage
	idle     bool // no timer fired in the last Time step, and no other step came after it

	passing   bool   // now
	stoppedAt string // a goroutine that a timer woke waits here for a mutex, which stops time
}

// next returns the Time step that may come next, if it may. Its number is that of the timer
// that may fire: a step that came to nothing can be left out of a schedule, and changes no name.
//
// No time passes before the step that lets the Write of a taken frame return. The writer is not
// told of its deadline there, and may find the answer and the end of its context at the same
// moment: which it takes, in a select, is in no token.
func (t *timers) next(enabled []gate.Step) (step gate.Step, ok bool) {
	acks := slices.ContainsFunc(enabled, func(step gate.Step) bool { return step.Kind == gate.Ack })
	if len(enabled) == 0 || acks || t.idle {
		return gate.Step{}, false
	}
	return t.known()
}

// known returns the Time step that may come next, now or after other steps, if there is one left.
func (t *timers) known() (step gate.Step, ok bool) {
	return gate.TimeStep(t.fired + 1), t.fired < t.most && len(t.passages)-t.fired < mostIdle
}

// mostFired returns in how many Time steps of a run a timer may fire. A token that names some may be
// followed whatever the plan says; follower is nil without a token. Real time passes by itself, and
// recorded ends have no timers.
func mostFired(p *peers, follower *schedule.Follower) int {
	plan := p.terms.plan
	switch {
	case p.terms.inRealTime(), p.terms.withoutTimers,
		!p.live(transport.ClientToServer) && !p.live(transport.ServerToClient):
		return 0
	case follower != nil:
		return max(plan.Timers, follower.Token.Timers())
	}
	return plan.Timers
}

// passage is a Time step.
type passage struct {
	step    int      // its number
	waited  []string // the other enabled steps, those with a frame first
	passed  time.Duration
	fired   bool     // a timer made a peer use the gate
	brought []string // what the peers did at the gate
	woken   []string // in a traced run: where goroutines stood that went on

	before *surroundings // until the run has come to rest
}

// surroundings are the facts of a run that show what a Time step has brought.
type surroundings struct {
	open      []*Operation // not returned
	lanes     map[*gate.Lane]laneBefore
	goroutine stacks.Dump
}

// laneBefore is a lane before a Time step; zero for one that is not there yet, such as that of a later
// response.
type laneBefore struct {
	said   int // named frames
	inHand []*gate.Flight
	ending bool // the end that writes in the lane has asked to close
}

// newPassage begins the Time step with a number. The gate is locked.
func newPassage(step int, others []gate.Step, peers *peers) *passage {
	p := &passage{step: step, before: &surroundings{open: peers.unreturned(), lanes: map[*gate.Lane]laneBefore{}}}
	for _, frames := range []bool{true, false} {
		for _, s := range others {
			if frames == (s.Flight != nil) {
				p.waited = append(p.waited, s.Name())
			}
		}
	}
	for _, l := range peers.gate.Lanes {
		p.before.lanes[l] = laneBefore{l.Said, slices.Clone(l.Waiting), l.Ending}
	}
	if tracer := peers.tracer; tracer != nil {
		p.before.goroutine = tracer.Own(stacks.Take())
	}
	return p
}

// end notes what the step has brought. The run is at rest, the gate is locked, and what was
// offered has its name.
func (p *passage) end(peers *peers) {
	b := p.before
	p.before = nil
	for _, op := range b.open {
		switch {
		case op.done && op.err != nil:
			p.brought = append(p.brought, fmt.Sprintf("%s returned: %s", op.phrase(), strings.TrimSpace(op.err.Error())))
		case op.done:
			p.brought = append(p.brought, op.phrase()+" returned")
		}
	}
	for _, l := range peers.gate.Lanes {
		was := b.lanes[l]
		who := "the " + l.Dir.Sender()
		for _, f := range l.Waiting {
			if f.Number > was.said {
				p.brought = append(p.brought, fmt.Sprintf("%s wrote %s", who, f.Name))
			}
		}
		for _, f := range was.inHand {
			if f.Taken == 0 && !slices.Contains(l.Waiting, f) {
				p.brought = append(p.brought, fmt.Sprintf("%s took back %s", who, f.Name))
			}
		}
		if l.Ending && !was.ending {
			p.brought = append(p.brought, who+"'s end asked to close")
		}
	}
	tracer := peers.tracer
	if tracer == nil {
		return
	}
	now := tracer.Own(stacks.Take())
	for _, g := range b.goroutine {
		if g.Engine() || g.Same(now.Find(g.ID)) {
			continue
		}
		if at := b.goroutine.Place(g.ID).String(); at != "" && !slices.Contains(p.woken, at) {
			p.woken = append(p.woken, at)
		}
	}
	slices.Sort(p.woken)
}

// outcome says for the drawing how long the step lasted and what ended it.
func (p *passage) outcome(timer int) string {
	switch {
	case p.before != nil: // not at rest
		return p.passed.String()
	case p.fired:
		return fmt.Sprintf("%v, until timer %d fires", p.passed, timer)
	}
	return fmt.Sprintf("%v, and no side uses the transport", p.passed)
}

// String says for the report what happened.
func (p *passage) String() string {
	const shown = 3
	list := func(items []string, join string) string {
		if more := len(items) - shown; more > 0 {
			items = append(slices.Clone(items[:shown]), fmt.Sprintf("%d more", more))
		}
		return strings.Join(items, join)
	}
	text := fmt.Sprintf("step %d: %v passed while «%s» waited", p.step, p.passed, list(p.waited, "», «"))
	switch {
	case p.before != nil:
		text += ", and the run did not come to rest"
	case len(p.brought) > 0:
		text += "\n  then " + list(p.brought, "; ")
	case p.fired:
		text += ", then a side used the transport"
	default:
		text += ", and no side used the transport"
	}
	for i, at := range p.woken {
		if i == shown {
			text += fmt.Sprintf("\n  and %d more", len(p.woken)-shown)
			break
		}
		text += "\n  woken: " + at
	}
	return text
}
