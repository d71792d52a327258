package explore

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// peers are what [Plan.Setup] builds, live and recorded, with the transport between and the
// operations on both.
type peers struct {
	terms    *terms
	moves    gate.Moves
	gate     *gate.Gate
	tracer   *hang.Tracer // nil: not traced
	pairs    []*Pair
	ctx      context.Context
	cancel   context.CancelFunc
	ops      []*Operation
	toStart  []*Operation // those of them that a step starts and that has not come; maybe others, which were started since
	byName   map[string]*Operation
	expected []*Expected
	recorded []*halves.Recorded
	modeled  []*halves.Modeled
	returned int       // operations
	panicked *breakage // the first
	failure  error     // of Fail
}

// breakage is a panic of a goroutine that this package started.
type breakage struct {
	where string
	value any
	stack string
}

// open makes the transport, with the first pair, and the context. A traced run follows a token.
func (p *peers) open(traced bool) {
	plan, capacity := p.terms.plan, p.terms.capacity
	options := gate.Options{
		C2S: capacity.C2S, S2C: capacity.S2C, Split: !plan.AckWithTake, Traced: traced,
		Parser: p.terms.parser, Moves: &p.moves, Lawless: plan.Lawless,
		Go: func(do func()) { p.start(func(context.Context) { do() }) },
	}
	if plan.HTTP != nil {
		options.Cuts = plan.HTTP.Cuts
	}
	p.gate = gate.New(options)
	p.ctx, p.cancel = context.WithCancel(p.gate.Context(context.Background()))
	p.addPair(p.gate.Pairs[0])
}

// pair returns a pair by its number, from 1.
func (p *peers) pair(number int) *Pair {
	const most = 1000
	if number < 1 || number > most {
		panic(fmt.Sprintf("explore: pair %d: want 1 to %d", number, most))
	}
	for len(p.pairs) < number {
		p.addPair(p.gate.AddPair())
	}
	return p.pairs[number-1]
}

func (p *peers) addPair(pair *gate.Pair) {
	p.pairs = append(p.pairs, &Pair{peers: p, pair: pair, client: pair.Ends[0], server: pair.Ends[1]})
}

// Pair is a client of a run and its connection to the server. Pairs are sessions of their own.
type Pair struct {
	peers          *peers
	pair           *gate.Pair
	client, server transport.Conn
}

// Client returns the client's end of the pair.
func (p *Pair) Client() transport.Conn { return p.client }

// Server returns the server's end of the pair.
func (p *Pair) Server() transport.Conn { return p.server }

// HTTPClient returns the client's HTTP: requests to any URL go to the handler of [Run.Handle].
// The plan must have HTTP.
func (p *Pair) HTTPClient() *http.Client {
	if p.peers.terms.plan.HTTP == nil {
		panic("explore: HTTPClient: the plan has no HTTP")
	}
	return &http.Client{Transport: p.peers.gate.HTTP.Web(p.pair)}
}

// operation adds an operation.
func (p *peers) operation(name string, do func(context.Context) error) *Operation {
	if p.byName[name] != nil {
		panic(fmt.Sprintf("explore: operation %s: added twice", name))
	}
	op := &Operation{peers: p, name: name, do: do}
	op.begin = op.start
	if p.byName == nil {
		p.byName = map[string]*Operation{}
	}
	p.ops = append(p.ops, op)
	p.toStart = append(p.toStart, op)
	p.byName[name] = op
	return op
}

// burst lets operations begin in one step.
func (p *peers) burst(names []string) {
	var burst []*Operation
	for _, name := range names {
		op := p.byName[name]
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

// expect adds a message that the receiver in a direction must read.
func (p *peers) expect(dir transport.Direction, method string) *Expected {
	name := fmt.Sprintf("the %s receives %s", dir.Receiver(), method)
	for n := 2; p.byName[name] != nil; n++ {
		name = fmt.Sprintf("the %s receives %s, number %d", dir.Receiver(), method, n)
	}
	e := &Expected{op: p.operation(name, nil), dir: dir, method: method}
	e.op.played = true
	e.op.expected = e
	p.expected = append(p.expected, e)
	return e
}

// receive notes the expected messages of a frame that was just given. The gate is locked.
func (p *peers) receive(flight *gate.Flight) {
	for _, e := range p.expected {
		if flight.Dir == e.dir && e.is(flight) && e.notBegun() == nil && !e.op.done {
			e.op.done = true
			p.returned++
		}
	}
}

// start runs a goroutine of a peer.
func (p *peers) start(do func(context.Context)) {
	go func() {
		defer p.mend("a peer's goroutine")
		do(p.ctx)
	}()
}

// mend turns a panic into a breakage. It is deferred. The first panic counts.
func (p *peers) mend(where string) {
	v := recover()
	if v == nil {
		return
	}
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.panicked == nil {
		p.panicked = &breakage{where: where, value: v, stack: string(debug.Stack())}
	}
	p.gate.Poke()
}

// fail notes that the run's check has failed. The first call counts.
func (p *peers) fail(err error) {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.failure == nil {
		p.failure = err
	}
	p.gate.Poke()
}

// finished reports whether every operation has returned.
func (p *peers) finished() bool { return p.returned == len(p.ops) }

// unreturned lists the operations that have not returned.
func (p *peers) unreturned() []*Operation {
	return slices.DeleteFunc(slices.Clone(p.ops), func(op *Operation) bool { return op.done })
}

// unfinished lists the operations that have not returned; operations that only wait for
// other operations come in when no other is left.
func (p *peers) unfinished() []*Operation {
	var ops, behind []*Operation
	for _, op := range p.ops {
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
func (p *peers) live(dir transport.Direction) bool {
	return !slices.ContainsFunc(p.recorded, func(recorded *halves.Recorded) bool { return recorded.Dir() == dir }) &&
		!slices.ContainsFunc(p.modeled, func(modeled *halves.Modeled) bool { return modeled.Dir() == dir })
}

// goroutines returns the numbers of the operations' goroutines in a traced run, by name.
func (p *peers) goroutines() map[string]int {
	list := make(map[string]int, len(p.ops))
	for _, op := range p.ops {
		list[op.name] = op.goroutine
	}
	return list
}

// owner names a goroutine for a report.
func (p *peers) owner(goroutine stacks.Goroutine) string {
	for name, id := range p.goroutines() {
		if id == goroutine.ID {
			return "operation " + name
		}
	}
	return "a goroutine"
}

// enabled lists the steps that may be released, but for time: starts first.
func (p *peers) enabled(steps []gate.Step) []gate.Step {
	p.toStart = slices.DeleteFunc(p.toStart, func(op *Operation) bool { return op.started || op.played })
	for _, op := range p.toStart {
		if step, ok := op.startStep(); ok {
			steps = append(steps, step)
		}
	}
	steps = p.gate.Steps(steps)
	if len(steps) > 0 || p.finished() {
		return steps
	}
	for _, h := range p.recorded {
		if h.Waits() {
			steps = append(steps, gate.Step{Kind: gate.Relent, What: h.Name, Do: func(int) { h.Relent() }})
		}
	}
	return steps
}
