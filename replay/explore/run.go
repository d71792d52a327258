package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// Run is one schedule of a plan. [Plan.Setup] builds the peers on the run; they live in the
// run's bubble and end with it.
type Run struct {
	// Data is for the plan: Setup may leave here what Check wants to see.
	Data any

	terms   terms
	peers   peers
	course  course
	clock   clock
	engine  engine
	outcome outcome
	// deletion ends the sessions that the clients of a run that passed have not ended; nil: there is no HTTP, or the
	// run did not pass.
	deletion *gate.Deletion
}

// newRun returns a run under these terms that has not begun, with room for so many steps.
func newRun(terms terms, length int) *Run {
	r := &Run{terms: terms}
	r.peers.terms = &r.terms
	r.course.steps = make([]gate.Step, 0, length)
	r.course.trail.Touching = schedule.Touching{Capacity: terms.capacity, Split: !terms.plan.AckWithTake}
	return r
}

// asToken names the schedule of the run.
func (r *Run) asToken() schedule.Token {
	if r.course.follower != nil {
		return r.course.follower.Token
	}
	return schedule.Token{Capacity: r.terms.capacity, Level: r.terms.level, Engine: r.terms.engine, Choices: r.course.choices}
}

// shown returns the steps that a report shows: of a hang only those before the run stood still,
// without the periodic traffic behind them.
func (r *Run) shown() []gate.Step {
	if stands(r.outcome.verdict) {
		return r.course.steps[:r.clock.still]
	}
	return r.course.steps
}

// shownHashes returns the hashes of the shown steps.
func (r *Run) shownHashes() []uint32 {
	var order []uint32
	for _, s := range r.shown() {
		order = append(order, uint32(s.Hash()))
	}
	return order
}

// trace is a number of the steps of the run and of its end: equal for runs that went the same way.
func (r *Run) trace() (trace uint64) {
	for _, step := range r.course.steps {
		trace = gate.Scramble(trace ^ step.Hash())
	}
	if r.outcome.verdict == Pass {
		trace++
	}
	return trace
}

// shrinks reports whether another schedule can show the failure again. A frozen bubble would
// freeze every time.
func (r *Run) shrinks() bool {
	switch r.outcome.verdict {
	case Pass, Undecided, Diverged, DataRace:
		return false
	}
	return !r.costly() && (r.outcome.verdict != Leak || r.outcome.leaksAlone())
}

// longIdling is how many steps of periodic traffic make a run too long to be run again and again: a second
// or two.
const longIdling = 20_000

// isEndless reports whether the run did all the steps that it may do.
func (r *Run) isEndless() bool {
	return r.outcome.verdict == Undecided && len(r.course.steps) == r.terms.limit
}

// costly reports whether the run was too expensive for another like it: the run was given up,
// real time had to pass before the leak or the doubt was known, or much periodic traffic, or it did all the
// steps that it may.
func (r *Run) costly() bool {
	return r.outcome.froze || r.outcome.idled > longIdling || r.isEndless() || r.terms.inRealTime() && (r.outcome.stuck || r.outcome.verdict == Undecided)
}

// Client returns the client's end of the gate; of a recorded client over HTTP its connection, whose
// Close deletes the session.
func (r *Run) Client() transport.Conn { return r.Pair(1).Client() }

// Server returns the server's end of the gate.
func (r *Run) Server() transport.Conn { return r.Pair(1).Server() }

// ClientBytes returns the client's end as the bytes of stdio, in place of [Run.Client]: each
// Write is a step, and bytes of several goroutines mix as in a pipe; see [gate.Bytes]. Only
// Setup may call it, once.
func (r *Run) ClientBytes() io.ReadWriteCloser { return r.Pair(1).pair.Ends[0].Bytes() }

// ServerBytes returns the server's end as bytes; see [Run.ClientBytes].
func (r *Run) ServerBytes() io.ReadWriteCloser { return r.Pair(1).pair.Ends[1].Bytes() }

// Pair returns a pair by its number, from 1. [Run.Client] and [Run.Server] are the ends of pair
// 1. Only Setup may call Pair. In names and reports the client of pair 2 is "client 2".
func (r *Run) Pair(number int) *Pair { return r.peers.pair(number) }

