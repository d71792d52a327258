package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Run is one schedule of a plan. [Plan.Setup] builds the peers on the run; they live in the
// run's bubble and end with it.
type Run struct {
	// Data is for the plan: Setup may leave here what Check wants to see.
	Data any

	plan            *Plan
	level           schedule.Level
	parser          *gate.Parser // of the search, or nil
	kind            schedule.Engine
	number          int    // in its search, at its capacity
	watches         bool   // the bubble's rest is read from the stacks: see bubble.settle
	withoutTimers   bool   // no time passes while frames wait, whatever the plan says
	timersStoppedAt string // where a goroutine waited for a mutex when the same run stopped in a Time step
	capacity        schedule.Capacity
	limit           int // of steps

	// How the next step is chosen: by a token, or by a chooser.
	follower *schedule.Follower // of a token, or nil
	untraced bool               // no tracer, though the run follows a token
	chooser  schedule.Chooser
	walk     *schedule.Walk // that the chooser is of, or nil; it is asked even about a single step

	// The peers and their surroundings.
	engine   engine
	moves    gate.Moves
	gate     *gate.Gate
	tracer   *hang.Tracer // nil: not traced
	peers    []*Pair
	ctx      context.Context
	cancel   context.CancelFunc
	ops      []*Operation
	byName   map[string]*Operation
	expected []*Expected
	recorded []*halves.Recorded
	modeled  []*halves.Modeled
	returned int // operations
	panicked *breakage
	failure  error  // of Fail
	within   string // Setup or Check, while it runs

	// The schedule so far.
	steps     []gate.Step // released, in order
	choices   []schedule.Choice
	trail     schedule.Trail
	crash     *crashToken
	unlearned bool // the reach of the last step is not known yet
	lessons   schedule.Lessons
	periodic  periodic
	timers    timers
	atMutex   bool      // the run is at rest, and a goroutine waits for a mutex
	moved     bool      // something but periodic traffic happened since the last rest
	still     int       // steps when the run came to rest after that
	since     time.Time // the engine's time at that rest
	woken     bool      // a timer fired, and no step but periodic traffic since
	notes     []string
	repeats   bool       // it is made to prove the freeze of another run
	keeps     bool       // the steps are kept after a pass, too
	frozen    *freeze    // of a run that repeats
	open      *openWaits // when the first operation failed; or nil

	outcome
}

// outcome is how a run ended.
type outcome struct {
	verdict   string
	category  string
	seen      string // of a hang, the category as far as frames alone show it
	why       string
	shape     string         // of a hang, see fingerprint
	about     []*gate.Flight // the frames of a hang
	err       error
	late      bool     // a timer alone ended an operation
	cut       bool     // the chooser ended it
	raced     bool     // the race detector reported a race
	locked    string   // where a goroutine waited for a mutex while the bubble was at rest
	stuck     bool     // goroutines were left
	leaks     []string // where the goroutines of a leak stand
	froze     bool     // the run was given up
	busy      bool     // the run was given up while a peer computed
	retry     bool     // undecided, and another way to see it at rest may tell: see fallback
	held      string   // why the run froze, in a few words
	stacks    []string
	stood     []*Operation // unreturned operations
	waits     []hang.Wait
	waitsAt   string // of a failed check: when they were seen
	chain     []string
	broken    []gate.Breach // rules, by live ends
	unheeded  []string      // cancellations that a live end read, and went on
	excused   []string      // faults of an excused end, beside broken rules
	sequence  []string
	recording []store.Event
	schedule  []ScheduleStep // of a run that failed, or keeps them
}

// breakage is a panic of a goroutine that this package started.
type breakage struct {
	where string
	value any
	stack string
}

// Client returns the client's end of the gate; of a recorded client over HTTP its connection, whose
// Close deletes the session.
func (r *Run) Client() transport.Conn { return r.Pair(1).Client() }

// Server returns the server's end of the gate.
func (r *Run) Server() transport.Conn { return r.Pair(1).Server() }

// ClientBytes returns the client's end as the bytes of stdio, in place of [Run.Client]: each
// Write is a step, and bytes of several goroutines mix as in a pipe; see [gate.Bytes]. Only
// Setup may call it, once.
func (r *Run) ClientBytes() io.ReadWriteCloser { return r.peers[0].pair.Ends[0].Bytes() }

// ServerBytes returns the server's end as bytes; see [Run.ClientBytes].
func (r *Run) ServerBytes() io.ReadWriteCloser { return r.peers[0].pair.Ends[1].Bytes() }

// Pair returns a pair by its number, from 1. [Run.Client] and [Run.Server] are the ends of pair
// 1. Only Setup may call Pair. In names and reports the client of pair 2 is "client 2".
func (r *Run) Pair(number int) *Pair {
	const most = 1000
	if number < 1 || number > most {
		panic(fmt.Sprintf("explore: pair %d: want 1 to %d", number, most))
	}
	for len(r.peers) < number {
		r.addPair(r.gate.AddPair())
	}
	return r.peers[number-1]
}

