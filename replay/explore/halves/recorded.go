package halves

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Server lets the recorded server of a session play under a model.
func Server(run Run, session *Session, model closed.Model) *Recorded {
	h, p := newServer(run, session, session.events)
	h.useEnd(model)
	h.play(p.Start(), p.End)
	return h
}

// newServer returns the recorded server of a session, to be connected.
func newServer(run Run, session *Session, events []store.Event) (*Recorded, *standin.Player) {
	p := standin.NewPlayer(events, session.rules)
	if run.Loose {
		p.AllowReorder()
	}
	h := newRecorded(run, session, transport.ServerToClient, p)
	h.close = p.Close
	h.without = p.Without
	h.unrecorded = p.Unrecorded
	return h, p
}

// Client lets the recorded client of a session play under a model.
func Client(run Run, session *Session, model closed.Model) *Recorded {
	h, d := newClient(run, session, session.events)
	h.useEnd(model)
	h.play(d.Start(), nil)
	return h
}

// newClient returns the recorded client of a session, to be connected.
func newClient(run Run, session *Session, events []store.Event) (*Recorded, *standin.Driver) {
	d := standin.NewDriver(events, session.rules)
	if run.Loose {
		d.AllowReorder()
	}
	h := newRecorded(run, session, transport.ClientToServer, d)
	h.close = d.Close
	h.without = d.Without
	h.calls = newPlayedCalls(run, session, d)
	h.said = d.Said
	h.unsent = d.Unsent
	return h, d
}

// Findings says where the live end differs from the recorded end so far.
func (h *Recorded) Findings() []match.StepVerdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.close()
}

// Unsent lists the notifications of the recorded server that the live one has not sent.
func (h *Recorded) Unsent() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unsent == nil || !h.run.Live(transport.ServerToClient) {
		return nil
	}
	return h.unsent()
}

// Unsaid says which frames the half did not send, and why; and which calls of a live client
// wait for ever for a response that the recorded server never gave.
func (h *Recorded) Unsaid() (notes []string) {
	for _, f := range h.Findings() {
		if f.Result == match.NotSent {
			notes = append(notes, "the "+h.Name+" has not said all: "+f.Text)
		}
	}
	if h.Dir() != transport.ServerToClient {
		return notes
	}
	var names []string
	for _, c := range h.session.calls() {
		if c.dir == transport.ClientToServer && c.response == 0 && !c.refused && !c.cancelled && !c.listen {
			names = append(names, c.name)
		}
	}
	if len(names) > 0 {
		notes = append(notes, "the recording itself has no answer to "+strings.Join(names, ", "))
	}
	return notes
}

// playedCalls are the operations of a recorded client. nil has none. The Driver tells which request of the recording
// a live answer belongs to.
type playedCalls struct {
	of     map[uint64][]*playedCall // by the Seq of the frame, in the order of its requests
	whole  Operation                // the rest of the half
	live   func(transport.Direction) bool
	driver *standin.Driver
}

// playedCall is a recorded request in a run.
type playedCall struct {
	op    Operation
	waits bool // for a response, as in the recording
	owed  bool // a response, by a live server, though the recording has no response
	begun bool
	done  bool
}

// newPlayedCalls adds an operation for each request of the recorded client, and for the rest
// of the half.
func newPlayedCalls(run Run, session *Session, driver *standin.Driver) *playedCalls {
	c := &playedCalls{of: map[uint64][]*playedCall{}, live: run.Live, driver: driver}
	for _, call := range session.calls() {
		if call.dir != transport.ClientToServer {
			continue
		}
		c.of[call.seq] = append(c.of[call.seq], &playedCall{
			op:    run.Expect(call.name, false),
			waits: call.response > 0 && !call.cancelled,
			owed:  call.response == 0 && !call.refused && !call.cancelled && !call.listen && call.id != "null",
		})
	}
	c.whole = run.Expect("the client's half", true)
	return c
}

// offered begins the calls of a frame, and returns the frame's operation.
func (c *playedCalls) offered(frame uint64) (op string) {
	if c == nil {
		return ""
	}
	for _, call := range c.of[frame] {
		call.begun = true
		op = call.op.Name
		call.op.Begin()
	}
	return op
}

