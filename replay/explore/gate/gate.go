package gate

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// Gate is the transport between the clients and the server of a run.
type Gate struct {
	Lanes    []*Lane // of each pair ClientToServer, ServerToClient; the responses of HTTP are among them
	Pairs    []*Pair // the first is always there
	HTTP     HTTP
	Names    *Namer
	Breaches []Breach // rules that were broken, in the order of the wire
	Round    int      // steps released so far
	Points   int      // calls of Point
	Recall   bool     // an end took back a frame before the ack, or would have if it had not been taken
	Garbled  bool     // a line was taken that is no message; see Bytes
	Used     [2]bool  // which ends, the client's first, have used the gate since this was cleared
	GivenUp  bool     // an end gave up an exchange of HTTP, or closed with HTTP, since this was cleared

	live    []*Lane // the lanes without those of exchanges that are finished, in the same order
	options Options
	lock    sync.Mutex    // never held across a wait
	poked   chan struct{} // a frame or a call arrived, or was taken back, since the engine last looked
	points  []*point      // where goroutines wait; by round of their arrival, then by name
	began   time.Time
	shut    bool // the run is over: no call parks any more

	hiding sync.Mutex // of hidden; unlike lock, it may be taken when the run was given up
	hidden []string   // what the helpers around the ends keep from being tried
}

// Options are the options of a new gate.
type Options struct {
	C2S, S2C int     // frames that each direction may queue; below 0 any number
	Split    bool    // ack is a step of its own, not part of take
	Traced   bool    // readers and writers note their goroutines, which costs microseconds
	Lawless  bool    // the peers may send anything
	Parser   *Parser // shared by runs, or nil
	Moves    *Moves  // counts the moves of the run, or nil
	Cuts     int     // how many streams of HTTP may be cut
	// Go starts the goroutine of an HTTP handler.
	Go func(do func())
}

// New returns an open gate.
func New(options Options) *Gate {
	if options.Moves == nil {
		options.Moves = new(Moves)
	}
	g := &Gate{
		options: options, poked: make(chan struct{}, 1), Names: NewNamer(options.Parser), began: time.Now(),
	}
	g.HTTP = HTTP{gate: g, cuts: options.Cuts}
	g.AddPair()
	return g
}

// AddPair adds a pair.
func (g *Gate) AddPair() *Pair {
	p := &Pair{Number: len(g.Pairs) + 1, ids: map[string]*Exchange{}}
	if !g.options.Lawless {
		p.rules = order.New("")
		p.wire = &session{model: timeline.NewModel(timeline.All)}
	}
	c2s := &Lane{Dir: transport.ClientToServer, Cap: g.options.C2S, pair: p}
	s2c := &Lane{Dir: transport.ServerToClient, Cap: g.options.S2C, pair: p, Back: c2s}
	c2s.Back = s2c
	p.Ends = [2]*End{{gate: g, Out: c2s, In: s2c}, {gate: g, Out: s2c, In: c2s}}
	g.Pairs = append(g.Pairs, p)
	g.Lanes = append(g.Lanes, c2s, s2c)
	g.live = append(g.live, c2s, s2c)
	return p
}

// Live returns the lanes without those of exchanges that are finished: in these nothing waits, and nobody
// reads. The result is valid until the gate is unlocked.
func (g *Gate) Live() []*Lane { return g.live }

// Lane returns the lane of a direction, of the first pair.
func (g *Gate) Lane(dir transport.Direction) *Lane { return g.Lanes[dir-transport.ClientToServer] }

// End returns the end that writes in a direction, of the first pair.
func (g *Gate) End(dir transport.Direction) *End {
	return g.Pairs[0].Ends[dir-transport.ClientToServer]
}

// Lock counts a move and locks the gate.
func (g *Gate) Lock() {
	g.options.Moves.Tick()
	g.lock.Lock()
}

// Unlock unlocks the gate and counts a move.
func (g *Gate) Unlock() {
	g.lock.Unlock()
	g.options.Moves.Tick()
}

// Moves counts the moves of a run. Every goroutine of the run passes Tick before and after
// it uses the gate: a watcher outside sees from the count whether the run moves.
type Moves struct{ count atomic.Uint64 }

// abandoned is set in the count when the run is given up.
const abandoned = 1 << 63

// Tick counts a move. In a run that was given up Tick never returns, and the run stays as
// it is for the report.
func (m *Moves) Tick() {
	if m.count.Add(1)&abandoned != 0 {
		select {}
	}
}

// Count returns the number of moves; 0 before the first.
func (m *Moves) Count() uint64 { return m.count.Load() }

