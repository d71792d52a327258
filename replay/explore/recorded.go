package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// machine is a recorded half: frames in, frames out, and no clock.
// [replay.Player] is one.
type machine interface {
	// Receive takes a frame of the live end and returns what to send now.
	Receive(transport.Frame) []transport.Frame
	// Waiting reports whether Relent would send something.
	Waiting() bool
	// Relent gives up waiting for something that the live end does not say.
	Relent() []transport.Frame
	// Close returns how the live end differed from the recorded one.
	Close() []replay.Finding
}

// half plays a machine on an end of the gate: a reader that is always there, and
// a writer that keeps the machine's order.
type half struct {
	run  *Run
	end  *end
	name string // of the role, for steps and notes

	mu      sync.Mutex // never held across a wait
	machine machine
	queue   []transport.Frame
	wake    chan struct{}
	over    bool // nothing is added to the queue any more

	// heard and said, if set, see each frame of the live end before the machine
	// does, and each frame of this one around its Write.
	heard func(transport.Frame)
	said  func(transport.Frame) (op string, done func())
}

// RecordedServer lets the server of [Plan.Session] play on the server's end: it
// answers the live client from the recording, and says the rest where it was
// said. Only Setup may call it.
func (r *Run) RecordedServer() {
	p := replay.NewPlayer(r.plan.Session, nil)
	h := r.newHalf(transport.ServerToClient, p)
	h.play(p.Start(), p.End)
}

// newHalf puts a machine on the end that sends in direction own.
func (r *Run) newHalf(own transport.Direction, m machine) *half {
	h := &half{
		run: r, end: &r.gate.ends[own-transport.ClientToServer], name: "recorded " + own.Sender(),
		machine: m, wake: make(chan struct{}, 1),
	}
	r.halves = append(r.halves, h)
	return h
}

// play starts the goroutines. last says what is left to say when the live end
// has closed.
func (h *half) play(first []transport.Frame, last func() []transport.Frame) {
	h.queue = first
	h.run.Go(func(ctx context.Context) { h.read(ctx, last) })
	h.run.Go(h.write)
}

func (h *half) read(ctx context.Context, last func() []transport.Frame) {
	for {
		f, err := h.end.Read(ctx)
		if err != nil {
			h.mu.Lock()
			if errors.Is(err, io.EOF) && last != nil {
				h.queue = append(h.queue, last()...)
			}
			h.over = true
			h.mu.Unlock()
			stir(h.wake)
			return
		}
		h.mu.Lock()
		if h.heard != nil {
			h.heard(f)
		}
		h.queue = append(h.queue, h.machine.Receive(f)...)
		h.mu.Unlock()
		stir(h.wake)
	}
}

// write sends what is queued, one frame at a time, and closes the end when the
// live one has closed and all is said.
func (h *half) write(ctx context.Context) {
	for {
		f, ok, over := h.next()
		switch {
		case ok:
			if h.send(ctx, f) != nil {
				return
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

func (h *half) send(ctx context.Context, f transport.Frame) error {
	op, done := "", func() {}
	if h.said != nil {
		op, done = h.said(f)
	}
	err := h.end.send(ctx, f, "", op)
	if err == nil {
		done()
	}
	return err
}

func (h *half) next() (f transport.Frame, ok, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		return f, false, h.over
	}
	f, h.queue = h.queue[0], h.queue[1:]
	return f, true, false
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

// Findings says where the live ends differ from the recorded ones so far; it is
// for Check.
func (r *Run) Findings() []replay.Finding {
	var all []replay.Finding
	for _, h := range r.halves {
		h.mu.Lock()
		all = append(all, h.machine.Close()...)
		h.mu.Unlock()
	}
	return all
}

// stranger is the first thing a live end said for which nothing is recorded.
func (r *Run) stranger() error {
	for _, f := range r.Findings() {
		if f.Kind == replay.Extra {
			return fmt.Errorf("the recording does not cover this run: %s", f.Text)
		}
	}
	return nil
}
