package transport

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Unbounded is the capacity of a lane that always has room.
const Unbounded = -1

// StepKind is one of the four steps every frame takes through a lane.
// Offer precedes Take; Take precedes Ack and Give; Ack and Give are unordered.
type StepKind uint8

const (
	// Offer: Write was called with the frame.
	Offer StepKind = iota + 1
	// Take: the frame left the writer's hand, into the queue or straight to a reader.
	Take
	// Ack: Write may return.
	Ack
	// Give: Read returns the frame.
	Give
)

// String returns the step's name in lower case.
func (k StepKind) String() string {
	return [...]string{"none", "offer", "take", "ack", "give"}[k]
}

// Step is an event in a lane.
type Step struct {
	Kind  StepKind
	Dir   Direction
	N     int // the frame's number in its direction, from 1
	Frame Frame
}

// Lane is one direction of a [Pipe] as a pure state machine: no goroutine, no
// clock, no lock. Pipe puts channels around two lanes; the replay drives two lanes
// by hand, so a replay and a live Pipe cannot disagree.
//
// Data layout: frames are numbered from 1 in the order of their offers.
// Frames 1..given were read, given+1..taken are queued, taken+1..offered are
// in their writers' hands. A lane of capacity k holds at most k queued frames;
// at capacity 0 a frame is taken only while a reader waits and is given to it
// at once.
type Lane struct {
	dir     Direction
	cap     int
	held    []Frame // frames given+1..offered
	offered int
	taken   int
	acked   int
	given   int
	readers int
}

// NewLane returns an empty lane. Capacity is in frames; [Unbounded] (any
// negative number) means that there is always room.
func NewLane(dir Direction, capacity int) *Lane {
	return &Lane{dir: dir, cap: capacity}
}

// Offer puts a frame in its writer's hand and returns its number.
func (l *Lane) Offer(frame Frame) int {
	l.held = append(l.held, frame)
	l.offered++
	return l.offered
}

// Withdraw takes an offered frame back. It reports false when the frame was
// taken already: taken means delivered. Later offers keep their order and
// move up one number.
func (l *Lane) Withdraw(n int) bool {
	if n <= l.taken || n > l.offered {
		return false
	}
	i := n - l.given - 1
	l.held = append(l.held[:i:i], l.held[i+1:]...)
	l.offered--
	return true
}

// Want says that one more reader waits.
func (l *Lane) Want() { l.readers++ }

// Unwant says that a waiting reader went away.
func (l *Lane) Unwant() { l.readers-- }

// Next performs one enabled step and returns it, or reports false when the
// lane is at rest. A frame that can be given is given before another is taken.
func (l *Lane) Next() (Step, bool) {
	queued := l.taken - l.given
	switch {
	case l.acked < l.taken:
		l.acked++
		return l.step(Ack, l.acked), true
	case l.given < l.taken && l.readers > 0:
		s := l.step(Give, l.given+1)
		l.given++
		l.readers--
		l.held[0] = Frame{}
		l.held = l.held[1:]
		return s, true
	case l.taken < l.offered && (l.cap < 0 || queued < l.cap || queued == 0 && l.readers > 0):
		l.taken++
		return l.step(Take, l.taken), true
	}
	return Step{}, false
}

// step describes frame n, which is still held. An acked frame may have been
// given already; its bytes are then not repeated.
func (l *Lane) step(stepKind StepKind, n int) Step {
	s := Step{Kind: stepKind, Dir: l.dir, N: n}
	if n > l.given {
		s.Frame = l.held[n-l.given-1]
	}
	return s
}

// LaneState is what a lane holds at one moment, for diagnosis.
type LaneState struct {
	Dir      Direction
	Capacity int     // Unbounded, or frames
	Offered  int     // frames that Write was called with
	Taken    int     // frames that left their writer's hand
	Given    int     // frames that Read returned
	Queued   []Frame // frames Given+1..Taken
	Waiting  []Frame // frames Taken+1..Offered: their writers are blocked
	Readers  int     // readers that are blocked
	Closed   bool    // no more frames will be offered
}

// State returns a copy of the lane's state; the frames' bytes are shared.
func (l *Lane) State() LaneState {
	q := l.taken - l.given
	return LaneState{
		Dir: l.dir, Capacity: l.cap, Offered: l.offered, Taken: l.taken, Given: l.given,
		Queued:  append([]Frame(nil), l.held[:q]...),
		Waiting: append([]Frame(nil), l.held[q:]...),
		Readers: l.readers,
	}
}

// Pipe is the bounded in-memory transport: two ends joined by two lanes, each
// with its own capacity. At capacity 0 a Write returns when the peer's Read has
// the frame; at capacity k when the frame is in the queue of k.
//
// A Pipe consists of channels only: every wait is durable in the sense of
// testing/synctest, so a bubble around two peers and a Pipe proves a hang. A Pipe
// owns no goroutine, and passes frames on without copying.
type Pipe struct {
	// state is a lock with room for its one holder's state: taking it is a
	// channel receive, which a bubble can see, unlike a mutex.
	state   chan *pipeState
	client  pipeEnd
	server  pipeEnd
	observe func(Step)
}

type pipeState struct {
	lanes [2]pipeLane // ClientToServer, ServerToClient
}

type pipeLane struct {
	*Lane
	writers        []chan error // of frames acked+1..offered, in order
	readers        []chan Frame // waiting, in order; closed to wake without a frame
	senderClosed   bool
	receiverClosed bool
}

