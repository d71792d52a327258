package explore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// gate is the bounded in-memory transport under control: Read and Write only ever
// park, and the engine releases them step by step. They park on channels, so that
// every wait in it is durable for a bubble.
type gate struct {
	lock   sync.Mutex    // never held across a wait
	poked  chan struct{} // something arrived since the engine last looked
	lanes  [2]lane       // ClientToServer, ServerToClient
	ends   [2]end        // client, server
	points []*point      // where goroutines wait; by round of their arrival, then by name
	names  *namer
	rules  *order.Checker // nil: the peers may send what they like
	began  time.Time
	moves  *atomic.Uint64
	round  int   // steps released so far
	shut   bool  // the run is over: nothing parks any more
	splits bool  // ack is a step of its own
	recall bool  // an end took back a frame that it had offered
	stirs  reach // which ends have used the gate since this was emptied
	traced bool  // readers say which goroutine they are, which costs microseconds

	breaches []Breach
	awaited  map[string]bool // operations that have not returned, at a hang
	all      []string        // the stacks of all goroutines at a hang, of a traced gate
	seats    []string        // the operations' goroutines, of a traced gate
	blind    bool            // a hang is judged by frames alone
	alone    bool            // one end alone is live
	hiding   sync.Mutex      // of hidden; unlike lock, it may be taken when the run was given up
	hidden   []string        // what the helpers around the ends keep from being tried
}

// end is one end of the gate as a transport.Conn.
type end struct {
	gate    *gate
	out, in *lane
	closed  bool
	spare   atomic.Pointer[reader] // that no Read uses
}

func newGate(c Capacity, split bool) *gate {
	g := &gate{
		poked: make(chan struct{}, 1),
		names: newNamer(), moves: new(atomic.Uint64), splits: split, began: time.Now(),
	}
	g.lanes = [2]lane{{dir: transport.ClientToServer, cap: c.C2S}, {dir: transport.ServerToClient, cap: c.S2C}}
	for i := range g.ends {
		g.ends[i].gate, g.ends[i].out, g.ends[i].in = g, &g.lanes[i], &g.lanes[1-i]
	}
	return g
}

func (g *gate) hold() {
	g.tick()
	g.lock.Lock()
}

func (g *gate) free() {
	g.lock.Unlock()
	g.tick()
}

// abandoned is set in the count of moves when the run is given up.
const abandoned = 1 << 63

// tick counts a move. Whoever uses the run passes here first and afterwards, so
// that one number says from outside whether anything moves, and what was done
// before it is seen there. In a run that was given up nobody passes: what is left
// of it may be read in peace.
func (g *gate) tick() {
	if g.moves.Add(1)&abandoned != 0 {
		select {}
	}
}

// poke tells an engine that waits for timers that something arrived.
func (g *gate) poke() {
	select {
	case g.poked <- struct{}{}:
	default:
	}
}

// Read returns the next frame when the engine gives it.
func (e *end) Read(ctx context.Context) (transport.Frame, error) {
	if err := ctx.Err(); err != nil {
		return transport.Frame{}, err
	}
	r := e.spare.Swap(nil)
	if r == nil {
		r = &reader{got: make(chan received, 1)}
	}
	if e.gate.traced {
		r.goroutine, _ = lineage()
	}
	e.gate.hold()
	closed := e.gate.shut || e.in.deafened
	if !closed {
		e.in.readers = append(e.in.readers, r)
		e.gate.stirs |= senderEnd(e.out.dir)
		e.gate.poke()
	}
	e.gate.free()
	if closed {
		return transport.Frame{}, transport.ErrClosed
	}
	select {
	case got := <-r.got:
		e.spare.Store(r)
		return got.frame, got.err
	case <-ctx.Done():
	}
	e.gate.hold()
	i := slices.Index(e.in.readers, r)
	if i >= 0 {
		e.in.readers = slices.Delete(e.in.readers, i, i+1)
	}
	e.gate.free()
	if i >= 0 {
		return transport.Frame{}, ctx.Err()
	}
	got := <-r.got // given in the meantime: given means delivered
	return got.frame, got.err
}

// Hides takes in what a helper keeps from being tried, for the notes of the report; see
// [transport.Hide].
func (e *end) Hides(what string) {
	e.gate.hiding.Lock()
	defer e.gate.hiding.Unlock()
	if !slices.Contains(e.gate.hidden, what) {
		e.gate.hidden = append(e.gate.hidden, what)
	}
}

// Write offers the frame and returns when the engine acknowledges it. A context
// that ends before the frame is taken withdraws it; taken means delivered.
func (e *end) Write(ctx context.Context, f transport.Frame) error {
	if err := f.Sendable(); err != nil {
		return err
	}
	return e.send(ctx, f, operationOf(ctx), "")
}

// send writes a frame that is signed by an operation, or of one that is named
// after it and does not sign.
func (e *end) send(ctx context.Context, f transport.Frame, signed, of string) error {
	flight, err := e.offer(ctx, f, signed, of)
	if err != nil {
		return err
	}
	return e.await(ctx, flight)
}