// wrote ends the calls of a frame that wait for no response. A live server owes a response to each request, even
// if the recording ends with the request open.
func (c *playedCalls) wrote(frame uint64) {
	if c == nil {
		return
	}
	for _, call := range c.of[frame] {
		if !call.waits && !(call.owed && c.live(transport.ServerToClient)) {
			call.succeed()
		}
	}
}

// heard ends the calls that messages of the last frame have answered, so many from its first on.
func (c *playedCalls) heard(messages int) {
	if c == nil {
		return
	}
	for i := range messages {
		if request, isAnswer := c.driver.Answered(i); isAnswer && request.Number < len(c.of[request.Seq]) {
			c.of[request.Seq][request.Number].succeed()
		}
	}
}

// hungUp ends the calls of a frame, on whose exchange the client has hung up.
func (c *playedCalls) hungUp(frame uint64) {
	for _, call := range c.of[frame] {
		call.succeed()
	}
}

// succeed ends a call that has begun.
func (p *playedCall) succeed() {
	if p.begun && !p.done {
		p.done = true
		p.op.Finish(nil)
	}
}

// abandon fails the open calls that were not answered in the recording either: the live
// server has closed.
func (c *playedCalls) abandon() {
	if c == nil {
		return
	}
	for _, list := range c.of {
		for _, p := range list {
			if p.owed && !p.done {
				p.done = true
				p.op.Finish(errors.New("the call was not answered: the server has closed"))
			}
		}
	}
}

// machine is a recorded half: frames in, frames out, and no clock.
// [standin.Player] and [standin.Driver] are machines.
type machine interface {
	// Receive takes a frame of the live end and returns what to send now.
	Receive(transport.Frame) []transport.Frame
	// Wrote says that the frame returned as number n, from 0, was taken, and returns the
	// frames to send now.
	Wrote(n int) []transport.Frame
	// Waiting reports whether GiveUpWaiting would send a frame.
	Waiting() bool
	// GiveUpWaiting gives up waiting for a frame of the live end.
	GiveUpWaiting() []transport.Frame
	// Place says where the frame returned as number n stands in the recorded order, -1 if
	// nowhere, and the first place there whose frame was not taken.
	Place(n int) (place, first int)
	// Seq returns the event of the frame returned as number n; 0: it is not of the recording.
	Seq(n int) uint64
}

// Recorded plays a machine on an end of the gate, or over HTTP: a reader that reads whenever the
// model does, and a writer. At DeliveryOrder the writer keeps the order of the machine, with a single frame
// in hand. At SendingOrder the writer offers every frame that may be sent, as several writers would.
type Recorded struct {
	Name string // of the role, for steps and notes

	run     Run
	session *Session
	own     transport.Direction
	conn    transport.Conn // the end, or that of HTTP
	end     *gate.End      // nil over HTTP
	web     web
	calls   *playedCalls
	said    func() bool // reports whether the client has said all, or nil

	mu         sync.Mutex // never held across a wait
	machine    machine
	close      func() []match.StepVerdict // how the live end differs from the recorded one
	without    func() []string            // the frames that the half went on without
	unsent     func() []string            // the notifications that no live server has sent, or nil
	unrecorded func() []string            // what a live client asks for that was not recorded, or nil
	model      *modelReader               // nil is free
	queue      []transport.Frame
	sent       int  // frames taken from the queue
	flying     int  // of these, not taken yet
	over       bool // the queue gets no more frames
	wake       chan struct{}
}

// newRecorded returns a half that sends in direction own, to be connected.
func newRecorded(run Run, session *Session, own transport.Direction, machine machine) *Recorded {
	return &Recorded{
		Name: "recorded " + own.Sender(), run: run, session: session, own: own, machine: machine, wake: make(chan struct{}, 1),
	}
}

// useEnd connects the half to its end of the gate.
func (h *Recorded) useEnd(model closed.Model) {
	h.end = h.run.Gate.End(h.own)
	h.conn = h.end
	h.model = newModelReader(model)
}

// Dir is the direction in which the half sends.
func (h *Recorded) Dir() transport.Direction { return h.own }

// play starts the goroutines. last returns the frames to send after the live end has
// closed.
func (h *Recorded) play(first []transport.Frame, last func() []transport.Frame) {
	h.queue = first
	h.finishWhole()
	h.run.Go(func(ctx context.Context) { h.read(ctx, last) })
	h.run.Go(h.write)
}

