package transport

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Pipe is the bounded in-memory transport: two ends joined by two lanes, each
// with its own capacity. At capacity 0 a Write returns when the peer's Read has
// the frame; at capacity k when the frame is in the queue of k.
//
// It is made of channels only: every wait in it is durable in the sense of
// testing/synctest, so a bubble around two peers and a Pipe proves a hang. It
// owns no goroutine. Frames are passed on without copying.
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
// limit. observe, if not nil, is told every step as it happens, one at a time;
// it must not use the Pipe.
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

// State says, at this moment, what each lane holds and who waits at it: client
// to server first. It may be asked at any time.
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
		return e.stopReading(ctx, got)
	}
}

func (e *pipeEnd) received(f Frame, ok bool) (Frame, error) {
	if ok {
		return f, nil
	}
	s := <-e.pipe.state
	defer func() { e.pipe.state <- s }()
	if s.lanes[e.in].receiverClosed {
		return Frame{}, ErrClosed
	}
	return Frame{}, io.EOF
}

// stopReading ends a Read whose context is over. A frame that was given in the
// meantime is returned: given means delivered.
func (e *pipeEnd) stopReading(ctx context.Context, got chan Frame) (Frame, error) {
	s := <-e.pipe.state
	lane := &s.lanes[e.in]
	i := slices.Index(lane.readers, got)
	if i >= 0 {
		lane.readers = slices.Delete(lane.readers, i, i+1)
		lane.Unwant()
	}
	e.pipe.state <- s
	if i >= 0 {
		return Frame{}, ctx.Err()
	}
	f, ok := <-got
	return e.received(f, ok)
}

// Write offers the frame and returns when it is taken. When the context ends or
// either end closes first, the frame is withdrawn: an error means that the peer
// will not see it.
func (e *pipeEnd) Write(ctx context.Context, f Frame) error {
	if err := f.Sendable(); err != nil {
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
		n := lane.Offer(f)
		e.pipe.tell(Step{Kind: Offer, Dir: lane.dir, N: n, Frame: f})
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
	out.senderClosed, in.receiverClosed = true, true
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

// settle performs every step that is enabled in the lane, then wakes readers
// for whom nothing more can come.
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

func (p *Pipe) tell(s Step) {
	if p.observe != nil {
		p.observe(s)
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
