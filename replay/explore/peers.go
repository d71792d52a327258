package explore

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
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
	p.gate.HTTP.Burst(names)
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

// recordedServer lets the server of the plan's session play under a model.
func (p *peers) recordedServer(model closed.Model) {
	if p.terms.plan.HTTP != nil {
		half, handler := halves.HTTPServer(p.forHalves(), p.terms.plan.ready)
		p.recorded = append(p.recorded, half)
		p.gate.HTTP.Handle(handler)
		return
	}
	p.recorded = append(p.recorded, halves.Server(p.forHalves(), p.terms.plan.ready, model))
}

// recordedClient lets the client of the plan's session play under a model.
func (p *peers) recordedClient(model closed.Model) {
	if p.terms.plan.HTTP != nil {
		half, conn, err := halves.HTTPClient(p.forHalves(), p.terms.plan.ready, p.pairs[0].HTTPClient())
		if err != nil {
			panic("explore: RecordedClient: " + err.Error())
		}
		p.recorded = append(p.recorded, half)
		p.pairs[0].client = conn
		return
	}
	p.recorded = append(p.recorded, halves.Client(p.forHalves(), p.terms.plan.ready, model))
}

// forHalves is the run for package halves.
func (p *peers) forHalves() halves.Run {
	expect := func(name string, rest bool) halves.Operation {
		op := p.operation(name, nil)
		op.played = true
		op.behind = rest
		return halves.Operation{Name: name, Finish: op.finish, Begin: func() {
			p.gate.Lock()
			op.started = true
			p.gate.Unlock()
		}}
	}
	return halves.Run{Gate: p.gate, Go: p.start, Expect: expect, Fail: p.fail, Live: p.live, Loose: p.terms.level == schedule.SendingOrder}
}

// Modeled returns a plan without a live peer: both ends of a session play their half, each
// under an endpoint model. At level DeliveryOrder every order of steps comes to the end that
// [closed.Replay] finds. At SendingOrder both ends send in any legal order; SingleThreaded, which
// has a single order, reads as Independent then.
func Modeled(events []store.Event, client, server closed.Model) (Plan, error) {
	models, err := halves.NewModels(events, client, server)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Session: events,
		Setup: func(run *Run) {
			p := &run.peers
			if run.terms.level == schedule.SendingOrder {
				p.recordedServer(server)
				p.recordedClient(client)
				return
			}
			p.modeled = models.Play(p.forHalves())
		},
		Check: func(*Run) error { return nil }, // neither end is a stranger
		notes: models.Warnings,
		again: func(events []store.Event) (Plan, error) { return Modeled(events, client, server) },
	}, nil
}

// findings says where the live ends differ from the recorded ends so far.
func (p *peers) findings() []match.StepVerdict {
	var all []match.StepVerdict
	for _, h := range p.recorded {
		all = append(all, h.Findings()...)
	}
	return all
}

// strangers are the messages of live ends for which nothing is recorded.
func (p *peers) strangers() []match.StepVerdict {
	return slices.DeleteFunc(p.findings(), func(f match.StepVerdict) bool { return f.Result != match.Extra })
}

// failures returns an unrecorded request of a live end, or the first error of an operation.
func (p *peers) failures() error {
	for _, f := range p.strangers() {
		return fmt.Errorf("the recording does not cover this run: %s", f.Text)
	}
	for _, op := range p.ops {
		if op.err != nil {
			return fmt.Errorf("operation %s: %w", op.name, op.err)
		}
	}
	return nil
}

// unsaid says what the recorded ends did not say, and why.
func (p *peers) unsaid() (notes []string) {
	for _, h := range p.recorded {
		notes = append(notes, h.Unsaid()...)
	}
	return notes
}

// unsent lists the notifications of recorded servers that no live server has sent.
func (p *peers) unsent() (notices []string) {
	for _, h := range p.recorded {
		notices = append(notices, h.Unsent()...)
	}
	return notices
}

// breaches lists the rules that live ends broke, in the order of the wire.
func (p *peers) breaches() []gate.Breach {
	var list []gate.Breach
	for _, b := range p.gate.Breaches {
		if p.live(b.Dir) {
			list = append(list, b)
		}
	}
	return list
}

// illegal returns the first breach of a rule that makes a run fail.
func (p *peers) illegal() (breach gate.Breach, ok bool) {
	for _, b := range p.breaches() {
		if b.Severity == order.Error && !p.terms.plan.excuses(b.Dir) {
			return b, true
		}
	}
	return breach, false
}

// owed returns the first request that a live end, excused or not, has read and not answered,
// though the sender still reads and did not cancel; or nil. In real time a response may still
// come.
func (p *peers) owed(excused bool) *gate.Call {
	plan := p.terms.plan
	if plan.Lawless || p.terms.engine == schedule.Settle {
		return nil
	}
	for _, c := range p.gate.Names.Calls {
		back := c.Request.Lane.Back
		shut := back.Ended || back.Ending || back.Deafened || back.Leaving || c.Abandoned()
		unsent := c.Response == nil
		if halved(c.Request.Lane) { // the sender waits, whatever the far end then closes
			shut, unsent = false, unsent || c.Response.Taken == 0
		}
		if c.Request.Given > 0 && unsent && !c.Cancelled && !c.Listen && !shut && p.live(back.Dir) && excused == plan.excuses(back.Dir) {
			return c
		}
	}
	return nil
}

// halved reports whether the sender of a lane has closed its writing side alone, and read on to
// the end.
func halved(lane *gate.Lane) bool {
	back := lane.Back
	return lane.Halved && (back.EOF > 0 || !back.Deafened && !back.Leaving)
}

// lostText says which request is answered to nobody.
func lostText(c *gate.Call) string {
	dir := c.Request.Dir
	ends := "both sides are open, and nothing is on its way"
	if halved(c.Request.Lane) {
		ends = fmt.Sprintf("the %s had closed its writing side alone and read on", dir.Sender())
	}
	return fmt.Sprintf("the %s read %s of the %s at step %d and answers it to nobody: "+
		"every operation has returned, the request was not cancelled, %s",
		dir.Receiver(), c.Name, dir.Sender(), c.Request.Given, ends)
}

// answers lists the responses of live ends in a finished run.
func (p *peers) answers() []answer {
	list := make([]answer, 0, len(p.gate.Names.Calls))
	for _, c := range p.gate.Names.Calls {
		if c.Open() || !p.live(c.Response.Dir) {
			continue
		}
		request, response := c.Messages()
		result := response.Result
		if result == nil {
			result = response.Error
		}
		list = append(list, answer{c.Name, request.Params, result, p.terms.plan.excuses(c.Response.Dir)})
	}
	return list
}