// HTTPClient returns the HTTP of the client of pair 1.
func (r *Run) HTTPClient() *http.Client { return r.Pair(1).HTTPClient() }

// Handle sets the handler of the server under test. Only Setup may call it.
func (r *Run) Handle(handler http.Handler) { r.peers.gate.HTTP.Handle(handler) }

// Context ends with the run.
func (r *Run) Context() context.Context { return r.peers.ctx }

// Op adds a user operation, such as a call of a client. It runs on its own goroutine, begins
// at a named step and must return: this package looks for operations that never do. Frames
// written under the context carry the operation's name. Only Setup may call Op.
func (r *Run) Op(name string, do func(ctx context.Context) error) *Operation {
	return r.peers.operation(name, do)
}

// Burst lets operations, added before, begin in one step: when all of them may. They run in
// parallel, as far as the machine lets them, until each waits: for a race of their own
// computations, where the order of steps would keep them apart. Over HTTP the handlers of requests
// that they make at the same time begin in one step, too: when the last of these requests arrives. With
// go test -race a data race between them is a verdict, [DataRace]. Only Setup may call Burst.
func (r *Run) Burst(names ...string) { r.peers.burst(names) }

// ClientMustReceive adds a message that the client must read: a notification, or a request of
// the server.
//
//	r.Op("update", func(ctx context.Context) error { return server.ResourceUpdated(ctx, uri) })
//	r.ClientMustReceive("notifications/resources/updated").Since("update")
//
// An operation with AfterAll comes after the message. Only Setup may call it.
func (r *Run) ClientMustReceive(method string) *Expected {
	return r.peers.expect(transport.ServerToClient, method)
}

// ServerMustReceive adds a message that the server must read; see [Run.ClientMustReceive].
func (r *Run) ServerMustReceive(method string) *Expected {
	return r.peers.expect(transport.ClientToServer, method)
}

// Go runs a goroutine of a peer, such as the loop of a server, which need not return before
// the gate closes. Unlike a bare go statement Go makes a panic a verdict.
func (r *Run) Go(do func(ctx context.Context)) { r.peers.start(do) }

// Fail ends the run: its check has failed, with err. The first call counts, from any
// goroutine of the run.
func (r *Run) Fail(err error) { r.peers.fail(err) }

// Err returns the error of an operation, for Check.
func (r *Run) Err(name string) error {
	op := r.peers.byName[name]
	if op == nil {
		return fmt.Errorf("operation %s: there is none", name)
	}
	return op.err
}

// Failures returns the error by which a run fails if the plan has no Check: an unrecorded
// request of a live end, or the first error of an operation. A Check may call Failures.
func (r *Run) Failures() error { return r.peers.failures() }

// RecordedServer lets the server of [Plan.Session] play on the server's end: the live client
// gets the recorded answers, and the rest at the recorded place, or at level SendingOrder in any legal
// order. In a plan with HTTP it is the handler. Only Setup may call it.
func (r *Run) RecordedServer() { r.peers.recordedServer(closed.Independent) }

// RecordedClient lets the client of [Plan.Session] play on the client's end: each recorded
// frame is sent after the frames that the recorded client had received before, or at level
// SendingOrder in any legal order. Each call is an operation of the run and ends with the response,
// also a call without a recorded response, unless it was cancelled. In a plan with HTTP it uses
// [Run.HTTPClient], and a request that fails otherwise than recorded ends the run. Only Setup may
// call it.
func (r *Run) RecordedClient() { r.peers.recordedClient(closed.Independent) }

// Findings says where the live ends differ from the recorded ends so far, for Check.
func (r *Run) Findings() []match.StepVerdict { return r.peers.findings() }

// Point is a scheduling point: code under test waits in Point until the engine chooses the
// step "reach NAME". The order then covers computations of a peer between two frames. The
// name gets the operation of the context and an occurrence number, like a frame's.
//
// The context must come from [Run.Context] or from an operation. Under any other context
// Point returns at once, and may stay in the code. It also returns when the context ends.
func Point(ctx context.Context, name string) { gate.Point(ctx, name) }

// Unsent lists the notifications that the recorded server sent and the live one did not, for Check. A sound
// server may leave some out in a schedule, as for a client that has not asked for a stream yet.
func (r *Run) Unsent() []string { return r.peers.unsent() }
