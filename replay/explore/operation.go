package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// Operation is a user operation of a run.
type Operation struct {
	peers     *peers
	name      string
	played    bool // a recorded half starts and ends it
	behind    bool // reported only where no other operation stands
	do        func(context.Context) error
	begin     func(at int) // is start, for the step
	started   bool
	began     int          // the step at which it started; 0 before
	burst     []*Operation // operations that begin in the same step, itself too; or nil
	goroutine int          // the number, in a traced run
	done      bool
	err       error
	after     []*Operation // operations that must return first
	last      bool         // after every other operation
	expected  *Expected    // the operation stands for this message, or nil
}

// After holds the operation back until the named operations, added before, have returned,
// with an error or without. Operations that need the same event, such as a handshake, should
// come after an operation for the event: operations that wait by themselves wake in the
// order of the Go scheduler, which is in no token.
func (op *Operation) After(names ...string) *Operation {
	for _, name := range names {
		before := op.peers.byName[name]
		if before == nil || before == op {
			panic(fmt.Sprintf("explore: operation %s: it cannot come after %s, which was not added before", op.name, name))
		}
		op.after = append(op.after, before)
	}
	return op
}

// AfterAll holds the operation back until every other operation has returned, also the calls
// of a recorded client: the operation ends the session.
func (op *Operation) AfterAll() *Operation {
	op.last = true
	return op
}

// phrase names the operation in a sentence.
func (op *Operation) phrase() string {
	if op.expected != nil {
		return "that " + op.name
	}
	return "operation " + op.name
}

// startStep returns the step that starts the operation, with those of its burst; false if
// another operation of the burst has it, or if it must wait.
func (op *Operation) startStep() (step gate.Step, ok bool) {
	if op.started || op.played || op.heldBy() != nil {
		return step, false
	}
	if op.burst == nil {
		return gate.Step{Kind: gate.Start, What: op.name, Do: op.begin}, true
	}
	var names []string
	for _, other := range op.burst {
		if other.heldBy() != nil {
			return step, false
		}
		names = append(names, other.name)
	}
	return gate.Step{Kind: gate.Start, What: strings.Join(names, " + "), Do: func(at int) {
		for _, other := range op.burst {
			other.start(at)
		}
	}}, op == op.burst[0]
}

// heldBy returns an operation that must return first, or nil.
func (op *Operation) heldBy() *Operation {
	for _, before := range op.after {
		if !before.done {
			return before
		}
	}
	if op.last {
		for _, other := range op.peers.ops {
			if !other.done && !other.last {
				return other
			}
		}
	}
	return nil
}

// start releases the operation in the step with a number. The gate is locked.
func (op *Operation) start(at int) {
	p := op.peers
	op.started = true
	op.began = at
	ctx := gate.WithOperation(p.ctx, op.name)
	go func() {
		err := errors.New("its goroutine was ended (runtime.Goexit)")
		defer func() { op.finish(err) }()
		defer p.mend("operation " + op.name)
		if p.tracer != nil {
			op.goroutine = stacks.Self().ID
			p.moves.Tick()
		}
		err = op.do(ctx)
	}()
}

// finish ends the operation; the first call counts.
func (op *Operation) finish(err error) {
	p := op.peers
	p.gate.Lock()
	defer p.gate.Unlock()
	if op.done {
		return
	}
	op.done = true
	op.err = err
	p.returned++
	p.gate.Poke()
}

// Expected is a message that an end must receive in every schedule. The run waits for it as for
// an operation. If the run comes to rest without the message, the check has failed: no timer of
// the test's own is needed, and none decides.
type Expected struct {
	op     *Operation
	dir    transport.Direction
	method string
	target string // "": any
	since  []*Operation
}

// Since lets only messages count that are read after the named operations, added before, have
// begun. A message may have been sent before: it tells the receiver as well.
func (e *Expected) Since(names ...string) *Expected {
	for _, name := range names {
		op := e.op.peers.byName[name]
		if op == nil || op == e.op {
			panic(fmt.Sprintf("explore: %s: there is no operation %s before it", e.op.name, name))
		}
		e.since = append(e.since, op)
	}
	return e
}