func (h *Recorded) read(ctx context.Context, last func() []transport.Frame) {
	for h.ready(ctx) {
		f, err := h.conn.Read(ctx)
		h.mu.Lock()
		switch {
		case err == nil:
			out := h.machine.Receive(f)
			if h.web.heard != nil {
				h.web.heard(f)
			}
			heard := h.model.heard(h.session.messages(f), out)
			h.queue = append(h.queue, out...)
			h.calls.heard(len(heard))
			h.finishWhole()
		case errors.Is(err, io.EOF):
			if last != nil {
				h.queue = append(h.queue, last()...)
			}
			h.calls.abandon()
		case h.web.client != nil && ctx.Err() == nil && !errors.Is(err, transport.ErrClosed): // a request has failed
			h.run.Fail(fmt.Errorf("the %s: %w", h.Name, err))
		}
		h.hangUp()
		h.over = err != nil
		h.mu.Unlock()
		wake(h.wake)
		if err != nil {
			return
		}
	}
}

// ready waits until the model reads; false when the run is over.
func (h *Recorded) ready(ctx context.Context) bool {
	for {
		h.mu.Lock()
		idle := h.model.idle()
		h.mu.Unlock()
		if h.end != nil && h.end.In.Idle != idle {
			h.run.Gate.Lock()
			h.end.In.Idle = idle
			h.run.Gate.Unlock()
		}
		if idle == "" {
			return true
		}
		if !pause(ctx, h.model.resume) {
			return false
		}
	}
}

// write sends the queue, and closes the end when the live end has closed and all is sent. Over HTTP
// a server does not end the session.
func (h *Recorded) write(ctx context.Context) {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			over := h.over && h.flying == 0
			h.mu.Unlock()
			if over && h.web.client == nil {
				_ = h.conn.Close()
			}
			if over || !pause(ctx, h.wake) {
				return
			}
			continue
		}
		f, n := h.queue[0], h.sent
		h.queue = h.queue[1:]
		h.sent++
		h.flying++
		h.model.offered(f)
		op := h.calls.offered(h.machine.Seq(n))
		h.mu.Unlock()
		if h.end == nil {
			h.post(ctx, f, op, n)
			continue
		}
		flight, err := h.end.Offer(ctx, f, op)
		if err != nil {
			return
		}
		if !h.run.Loose {
			h.awaitTaken(ctx, flight, n)
			continue
		}
		h.mu.Lock()
		place, first := h.machine.Place(n)
		h.mu.Unlock()
		h.end.Place(flight, place, first)
		h.run.Go(func(ctx context.Context) { h.awaitTaken(ctx, flight, n) })
	}
}

// awaitTaken waits until an offered frame was taken, and tells the machine.
func (h *Recorded) awaitTaken(ctx context.Context, flight *gate.Flight, n int) {
	if h.end.Await(ctx, flight) != nil {
		return
	}
	h.mu.Lock()
	h.wrote(flight.Frame, n)
	if h.run.Loose {
		place, first := h.machine.Place(n)
		h.end.Place(flight, place, first)
	}
	h.mu.Unlock()
	wake(h.wake)
}

// wrote tells the machine that frame n was taken. The half is locked.
func (h *Recorded) wrote(frame transport.Frame, n int) {
	h.flying--
	h.model.wrote(frame)
	h.queue = append(h.queue, h.machine.Wrote(n)...)
	h.hangUp()
	h.calls.wrote(h.machine.Seq(n))
	h.finishWhole()
}

// finishWhole ends the operation of the whole half when all is said.
func (h *Recorded) finishWhole() {
	if len(h.queue) == 0 && h.flying == 0 && h.said != nil && h.said() {
		h.calls.whole.Finish(nil)
	}
}

// Waits reports whether the half would send a frame if it gave up waiting for the live end.
func (h *Recorded) Waits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.over && h.machine.Waiting()
}

// Relent lets the half give up waiting.
func (h *Recorded) Relent() {
	h.mu.Lock()
	h.queue = append(h.queue, h.machine.GiveUpWaiting()...)
	h.hangUp()
	h.finishWhole()
	h.mu.Unlock()
	wake(h.wake)
}
