package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// playServer lets a recorded server play under a model.
func playServer(r *Run, m replay.Model) {
	p := standin.NewPlayer(r.plan.Session, match.Rules{Match: r.plan.ready.match})
	if r.level == schedule.L1 {
		p.AllowReorder()
	}
	h := newRecordedHalf(r, transport.ServerToClient, p, m)
	h.close, h.without = p.Close, p.Without
	h.play(p.Start(), p.End)
}

// playClient lets a recorded client play under a model.
func playClient(r *Run, m replay.Model) {
	d := standin.NewDriver(r.plan.Session, match.Rules{})
	if r.level == schedule.L1 {
		d.AllowReorder()
	}
	h := newRecordedHalf(r, transport.ClientToServer, d, m)
	h.close, h.without = d.Close, d.Without
	h.calls, h.said = newPlayedCalls(r), d.Said
	h.play(d.Start(), nil)
}

// noteUnsaid notes in a hang which frames a recorded half did not send, and why.
func noteUnsaid(r *Run) {
	for _, h := range r.halves {
		h.mu.Lock()
		findings := h.close()
		h.mu.Unlock()
		for _, f := range findings {
			if f.Result == match.NotSent {
				r.note("the " + h.name + " has not said all: " + f.Text)
			}
		}
		calls, err := r.plan.ready.calls()
		if err != nil || h.end.Out.Dir != transport.ServerToClient {
			continue
		}
		// A live client waits for ever for a response that the recorded server never gave.
		var names []string
		for _, c := range calls {
			if c.dir == transport.ClientToServer && c.response == 0 && !c.cancelled && !c.listen {
				names = append(names, c.name)
			}
		}
		if len(names) > 0 {
			r.note("the recording itself has no answer to " + strings.Join(names, ", "))
		}
	}
}

// playedCalls are the operations of a recorded client. nil has none.
type playedCalls struct {
	run   *Run
	byID  map[mcp.Key][]*playedCall // in recorded order
	whole *Operation                // the rest of the half
}

// playedCall is a recorded request in one run.
type playedCall struct {
	op    *Operation
	waits bool // for a response, as the recorded one did
	owed  bool // a response, by a live server, though the recorded one gave none
	begun bool
	done  bool
}

// newPlayedCalls adds an operation for each request of the recorded client, and one for the
// rest of its half.
func newPlayedCalls(r *Run) *playedCalls {
	list, err := r.plan.ready.calls()
	if err != nil {
		panic("explore: Plan.Session: " + err.Error())
	}
	c := &playedCalls{run: r, byID: map[mcp.Key][]*playedCall{}}
	for _, call := range list {
		if call.dir != transport.ClientToServer {
			continue
		}
		c.byID[call.id] = append(c.byID[call.id], &playedCall{
			op:    r.expect(call.name),
			waits: call.response > 0 && !call.cancelled,
			owed:  call.response == 0 && !call.cancelled && !call.listen && call.id != "null",
		})
	}
	c.whole = r.expect("the client's half")
	c.whole.behind = true
	return c
}

// offered begins the calls of a frame, and returns the operation that it belongs to.
func (c *playedCalls) offered(f transport.Frame) (op string) {
	c.each(f, transport.Request, func(p *playedCall) bool { return !p.begun }, func(p *playedCall) {
		p.begun, op = true, p.op.name
		p.op.begin()
	})
	return op
}

// wrote ends the calls of a frame that wait for no response. A live server owes a response
// to each request, even if the recording ends with the request open: it may have been cut
// where it hung.
func (c *playedCalls) wrote(f transport.Frame) {
	c.each(f, transport.Request, func(p *playedCall) bool {
		return p.begun && !p.done && !p.waits && !(p.owed && c.run.live(transport.ServerToClient))
	}, (*playedCall).succeed)
}

func (p *playedCall) succeed() {
	p.done = true
	p.op.finish(nil)
}

// abandon fails the calls that are open when the live server has closed, and that the
// recorded client went on without.
func (c *playedCalls) abandon() {
	if c == nil {
		return
	}
	for _, list := range c.byID {
		for _, p := range list {
			if p.owed && !p.done {
				p.done = true
				p.op.finish(errors.New("the call was not answered: the server has closed"))
			}
		}
	}
}