// About lets only messages about a tool, a prompt or a resource count, by its name or URI.
func (e *Expected) About(target string) *Expected {
	e.target = target
	return e
}

// notBegun returns an operation of Since that has not begun, or nil.
func (e *Expected) notBegun() *Operation {
	for _, op := range e.since {
		if !op.started {
			return op
		}
	}
	return nil
}

// is reports whether a frame has the message.
func (e *Expected) is(flight *gate.Flight) bool {
	for _, m := range flight.Messages() {
		target, _ := timeline.Target(m)
		if m.Kind() != transport.Response && m.Method == e.method && (e.target == "" || e.target == target) {
			return true
		}
	}
	return false
}

// missingMessage returns, of the operations of a run, an expected message without which it stands
// still, or nil if an operation stands too. The gate is locked.
func missingMessage(operations []*Operation) (missing *Expected) {
	for _, op := range operations {
		switch {
		case op.done || op.heldBy() != nil || op.played && !op.started && op.expected == nil:
		case op.expected == nil:
			return nil
		case missing == nil:
			missing = op.expected
		}
	}
	return missing
}

// String says what must be received: the same in every schedule.
func (e *Expected) String() string {
	text := fmt.Sprintf("the %s must receive %s", e.dir.Receiver(), e.method)
	if e.target != "" {
		text += fmt.Sprintf(" %q", e.target)
	}
	if len(e.since) > 0 {
		var names []string
		for _, op := range e.since {
			names = append(names, fmt.Sprintf("operation %s began", op.name))
		}
		text += ", after " + strings.Join(names, " and ")
	}
	return text
}

// explain says where the message is after these steps, or that it was not sent. The gate is locked.
func (e *Expected) explain(steps []gate.Step) (category, why string) {
	why = e.String()
	if op := e.notBegun(); op != nil {
		return "", why + ": operation " + op.name + " has not begun"
	}
	for _, lane := range e.op.peers.gate.Lanes {
		for _, f := range slices.Concat(lane.Queue, lane.Waiting) {
			if lane.Dir != e.dir || !e.is(f) {
				continue
			}
			why += fmt.Sprintf(": it is %s", lane.Where(f))
			if lane.Last != nil && lane.Readers() == 0 {
				return lane.Last.Behind(), why + fmt.Sprintf("; the %s's reader took %s at step %d and has not come back",
					lane.Receiver(), lane.Last.Name, lane.Last.Given)
			}
			return closed.NeverSent, why
		}
	}
	why += fmt.Sprintf(": the %s has sent none", e.dir.Sender())
	if before := e.lastRead(steps); before > 0 {
		why += fmt.Sprintf(" since; the last was read at step %d", before)
	}
	return closed.NeverSent, why + e.subscriptions()
}

// subscriptions says which requests of the receiver had been sent and not read when the
// operations of Since began, and which listens are open. Either may be why no message came.
func (e *Expected) subscriptions() (text string) {
	var late, open []string
	for _, c := range e.op.peers.gate.Names.Calls {
		f := c.Request
		if f.Dir == e.dir || c.Cancelled || f.Withdrawn {
			continue
		}
		if i := slices.IndexFunc(e.since, func(op *Operation) bool {
			began := op.began
			return f.Round < began && (f.Given == 0 || f.Given > began)
		}); i >= 0 {
			late = append(late, fmt.Sprintf("when operation %s began, at step %d, %s had been sent and not been read",
				e.since[i].name, e.since[i].began, c.Name))
		}
		if c.Listen && f.Given > 0 && c.Response == nil {
			open = append(open, c.Name)
		}
	}
	for _, l := range late {
		text += "; " + l
	}
	if len(open) > 0 {
		text += "; open at the " + e.dir.Sender() + ": " + strings.Join(open, ", ")
	}
	return text
}

// lastRead returns the one of the steps at which the message was last read, or 0.
func (e *Expected) lastRead(steps []gate.Step) int {
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; s.Dir == e.dir && s.Flight != nil && s.Flight.Given == i+1 && e.is(s.Flight) {
			return i + 1
		}
	}
	return 0
}