// Abandon gives the run up, and reports true, if nothing has moved since the count was n.
func (m *Moves) Abandon(n uint64) bool { return m.count.CompareAndSwap(n, n|abandoned) }

// Poke wakes an engine in [Gate.Poked].
func (g *Gate) Poke() {
	select {
	case g.poked <- struct{}{}:
	default:
	}
}

// Poked receives when something has arrived, or was taken back, since the last receive.
func (g *Gate) Poked() <-chan struct{} { return g.poked }

// use notes a use of the gate by an end.
func (g *Gate) use(end *End) {
	g.Used[end.Out.Dir-transport.ClientToServer] = true
	g.Poke()
}

// End is one end of the gate as a transport.Conn.
type End struct {
	Out, In *Lane
	gate    *Gate
	closed  bool
	spare   atomic.Pointer[reader] // in use by no Read
}

// Read returns the next frame when the engine gives it.
func (e *End) Read(ctx context.Context) (transport.Frame, error) {
	if err := ctx.Err(); err != nil {
		return transport.Frame{}, err
	}
	r := e.spare.Swap(nil)
	if r == nil {
		r = &reader{got: make(chan received, 1)}
	}
	if e.gate.options.Traced {
		r.goroutine = lineage(stacks.Caller())
	}
	e.gate.Lock()
	closed := e.gate.shut || e.In.Deafened
	if !closed {
		e.In.readers = append(e.In.readers, r)
		e.gate.use(e)
	}
	e.gate.Unlock()
	if closed {
		return transport.Frame{}, transport.ErrClosed
	}
	select {
	case got := <-r.got:
		e.spare.Store(r)
		return got.frame, got.err
	case <-ctx.Done():
	}
	e.gate.Lock()
	i := slices.Index(e.In.readers, r)
	if i >= 0 {
		e.In.readers = slices.Delete(e.In.readers, i, i+1)
		e.gate.Poke()
	}
	e.gate.Unlock()
	if i >= 0 {
		return transport.Frame{}, ctx.Err()
	}
	got := <-r.got // given in the meantime: given means delivered
	return got.frame, got.err
}

// Hides notes for the report what a helper keeps from being tried; see [transport.Hide].
func (e *End) Hides(what string) {
	e.gate.hiding.Lock()
	defer e.gate.hiding.Unlock()
	if !slices.Contains(e.gate.hidden, what) {
		e.gate.hidden = append(e.gate.hidden, what)
	}
}

// Hidden returns the notes of Hides, also of a run that was given up.
func (g *Gate) Hidden() []string {
	g.hiding.Lock()
	defer g.hiding.Unlock()
	return slices.Clone(g.hidden)
}

// Write offers the frame and returns when the engine acknowledges it. A context that ends
// before the frame is taken withdraws it; taken means delivered.
func (e *End) Write(ctx context.Context, frame transport.Frame) error {
	if err := frame.Sendable(); err != nil {
		return err
	}
	flight, err := e.offer(ctx, frame, OperationOf(ctx), false)
	if err != nil {
		return err
	}
	return e.Await(ctx, flight)
}

// Offer puts the frame of a recorded half into its writer's hand. The operation does not
// show in the frame's name.
func (e *End) Offer(ctx context.Context, frame transport.Frame, operation string) (*Flight, error) {
	return e.offer(ctx, frame, operation, true)
}

func (e *End) offer(ctx context.Context, f transport.Frame, operation string, quiet bool) (*Flight, error) {
	e.gate.Lock()
	defer e.gate.Unlock()
	return e.put(ctx, f, operation, quiet)
}

// put puts a frame into its writer's hand. The gate is locked.
func (e *End) put(ctx context.Context, f transport.Frame, operation string, quiet bool) (*Flight, error) {
	g := e.gate
	if err := ctx.Err(); err != nil {
		if rules := e.Out.pair.rules; rules != nil { // the caller may count on a frame that was not sent
			rules.Withdraw(e.Out.Dir, timeline.MessagesOf(f))
		}
		return nil, err
	}
	if e.mute() {
		return nil, transport.ErrClosed
	}
	n := g.flight(e.Out, f, operation)
	n.quiet = quiet
	n.done = make(chan struct{})
	if g.options.Traced {
		n.trace(stacks.Caller())
	}
	g.use(e)
	return n, nil
}

// mute reports whether nothing can be written any more.
func (e *End) mute() bool { return e.gate.shut || e.Out.Ended || e.Out.Deafened }

// flight puts a frame into its writer's hand.
func (g *Gate) flight(lane *Lane, frame transport.Frame, operation string) *Flight {
	f := &Flight{Dir: lane.Dir, Lane: lane, Frame: frame, Op: operation, Round: g.Round, Offered: time.Since(g.began)}
	if lane.pair.rules != nil {
		f.known = lane.pair.rules.Mark(f.Dir)
	}
	lane.fresh = append(lane.fresh, f)
	return f
}