// offer is the first half of send: it puts the frame in its writer's hand.
func (e *end) offer(ctx context.Context, f transport.Frame, signed, of string) (*flight, error) {
	e.gate.hold()
	defer e.gate.free()
	if err := ctx.Err(); err != nil {
		if e.gate.rules != nil { // who is told so may not know that nothing was sent
			e.gate.rules.Withdraw(e.out.dir, order.Parse(f))
		}
		return nil, err
	}
	if e.gate.shut || e.out.ended || e.out.deafened {
		return nil, transport.ErrClosed
	}
	n := &flight{dir: e.out.dir, frame: f, op: signed, round: e.gate.round, offered: time.Since(e.gate.began), done: make(chan error, 1)}
	if of != "" {
		n.op, n.quiet = of, signed == ""
	}
	if e.gate.rules != nil {
		n.known = e.gate.rules.Mark(n.dir)
	}
	if e.gate.traced {
		var stack string
		n.writers, stack = lineage()
		n.wrote = spotsOf(stack)
	}
	e.out.fresh = append(e.out.fresh, n)
	e.gate.stirs |= senderEnd(n.dir)
	e.gate.poke()
	return n, nil
}

// await is the second: it returns when the Write of the frame does.
func (e *end) await(ctx context.Context, flight *flight) error {
	select {
	case err := <-flight.done:
		return err
	case <-ctx.Done():
	}
	e.gate.hold()
	back := e.gate.withdraw(e.out, flight)
	e.gate.free()
	if back {
		return ctx.Err()
	}
	return <-flight.done
}

// admit names what was offered. Writers that arrived in the same round stand in
// the order of their names: which goroutine ran first must not show. The engine
// does this and not the writers, whose small stacks would have to grow.
func (g *gate) admit() {
	for i := range g.lanes {
		l := &g.lanes[i]
		for _, n := range l.fresh {
			l.said++
			n.number = l.said
			g.names.name(n)
			at, _ := slices.BinarySearchFunc(l.waiting, n, func(a, b *flight) int {
				return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.name, b.name))
			})
			l.waiting = slices.Insert(l.waiting, at, n)
		}
		l.fresh = l.fresh[:0]
	}
}

// withdraw takes a frame back that was not taken, and reports whether it was not.
func (g *gate) withdraw(l *lane, f *flight) bool {
	if i := slices.Index(l.fresh, f); i >= 0 {
		l.fresh = slices.Delete(l.fresh, i, i+1)
		f.said = g.names.parser.parse(f.frame)
	} else if i := slices.Index(l.waiting, f); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		for _, c := range g.names.calls { // another answer may come
			if c.answer == f {
				c.answer = nil
			}
		}
		g.recall = true
	} else {
		return false
	}
	if g.rules != nil {
		g.rules.Withdraw(f.dir, f.said.Parsed)
	}
	return true
}

// place says where in its sender's recorded order a frame stands, and which place
// there is next.
func (e *end) place(f *flight, place, next int) {
	e.gate.hold()
	f.place, e.out.turn = place, next
	e.gate.free()
}

// Close asks to end both directions, and returns: peers call it with a mutex
// held, which must not freeze a bubble. Nothing moves at this end any more. When
// the engine releases the close, who is parked at this end gets ErrClosed; frames
// that were taken before are still delivered, others are withdrawn.
func (e *end) Close() error { return e.askToEnd(true) }

// CloseWrite asks to end what this end sends, and returns, as Close does. The far
// reader gets its end of file as a step; this end reads on.
func (e *end) CloseWrite() error { return e.askToEnd(false) }

func (e *end) askToEnd(both bool) error {
	e.gate.hold()
	if !e.gate.shut && !e.closed {
		e.out.ending, e.in.leaving = true, e.in.leaving || both
		e.gate.stirs |= senderEnd(e.out.dir)
		e.gate.recall = e.gate.recall || len(e.out.fresh)+len(e.out.waiting) > 0
		e.gate.poke()
	}
	e.gate.free()
	return nil
}

// close ends both directions at this end and wakes who waited there. The far
// reader gets its end of file as a step of its own.
func (e *end) close() {
	e.closed, e.out.ended, e.in.deafened = true, true, true
	for _, l := range []*lane{e.out, e.in} {
		l.refuse()
	}
	e.in.wake(transport.ErrClosed)
}

// shutdown ends the run: everything parked returns, and nothing parks again.
func (g *gate) shutdown() {
	g.hold()
	g.shut = true
	for i := range g.lanes {
		l := &g.lanes[i]
		for _, f := range l.unacked {
			f.done <- nil
		}
		l.unacked = nil
		l.refuse()
		l.wake(transport.ErrClosed)
		g.ends[i].close()
	}
	for len(g.points) > 0 {
		g.reach(g.points[0])
	}
	g.free()
}