// each calls do for the first fitting call of each message of a kind. A response belongs
// to the latest open call.
func (c *playedCalls) each(f transport.Frame, kind transport.MessageKind, fits func(*playedCall) bool, do func(*playedCall)) {
	if c == nil {
		return
	}
	for _, m := range messages(f) {
		if m.Kind() != kind {
			continue
		}
		list := c.byID[mcp.KeyOf(m.ID)]
		if kind == transport.Response {
			list = slices.Clone(list)
			slices.Reverse(list)
		}
		if i := slices.IndexFunc(list, fits); i >= 0 {
			do(list[i])
		}
	}
}

// machine is a recorded half: frames in, frames out, and no clock.
// [standin.Player] and [standin.Driver] are machines.
type machine interface {
	// Receive takes a frame of the live end and returns what to send now.
	Receive(transport.Frame) []transport.Frame
	// Wrote says that the frame returned as number n, from 0, was taken, and
	// returns what to send now.
	Wrote(n int) []transport.Frame
	// Waiting reports whether GiveUpWaiting would send something.
	Waiting() bool
	// GiveUpWaiting gives up waiting for something that the live end does not say.
	GiveUpWaiting() []transport.Frame
	// Place says where the frame returned as number n stands in the recorded order, -1 if
	// nowhere, and the first place there whose frame was not taken.
	Place(n int) (place, first int)
}

// recordedHalf plays a machine on an end of the gate: a reader that reads whenever its
// model does, and a writer. At L0 the writer keeps the order of the machine, with one frame
// in its hand. At L1 it offers every frame that may be sent, each as a writer of its own
// would.
type recordedHalf struct {
	run   *Run
	end   *gate.End
	name  string // of the role, for steps and notes
	loose bool   // at L1
	calls *playedCalls
	said  func() bool // reports whether the client has said all, or nil

	mu      sync.Mutex // never held across a wait
	machine machine
	close   func() []match.StepVerdict // how the live end differs from the recorded one
	without func() []string            // what it went on without
	model   *modelReader               // nil is free
	queue   []transport.Frame
	sent    int  // frames that left the queue
	flying  int  // of these, not taken yet
	over    bool // nothing is added to the queue any more
	wake    chan struct{}
}

// newRecordedHalf puts a machine on the end that sends in direction own.
func newRecordedHalf(r *Run, own transport.Direction, m machine, model replay.Model) *recordedHalf {
	h := &recordedHalf{
		run: r, end: r.gate.End(own), name: "recorded " + own.Sender(), loose: r.level == schedule.L1,
		machine: m, model: newModelReader(model), wake: make(chan struct{}, 1),
	}
	r.halves = append(r.halves, h)
	return h
}

// play starts the goroutines. last returns the frames to send after the live end has
// closed.
func (h *recordedHalf) play(first []transport.Frame, last func() []transport.Frame) {
	h.queue = first
	h.finishWhole()
	h.run.Go(func(ctx context.Context) { h.read(ctx, last) })
	h.run.Go(h.write)
}

func (h *recordedHalf) read(ctx context.Context, last func() []transport.Frame) {
	for h.ready(ctx) {
		f, err := h.end.Read(ctx)
		h.mu.Lock()
		switch {
		case err == nil:
			out := h.machine.Receive(f)
			h.model.heard(f, h.sent+len(h.queue), out)
			h.queue = append(h.queue, out...)
			h.calls.each(f, transport.Response, func(p *playedCall) bool { return p.begun && !p.done }, (*playedCall).succeed)
			h.finishWhole()
		case errors.Is(err, io.EOF):
			if last != nil {
				h.queue = append(h.queue, last()...)
			}
			h.calls.abandon()
		}
		h.over = err != nil
		h.mu.Unlock()
		wake(h.wake)
		if err != nil {
			return
		}
	}
}

// ready waits until the model reads; false when the run is over.
func (h *recordedHalf) ready(ctx context.Context) bool {
	for {
		h.mu.Lock()
		idle := h.model.idle()
		h.mu.Unlock()
		if h.end.In.Idle != idle {
			h.run.gate.Lock()
			h.end.In.Idle = idle
			h.run.gate.Unlock()
		}
		if idle == "" {
			return true
		}
		if !pause(ctx, h.model.resume) {
			return false
		}
	}
}

