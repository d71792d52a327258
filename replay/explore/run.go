package explore

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Run is one schedule of a plan. [Plan.Setup] builds the peers on it; all of them
// live in its bubble and end with it.
type Run struct {
	// Data is the plan's own: Setup may leave here what Check wants to see.
	Data any

	plan     *Plan
	capacity Capacity
	split    bool // ack is a step of its own
	gate     *gate
	client   transport.Conn
	server   transport.Conn
	ctx      context.Context
	cancel   context.CancelFunc
	ops      []*operation
	halves   []*half   // that play from the plan's session
	actors   []*actor  // that do so under a model
	ended    int       // operations that have returned
	broken   *breakage // the first panic
	within   string    // Setup or Check, while it runs

	token   *Token // followed, or nil
	next    int    // choice of the token
	chooser Chooser
	limit   int
	horizon time.Duration

	steps   []Step // released, in order
	choices []Choice
	moved   bool      // something but a ping happened since the last rest
	still   int       // steps when it came to rest after that
	woken   bool      // a timer fired, and no step but pings since
	since   time.Time // the virtual time when it had
	notes   []string

	outcome
}

// outcome is how a run ended.
type outcome struct {
	verdict  string
	category string
	why      string
	err      error
	late     bool // an operation ended by a timer alone
	stuck    bool // goroutines were left that nothing ends
	stacks   []string
	stood    []*operation // that had not returned
	waits    []Wait
	sequence []string
}

type operation struct {
	name    string
	played  bool // of a recorded half, which starts it itself
	behind  bool // only told of where no other stands
	do      func(context.Context) error
	started bool
	done    bool
	err     error
}

// breakage is a panic of a goroutine that this package started.
type breakage struct {
	where string
	value any
	stack string
}

type operationKey struct{}

// operationOf names the operation that a context comes from, or "".
func operationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}

// Client returns the client's end of the gate.
func (r *Run) Client() transport.Conn { return r.client }

// Server returns the server's end of the gate.
func (r *Run) Server() transport.Conn { return r.server }

// Context ends with the run.
func (r *Run) Context() context.Context { return r.ctx }

// Op adds a user operation, such as one call of a client. It runs on a goroutine
// of its own, begins at a named step and must return: an operation that never
// does is what this package looks for. Frames written under its context carry
// its name. Only Setup may call it.
func (r *Run) Op(name string, do func(ctx context.Context) error) {
	for _, op := range r.ops {
		if op.name == name {
			panic(fmt.Sprintf("explore: operation %s: added twice", name))
		}
	}
	r.ops = append(r.ops, &operation{name: name, do: do})
}

// Go runs a peer's own goroutine, such as a server's loop. It need not return
// before the gate closes. Unlike a bare go statement it makes a panic a verdict.
func (r *Run) Go(do func(ctx context.Context)) {
	go func() {
		defer r.mend("a peer's goroutine")
		do(r.ctx)
	}()
}

// Err returns what an operation returned; it is for Check.
func (r *Run) Err(name string) error {
	i := slices.IndexFunc(r.ops, func(op *operation) bool { return op.name == name })
	if i < 0 {
		return fmt.Errorf("operation %s: there is none", name)
	}
	return r.ops[i].err
}

// mend turns a panic into a breakage. It is deferred.
func (r *Run) mend(where string) {
	v := recover()
	if v == nil {
		return
	}
	r.gate.hold()
	defer r.gate.free()
	if r.broken == nil {
		r.broken = &breakage{where: where, value: v, stack: string(debug.Stack())}
	}
	r.gate.poke()
}

// start releases an operation.
func (r *Run) start(op *operation) {
	op.started = true
	ctx := context.WithValue(r.ctx, operationKey{}, op.name)
	go func() {
		err := fmt.Errorf("operation %s: its goroutine was ended (runtime.Goexit)", op.name)
		defer func() {
			r.gate.hold()
			op.done, op.err = true, err
			r.ended++
			r.gate.poke()
			r.gate.free()
		}()
		defer r.mend("operation " + op.name)
		err = op.do(ctx)
	}()
}

// finished reports whether every operation has returned.
func (r *Run) finished() bool { return r.ended == len(r.ops) }

// unfinished lists the operations that have not returned.
func (r *Run) unfinished() []*operation {
	var ops, behind []*operation
	for _, op := range r.ops {
		switch {
		case op.done:
		case op.behind || op.played && !op.started: // they wait for the others
			behind = append(behind, op)
		default:
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return behind
	}
	return ops
}

// Failures returns the first error of an operation. It is what judges a run of a
// plan without a Check, and for Checks that want to say more.
func (r *Run) Failures() error {
	if err := r.stranger(); err != nil {
		return err
	}
	for _, op := range r.ops {
		if op.err != nil {
			return fmt.Errorf("operation %s: %w", op.name, op.err)
		}
	}
	return nil
}