// lane is one direction. A frame moves waiting → queue → its reader; until its
// Write has returned it is in unacked too.
type lane struct {
	dir      transport.Direction
	cap      int
	said     int       // frames that were offered and named
	fresh    []*flight // offered since the engine last looked; not named
	waiting  []*flight // in their writers' hands; by round of the offer, then by name
	queue    []*flight // taken, not given
	unacked  []*flight // taken, their Write has not returned
	readers  []*reader
	last     *flight  // the frame that was given last
	holder   []string // the goroutine that has it and its parent, of a traced gate
	before   []string // those of the frame before it
	quit     bool     // that has ended, as stacks show at a hang
	eof      int      // the step that told the reader of the end; 0 before
	ended    bool     // the sender has closed
	halved   bool     // it closed this direction alone
	deafened bool     // the receiver has closed
	ending   bool     // the sender asked to close: no frame is taken any more
	leaving  bool     // the receiver asked to close: no frame is given any more
	idle     string   // why a recorded receiver does not read
	read     bool     // a recorded receiver has read all that there is
	turn     int      // in the recorded order, of a recorded sender's next frame
}

// flight is one frame on its way.
type flight struct {
	name    string
	hash    uint64 // of the name
	dir     transport.Direction
	frame   transport.Frame
	said    *said         // what it says; when it is named
	known   order.Mark    // what its writer had been given at the offer
	place   int           // in the recorded order of a sender that does not keep it
	op      string        // the operation that wrote it, where its context says so
	quiet   bool          // op is not in the name
	ping    bool          // keepalive: a ping or an answer to one
	round   int           // of the offer
	number  int           // in its direction, from 1
	answers *call         // the request that it answers first
	offered time.Duration // since the run began
	writers []string      // the goroutine that wrote it and its parent, of a traced gate
	wrote   []spot        // where that stood
	reader  []string      // the goroutine that it was given to, and its parent
	alive   map[int]bool  // the goroutines that there were then
	until   map[int]bool  // those that there were when the next frame was given
	taken   int           // the step that took it; 0 before
	given   int           // the step that gave it; 0 before
	done    chan error
}

type reader struct {
	got       chan received
	goroutine []string // and its parent
}

type received struct {
	frame transport.Frame
	err   error
}

// refuse ends the writers whose frames were not taken.
func (l *lane) refuse() {
	for _, f := range slices.Concat(l.fresh, l.waiting) {
		f.done <- transport.ErrClosed
	}
	l.fresh, l.waiting = nil, nil
}

// wake ends the waiting readers without a frame.
func (l *lane) wake(err error) {
	for _, r := range l.readers {
		r.got <- received{err: err}
	}
	l.readers = nil
}

// heard reports whether a reader waits and its end was not asked to close.
func (l *lane) heard() bool { return len(l.readers) > 0 && !l.leaving }

// give hands the first queued frame to the reader that waits longest.
func (l *lane) give(step int) {
	f := l.queue[0]
	l.queue = l.queue[1:]
	f.given, l.last = step, f
	l.before, l.holder = l.holder, l.readers[0].goroutine
	l.readers[0].got <- received{frame: f.frame}
	l.readers = l.readers[1:]
}

// ack lets the Write of a taken frame return.
func (l *lane) ack(f *flight) {
	i := slices.Index(l.unacked, f)
	l.unacked = slices.Delete(l.unacked, i, i+1)
	f.done <- nil
}

// point is a goroutine that waits in [Point].
type point struct {
	name    string
	round   int
	reached chan struct{}
}

// gateKey finds the gate in the contexts of a run.
type gateKey struct{}

// Point is a scheduling point: code under test that calls it there waits until
// the engine chooses the step "reach NAME", so that what a peer computes between
// two frames takes part in the order too. The name gets the operation that the
// context comes from and an occurrence number, as frames do.
//
// The context must come from [Run.Context] or from that of an operation. Under
// any other Point returns at once, so that it may stay in the code. It also
// returns when the context ends.
func Point(ctx context.Context, name string) {
	g, ok := ctx.Value(gateKey{}).(*gate)
	if !ok || ctx.Err() != nil {
		return
	}
	g.hold()
	if g.shut {
		g.free()
		return
	}
	p := g.arrive(by(clip(name), operationOf(ctx)))
	g.free()
	select {
	case <-p.reached:
	case <-ctx.Done():
		g.hold()
		g.points = slices.DeleteFunc(g.points, func(q *point) bool { return q == p })
		g.free()
	}
}

// arrive parks a goroutine; those of one round stand in the order of their names.
func (g *gate) arrive(name string) *point {
	p := &point{name: g.names.count(transport.NoDirection, name), round: g.round, reached: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(g.points, p, func(a, b *point) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.name, b.name))
	})
	g.points = slices.Insert(g.points, at, p)
	g.poke()
	return p
}

// reach lets a goroutine go on.
func (g *gate) reach(p *point) {
	g.points = slices.DeleteFunc(g.points, func(q *point) bool { return q == p })
	close(p.reached)
}
