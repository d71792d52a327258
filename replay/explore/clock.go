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