func (r *Run) addPair(pair *gate.Pair) {
	r.peers = append(r.peers, &Pair{run: r, pair: pair, client: pair.Ends[0], server: pair.Ends[1]})
}

// HTTPClient returns the HTTP of the client of pair 1.
func (r *Run) HTTPClient() *http.Client { return r.Pair(1).HTTPClient() }

// Handle sets the handler of the server under test. Only Setup may call it.
func (r *Run) Handle(handler http.Handler) { r.gate.HTTP.Handle(handler) }

// Context ends with the run.
func (r *Run) Context() context.Context { return r.ctx }

// Op adds a user operation, such as a call of a client. It runs on its own goroutine, begins
// at a named step and must return: this package looks for operations that never do. Frames
// written under the context carry the operation's name. Only Setup may call Op.
func (r *Run) Op(name string, do func(ctx context.Context) error) *Operation {
	if r.byName[name] != nil {
		panic(fmt.Sprintf("explore: operation %s: added twice", name))
	}
	op := &Operation{run: r, name: name, do: do}
	op.begin = op.start
	if r.byName == nil {
		r.byName = map[string]*Operation{}
	}
	r.ops = append(r.ops, op)
	r.byName[name] = op
	return op
}

// Burst lets operations, added before, begin in one step: when all of them may. They run in
// parallel, as far as the machine lets them, until each waits: for a race of their own
// computations, where the order of steps would keep them apart. With go test -race a data race
// between them is a verdict, [DataRace]. Only Setup may call Burst.
func (r *Run) Burst(names ...string) {
	var burst []*Operation
	for _, name := range names {
		op := r.byName[name]
		if op == nil || op.played || op.burst != nil {
			panic(fmt.Sprintf("explore: burst of %s: operation %s is not there, or is in another burst",
				strings.Join(names, ", "), name))
		}
		burst = append(burst, op)
	}
	for _, op := range burst {
		op.burst = burst
	}
}

// ClientMustReceive adds a message that the client must read: a notification, or a request of
// the server.
//
//	r.Op("update", func(ctx context.Context) error { return server.ResourceUpdated(ctx, uri) })
//	r.ClientMustReceive("notifications/resources/updated").Since("update")
//
// An operation with AfterAll comes after the message. Only Setup may call it.
func (r *Run) ClientMustReceive(method string) *Expected {
	return expect(r, transport.ServerToClient, method)
}

// ServerMustReceive adds a message that the server must read; see [Run.ClientMustReceive].
func (r *Run) ServerMustReceive(method string) *Expected {
	return expect(r, transport.ClientToServer, method)
}

// Go runs a goroutine of a peer, such as the loop of a server, which need not return before
// the gate closes. Unlike a bare go statement Go makes a panic a verdict.
func (r *Run) Go(do func(ctx context.Context)) {
	go func() {
		defer r.mend("a peer's goroutine")
		do(r.ctx)
	}()
}

// Fail ends the run: its check has failed, with err. The first call counts, from any
// goroutine of the run.
func (r *Run) Fail(err error) {
	r.gate.Lock()
	defer r.gate.Unlock()
	if r.failure == nil {
		r.failure = err
	}
	r.gate.Poke()
}

// Err returns the error of an operation, for Check.
func (r *Run) Err(name string) error {
	op := r.byName[name]
	if op == nil {
		return fmt.Errorf("operation %s: there is none", name)
	}
	return op.err
}

// Failures returns the error by which a run fails if the plan has no Check: an unrecorded
// request of a live end, or the first error of an operation. A Check may call Failures.
func (r *Run) Failures() error {
	for _, f := range r.strangers() {
		return fmt.Errorf("the recording does not cover this run: %s", f.Text)
	}
	for _, op := range r.ops {
		if op.err != nil {
			return fmt.Errorf("operation %s: %w", op.name, op.err)
		}
	}
	return nil
}

// mend turns a panic into a breakage. It is deferred. The first panic counts.
func (r *Run) mend(where string) {
	v := recover()
	if v == nil {
		return
	}
	r.gate.Lock()
	defer r.gate.Unlock()
	if r.panicked == nil {
		r.panicked = &breakage{where: where, value: v, stack: string(debug.Stack())}
	}
	r.gate.Poke()
}

// finished reports whether every operation has returned.
func (r *Run) finished() bool { return r.returned == len(r.ops) }

// unreturned lists the operations that have not returned.
func (r *Run) unreturned() []*Operation {
	return slices.DeleteFunc(slices.Clone(r.ops), func(op *Operation) bool { return op.done })
}