// NewPipe joins two new ends. Capacities are in frames, [Unbounded] for no
// limit. observe, if not nil, is called with every step as it happens, one at a
// time; observe must not use the Pipe.
func NewPipe(c2s, s2c int, observe func(Step)) *Pipe {
	p := &Pipe{state: make(chan *pipeState, 1), observe: observe}
	p.client = pipeEnd{pipe: p, out: 0, in: 1}
	p.server = pipeEnd{pipe: p, out: 1, in: 0}
	p.state <- &pipeState{lanes: [2]pipeLane{
		{Lane: NewLane(ClientToServer, c2s)}, {Lane: NewLane(ServerToClient, s2c)},
	}}
	return p
}

// Client returns the client's end.
func (p *Pipe) Client() Conn { return &p.client }

// Server returns the server's end.
func (p *Pipe) Server() Conn { return &p.server }

// State returns the present state of the lanes, client to server first. It may be
// called at any time.
func (p *Pipe) State() [2]LaneState {
	s := <-p.state
	var states [2]LaneState
	for i := range s.lanes {
		states[i] = s.lanes[i].State()
		states[i].Closed = s.lanes[i].senderClosed
	}
	p.state <- s
	return states
}

// pipeEnd is one end as a Conn.
type pipeEnd struct {
	pipe    *Pipe
	out, in int // lane numbers
}

// Read returns the next frame, io.EOF when the peer has closed and all that was
// taken from it is read, or ErrClosed when this end was closed.
func (e *pipeEnd) Read(ctx context.Context) (Frame, error) {
	if err := ctx.Err(); err != nil {
		return Frame{}, err
	}
	got := make(chan Frame, 1)
	s := <-e.pipe.state
	lane := &s.lanes[e.in]
	if !lane.receiverClosed {
		lane.readers = append(lane.readers, got)
		lane.Want()
		e.pipe.settle(lane)
	}
	closed := lane.receiverClosed
	e.pipe.state <- s
	if closed {
		return Frame{}, ErrClosed
	}
	select {
	case f, ok := <-got:
		return e.received(f, ok)
	case <-ctx.Done():
	}
	s = <-e.pipe.state
	i := slices.Index(lane.readers, got)
	if i >= 0 {
		lane.readers = slices.Delete(lane.readers, i, i+1)
		lane.Unwant()
	}
	e.pipe.state <- s
	if i >= 0 {
		return Frame{}, ctx.Err()
	}
	f, ok := <-got // given in the meantime, and given means delivered
	return e.received(f, ok)
}

func (e *pipeEnd) received(frame Frame, ok bool) (Frame, error) {
	if ok {
		return frame, nil
	}
	s := <-e.pipe.state
	defer func() { e.pipe.state <- s }()
	if s.lanes[e.in].receiverClosed {
		return Frame{}, ErrClosed
	}
	return Frame{}, io.EOF
}

// Write offers the frame and returns when it is taken. When the context ends or
// either end closes first, the frame is withdrawn: an error means that the peer
// will not see it.
func (e *pipeEnd) Write(ctx context.Context, frame Frame) error {
	if err := frame.Sendable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	s := <-e.pipe.state
	lane := &s.lanes[e.out]
	closed := lane.senderClosed || lane.receiverClosed
	if !closed {
		lane.writers = append(lane.writers, done)
		n := lane.Offer(frame)
		e.pipe.tell(Step{Kind: Offer, Dir: lane.dir, N: n, Frame: frame})
		e.pipe.settle(lane)
	}
	e.pipe.state <- s
	if closed {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	s = <-e.pipe.state
	defer func() { e.pipe.state <- s }()
	if i := slices.Index(lane.writers, done); i >= 0 {
		lane.withdraw(i)
		return ctx.Err()
	}
	return <-done
}

// Close ends both directions: frames this end has sent and the transport has
// taken are still delivered, frames not yet taken are withdrawn.
func (e *pipeEnd) Close() error {
	s := <-e.pipe.state
	out, in := &s.lanes[e.out], &s.lanes[e.in]
	out.senderClosed = true
	in.receiverClosed = true
	out.refuseWriters()
	in.refuseWriters()
	in.wakeReaders()
	e.pipe.settle(out)
	e.pipe.state <- s
	return nil
}

// CloseWrite implements [HalfCloser]. Frames not yet taken are withdrawn.
func (e *pipeEnd) CloseWrite() error {
	s := <-e.pipe.state
	out := &s.lanes[e.out]
	out.senderClosed = true
	out.refuseWriters()
	e.pipe.settle(out)
	e.pipe.state <- s
	return nil
}

// settle performs every enabled step of the lane, then wakes the readers that can
// get no further frame.
func (p *Pipe) settle(lane *pipeLane) {
	for {
		step, ok := lane.Next()
		if !ok {
			break
		}
		p.tell(step)
		switch step.Kind {
		case Ack:
			lane.writers[0] <- nil
			lane.writers = lane.writers[1:]
		case Give:
			lane.readers[0] <- step.Frame
			lane.readers = lane.readers[1:]
		}
	}
	if lane.senderClosed && lane.given == lane.offered {
		lane.wakeReaders()
	}
}

func (p *Pipe) tell(step Step) {
	if p.observe != nil {
		p.observe(step)
	}
}

// withdraw takes back the frame of waiting writer i.
func (l *pipeLane) withdraw(i int) {
	if !l.Withdraw(l.acked + 1 + i) {
		panic(fmt.Sprintf("transport: a taken frame of lane %v has a waiting writer", l.dir))
	}
	l.writers = slices.Delete(l.writers, i, i+1)
}

func (l *pipeLane) refuseWriters() {
	for len(l.writers) > 0 {
		last := len(l.writers) - 1
		l.writers[last] <- ErrClosed
		l.withdraw(last)
	}
}

func (l *pipeLane) wakeReaders() {
	for _, r := range l.readers {
		close(r)
		l.Unwant()
	}
	l.readers = nil
}
