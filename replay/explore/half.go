package explore

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// machine is a recorded half: frames in, frames out, and no clock.
// [replay.Player] and [replay.Driver] are one.
type machine interface {
	// Receive takes a frame of the live end and returns what to send now.
	Receive(transport.Frame) []transport.Frame
	// Wrote says that the frame returned as number n, from 0, was taken, and
	// returns what to send now.
	Wrote(n int) []transport.Frame
	// Waiting reports whether Relent would send something.
	Waiting() bool
	// Relent gives up waiting for something that the live end does not say.
	Relent() []transport.Frame
	// Place says where the frame returned as number n stands in the recorded order,
	// -1 if nowhere, and the first place there whose frame was not taken.
	Place(n int) (place, first int)
}

// half plays a machine on an end of the gate: a reader that is there whenever its
// model reads, and a writer. At L0 the writer keeps the machine's order, one frame
// in its hand. At L1 it offers all that may be sent, each as a writer of its own
// would: which one is taken first is the gate's choice.
type half struct {
	run   *Run
	end   *end
	name  string // of the role, for steps and notes
	loose bool
	calls *calls      // of a recorded client
	said  func() bool // reports whether it has said all

	mu      sync.Mutex // never held across a wait
	machine machine
	close   func() []replay.StepVerdict // how the live end differs from the recorded one
	without func() []string             // what it went on without
	habit   *habit                      // its model; nil is free
	queue   []transport.Frame
	sent    int  // frames that left the queue
	flying  int  // of these, not taken yet
	over    bool // nothing is added to the queue any more
	wake    chan struct{}
}

// play starts the goroutines. last says what is left to say when the live end
// has closed.
func (h *half) play(first []transport.Frame, last func() []transport.Frame) {
	h.queue = first
	h.ended()
	h.run.Go(func(ctx context.Context) { h.read(ctx, last) })
	h.run.Go(h.write)
}

func (h *half) read(ctx context.Context, last func() []transport.Frame) {
	for h.ready(ctx) {
		f, err := h.end.Read(ctx)
		h.mu.Lock()
		if err != nil {
			if errors.Is(err, io.EOF) && last != nil {
				h.queue = append(h.queue, last()...)
			}
			if errors.Is(err, io.EOF) {
				h.calls.left()
			}
			h.over = true
			h.mu.Unlock()
			stir(h.wake)
			return
		}
		out := h.machine.Receive(f)
		h.habit.heard(f, h.sent+len(h.queue), out)
		h.queue = append(h.queue, out...)
		h.calls.heard(f)
		h.ended()
		h.mu.Unlock()
		stir(h.wake)
	}
}

// ready waits until the model reads; false when the run is over.
func (h *half) ready(ctx context.Context) bool {
	for {
		h.mu.Lock()
		idle := h.habit.idle()
		h.mu.Unlock()
		h.end.rest(idle)
		if idle == "" {
			return true
		}
		if !pause(ctx, h.habit.resume) {
			return false
		}
	}
}

// write sends what is queued, and closes the end when the live one has closed and
// all is said.
func (h *half) write(ctx context.Context) {
	for {
		f, n, over := h.next()
		switch {
		case n >= 0:
			flight, err := h.offer(ctx, f, n)
			if err != nil {
				return
			}
			if h.loose {
				h.run.Go(func(ctx context.Context) { h.settle(ctx, flight, f, n) })
			} else {
				h.settle(ctx, flight, f, n)
			}
		case over:
			_ = h.end.Close()
			return
		default:
			if !pause(ctx, h.wake) {
				return
			}
		}
	}
}

// offer puts a frame in the writer's hand.
func (h *half) offer(ctx context.Context, f transport.Frame, n int) (*flight, error) {
	h.mu.Lock()
	h.habit.offered(f)
	op := h.calls.say(f)
	h.mu.Unlock()
	flight, err := h.end.offer(ctx, f, "", op)
	if err == nil && h.loose {
		h.mu.Lock()
		place, first := h.machine.Place(n)
		h.mu.Unlock()
		h.end.place(flight, place, first)
	}
	return flight, err
}

// settle waits until an offered frame was taken, and tells the machine.
func (h *half) settle(ctx context.Context, flight *flight, f transport.Frame, n int) {
	if h.end.await(ctx, flight) != nil {
		return
	}
	h.mu.Lock()
	h.flying--
	h.habit.wrote(n, f)
	h.queue = append(h.queue, h.machine.Wrote(n)...)
	h.calls.wrote(f)
	h.ended()
	if h.loose {
		place, first := h.machine.Place(n)
		h.end.place(flight, place, first)
	}
	h.mu.Unlock()
	stir(h.wake)
}

// ended ends the operation of the whole half when all is said.
func (h *half) ended() {
	if len(h.queue) == 0 && h.flying == 0 && h.said != nil && h.said() {
		h.calls.said()
	}
}

// next returns the next frame and its number; -1 when there is none.
func (h *half) next() (f transport.Frame, n int, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		return f, -1, h.over && h.flying == 0
	}
	f, h.queue = h.queue[0], h.queue[1:]
	h.sent++
	h.flying++
	return f, h.sent - 1, false
}

// waits reports whether the half holds something back that it would say if it
// knew that the live end is silent.
func (h *half) waits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.over && h.machine.Waiting()
}

// relent tells the half that the live end is silent.
func (h *half) relent() {
	h.mu.Lock()
	h.queue = append(h.queue, h.machine.Relent()...)
	h.mu.Unlock()
	stir(h.wake)
}