// unfinished lists the operations that have not returned; operations that only wait for
// other operations come in when no other is left.
func (r *Run) unfinished() []*Operation {
	var ops, behind []*Operation
	for _, op := range r.ops {
		switch {
		case op.done:
		case op.behind || op.played && !op.started && op.expected == nil:
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

// live reports whether the end that sends in a direction is a peer under test, not a
// recorded half.
func (r *Run) live(dir transport.Direction) bool {
	return !slices.ContainsFunc(r.recorded, func(recorded *halves.Recorded) bool { return recorded.Dir() == dir }) &&
		!slices.ContainsFunc(r.modeled, func(modeled *halves.Modeled) bool { return modeled.Dir() == dir })
}

// goroutines returns the numbers of the operations' goroutines in a traced run, by name.
func (r *Run) goroutines() map[string]int {
	list := make(map[string]int, len(r.ops))
	for _, op := range r.ops {
		list[op.name] = op.goroutine
	}
	return list
}

// note keeps the first remarks on the run.
func (r *Run) note(text string) {
	if len(r.notes) < 3 {
		r.notes = append(r.notes, text)
	}
}

// shown are the steps without the periodic traffic at a hang's end.
func (r *Run) shown() []gate.Step {
	if stands(r.verdict) {
		return r.steps[:r.still]
	}
	return r.steps
}

// asToken names the schedule of the run.
func (r *Run) asToken() schedule.Token {
	if r.follower != nil {
		return r.follower.Token
	}
	return schedule.Token{Capacity: r.capacity, Level: r.level, Engine: r.kind, Choices: r.choices}
}

// settledToken is the run's token for the engine without a bubble.
func (r *Run) settledToken() schedule.Token {
	token := r.asToken()
	token.Engine = schedule.Settle
	return token
}

// RecordedServer lets the server of [Plan.Session] play on the server's end: the live client
// gets the recorded answers, and the rest at the recorded place, or at level L1 in any legal
// order. In a plan with HTTP it is the handler. Only Setup may call it.
func (r *Run) RecordedServer() { r.recordedServer(closed.Free) }

func (r *Run) recordedServer(model closed.Model) {
	if r.plan.HTTP != nil {
		half, handler := halves.HTTPServer(r.forHalves(), r.plan.ready)
		r.recorded = append(r.recorded, half)
		r.Handle(handler)
		return
	}
	r.recorded = append(r.recorded, halves.Server(r.forHalves(), r.plan.ready, model))
}

// RecordedClient lets the client of [Plan.Session] play on the client's end: each recorded
// frame is sent after the frames that the recorded client had received before, or at level
// L1 in any legal order. Each call is an operation of the run and ends with the response,
// also a call without a recorded response, unless it was cancelled. In a plan with HTTP it uses
// [Run.HTTPClient], and a request that fails otherwise than recorded ends the run. Only Setup may
// call it.
func (r *Run) RecordedClient() { r.recordedClient(closed.Free) }

func (r *Run) recordedClient(model closed.Model) {
	if r.plan.HTTP != nil {
		half, conn, err := halves.HTTPClient(r.forHalves(), r.plan.ready, r.HTTPClient())
		if err != nil {
			panic("explore: RecordedClient: " + err.Error())
		}
		r.recorded = append(r.recorded, half)
		r.peers[0].client = conn
		return
	}
	r.recorded = append(r.recorded, halves.Client(r.forHalves(), r.plan.ready, model))
}

// forHalves is the run for package halves.
func (r *Run) forHalves() halves.Run {
	expect := func(name string, rest bool) halves.Operation {
		op := r.Op(name, nil)
		op.played = true
		op.behind = rest
		return halves.Operation{Name: name, Finish: op.finish, Begin: func() {
			r.gate.Lock()
			op.started = true
			r.gate.Unlock()
		}}
	}
	return halves.Run{Gate: r.gate, Go: r.Go, Expect: expect, Fail: r.Fail, Live: r.live, Loose: r.level == schedule.L1}
}

// Modeled returns a plan without a live peer: both ends of a session play their half, each
// under an endpoint model. At level L0 every order of steps comes to the end that
// [closed.Replay] finds. At L1 both ends send in any legal order; the rigid model, which
// has a single order, reads as the free model then.
func Modeled(events []store.Event, client, server closed.Model) (Plan, error) {
	models, err := halves.NewModels(events, client, server)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Session: events,
		Setup: func(run *Run) {
			if run.level == schedule.L1 {
				run.recordedServer(server)
				run.recordedClient(client)
				return
			}
			run.modeled = models.Play(run.forHalves())
		},
		Check: func(*Run) error { return nil }, // neither end is a stranger
		notes: models.Warnings,
		again: func(events []store.Event) (Plan, error) { return Modeled(events, client, server) },
	}, nil
}

// Findings says where the live ends differ from the recorded ends so far, for Check.
func (r *Run) Findings() []match.StepVerdict {
	var all []match.StepVerdict
	for _, h := range r.recorded {
		all = append(all, h.Findings()...)
	}
	return all
}

// strangers are the messages of live ends for which nothing is recorded.
func (r *Run) strangers() []match.StepVerdict {
	return slices.DeleteFunc(r.Findings(), func(f match.StepVerdict) bool { return f.Result != match.Extra })
}

// Point is a scheduling point: code under test waits in Point until the engine chooses the
// step "reach NAME". The order then covers computations of a peer between two frames. The
// name gets the operation of the context and an occurrence number, like a frame's.
//
// The context must come from [Run.Context] or from an operation. Under any other context
// Point returns at once, and may stay in the code. It also returns when the context ends.
func Point(ctx context.Context, name string) { gate.Point(ctx, name) }