// write sends the queue, and closes the end when the live end has closed and all is sent.
func (h *recordedHalf) write(ctx context.Context) {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			over := h.over && h.flying == 0
			h.mu.Unlock()
			if over {
				_ = h.end.Close()
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
		op := h.calls.offered(f)
		h.mu.Unlock()
		flight, err := h.end.Offer(ctx, f, op)
		if err != nil {
			return
		}
		if !h.loose {
			h.settle(ctx, flight, n)
			continue
		}
		h.mu.Lock()
		place, first := h.machine.Place(n)
		h.mu.Unlock()
		h.end.Place(flight, place, first)
		h.run.Go(func(ctx context.Context) { h.settle(ctx, flight, n) })
	}
}

// settle waits until an offered frame was taken, and tells the machine.
func (h *recordedHalf) settle(ctx context.Context, flight *gate.Flight, n int) {
	if h.end.Await(ctx, flight) != nil {
		return
	}
	h.mu.Lock()
	h.flying--
	h.model.wrote(n, flight.Frame)
	h.queue = append(h.queue, h.machine.Wrote(n)...)
	h.calls.wrote(flight.Frame)
	h.finishWhole()
	if h.loose {
		place, first := h.machine.Place(n)
		h.end.Place(flight, place, first)
	}
	h.mu.Unlock()
	wake(h.wake)
}

// finishWhole ends the operation of the whole half when all is said.
func (h *recordedHalf) finishWhole() {
	if len(h.queue) == 0 && h.flying == 0 && h.said != nil && h.said() {
		h.calls.whole.finish(nil)
	}
}

// waits reports whether the half would send something if it gave up waiting for the live
// end.
func (h *recordedHalf) waits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.over && h.machine.Waiting()
}

// relent lets the half give up waiting.
func (h *recordedHalf) relent() {
	h.mu.Lock()
	h.queue = append(h.queue, h.machine.GiveUpWaiting()...)
	h.mu.Unlock()
	wake(h.wake)
}

// prepared is the part of a plan's session that all runs share.
type prepared struct {
	keys  sync.Map                       // method and raw params → match.Key
	calls func() ([]recordedCall, error) // lists the session's requests
}

func prepare(events []store.Event) *prepared {
	return &prepared{calls: sync.OnceValues(func() ([]recordedCall, error) { return recordedCalls(events) })}
}

// match is match.MatchParams, computed once for the same bytes: schedules ask for the same
// things again and again.
func (p *prepared) match(m transport.Message) (match.Key, error) {
	raw := m.Method + "\x00" + string(m.Params)
	if key, ok := p.keys.Load(raw); ok {
		return key.(match.Key), nil
	}
	key, err := match.MatchParams(m)
	if err == nil {
		p.keys.Store(raw, key)
	}
	return key, err
}

// skipped counts the waits that the recorded halves of a search gave up, by half.
type skipped struct {
	runs   int
	halves []string // in the order of their first time
	times  map[string]int
	waits  map[string][]string
}

// count adds a run.
func (s *skipped) count(r *Run) {
	s.runs++
	for _, h := range r.halves {
		if !h.mu.TryLock() { // of a run that was given up where it stood
			continue
		}
		list := h.without()
		h.mu.Unlock()
		if len(list) == 0 {
			continue
		}
		if s.times == nil {
			s.times, s.waits = map[string]int{}, map[string][]string{}
		}
		if s.times[h.name] == 0 {
			s.halves = append(s.halves, h.name)
		}
		s.times[h.name]++
		for _, wait := range list {
			if !slices.Contains(s.waits[h.name], wait) {
				s.waits[h.name] = append(s.waits[h.name], wait)
			}
		}
	}
}

// notes names the waits: a search is blind to the orders around a wait that is given up.
func (s *skipped) notes() []string {
	const shown = 3
	var notes []string
	for _, half := range s.halves {
		waits := s.waits[half]
		text := strings.Join(waits[:min(len(waits), shown)], ", ")
		if more := len(waits) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("the %s had to go on without %s in %d of %s; orders around it were not tried",
			half, text, s.times[half], phrase.Plural(s.runs, "schedule")))
	}
	return notes
}