// Await returns when the Write of an offered frame does.
func (e *End) Await(ctx context.Context, flight *Flight) error {
	select {
	case <-flight.done:
		return flight.err
	case <-ctx.Done():
	}
	e.gate.Lock()
	back := e.gate.withdraw(e.Out, flight)
	e.gate.Unlock()
	if back {
		return ctx.Err()
	}
	<-flight.done
	return flight.err
}

// Admit names the offered frames. Writers that arrived in the same round stand in the order
// of their names: which goroutine ran first must not show. The engine calls Admit, not the
// writers: their small stacks would have to grow.
func (g *Gate) Admit() {
	for _, l := range g.live {
		for _, f := range l.fresh {
			l.pair.lane(l.Dir).Said++
			f.Number = l.pair.lane(l.Dir).Said
			if f.Exchange != nil {
				g.HTTP.admit(f)
				if l.Exchange != nil { // the order of a stream
					l.Waiting = append(l.Waiting, f)
					continue
				}
			} else {
				g.Names.name(f)
			}
			at, _ := slices.BinarySearchFunc(l.Waiting, f, func(a, b *Flight) int {
				return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Name, b.Name))
			})
			l.Waiting = slices.Insert(l.Waiting, at, f)
		}
		l.fresh = l.fresh[:0]
	}
	g.HTTP.admitRest()
}

// withdraw takes a frame back, and reports whether the frame was there.
func (g *Gate) withdraw(lane *Lane, flight *Flight) bool {
	if i := slices.Index(lane.fresh, flight); i >= 0 {
		lane.fresh = slices.Delete(lane.fresh, i, i+1)
		flight.said = g.Names.parser.parse(flight.Frame.Bytes)
	} else if i := slices.Index(lane.Waiting, flight); i >= 0 {
		lane.Waiting = slices.Delete(lane.Waiting, i, i+1)
		for _, c := range g.Names.Calls { // another response may come
			if c.Response == flight {
				c.Response = nil
			}
		}
		g.Recall = true
	} else {
		g.Recall = true
		return false
	}
	flight.Withdrawn = true
	if lane.pair.rules != nil {
		lane.pair.rules.Withdraw(flight.Dir, flight.Messages())
	}
	g.Poke()
	return true
}

// Place sets where in the recorded order of its sender a frame stands, and which place is
// next.
func (e *End) Place(flight *Flight, place, next int) {
	e.gate.Lock()
	flight.place = place
	e.Out.turn = next
	e.gate.Unlock()
}

// Close asks to end both directions, and returns at once: peers call it with a mutex held,
// which must not freeze a bubble. No frame moves at this end any more. When the engine
// releases the close, goroutines parked here get ErrClosed; frames taken before are still
// delivered, others are withdrawn.
func (e *End) Close() error { return e.askToEnd(true) }

// CloseWrite asks to end the sending direction, and returns at once. The far reader gets
// its end of file as a step; this end reads on.
func (e *End) CloseWrite() error { return e.askToEnd(false) }

func (e *End) askToEnd(both bool) error {
	e.gate.Lock()
	if !e.gate.shut && !e.closed {
		e.Out.Ending = true
		e.In.Leaving = e.In.Leaving || both
		e.gate.GivenUp = e.gate.GivenUp || e.Out.served.Load()
		e.gate.Recall = e.gate.Recall || len(e.Out.fresh)+len(e.Out.Waiting)+len(e.Out.unacked) > 0
		e.gate.use(e)
	}
	e.gate.Unlock()
	return nil
}

// close ends both directions here and wakes the waiting goroutines. The far reader gets the
// end of file as a step.
func (e *End) close() {
	e.closed = true
	e.Out.Ended = true
	e.In.Deafened = true
	e.Out.refuse()
	e.In.refuse()
	e.In.wake(transport.ErrClosed)
}

// Shutdown ends the run: everything parked returns, and nothing parks again.
func (g *Gate) Shutdown() {
	g.Lock()
	g.shut = true
	for _, l := range g.Lanes {
		for _, f := range l.unacked {
			f.finish(nil)
		}
		l.unacked = nil
		l.refuse()
		l.wake(transport.ErrClosed)
	}
	for _, p := range g.Pairs {
		p.Ends[0].close()
		p.Ends[1].close()
	}
	for _, x := range g.HTTP.Exchanges {
		x.shutdown()
	}
	for len(g.points) > 0 {
		g.reach(g.points[0])
	}
	g.Unlock()
}
