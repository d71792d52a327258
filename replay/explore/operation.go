package explore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
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
