package explore

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Modeled returns a plan without a live peer: both ends of a session play their
// half, each under an endpoint model. At level L0 every order of its steps comes
// to the same end, the one that [replay.Closed] finds. At L1 both ends send in any
// legal order; the rigid model has only one, and reads as the free one then.
func Modeled(events []store.Event, client, server replay.Model) (Plan, error) {
	recording, err := replay.Load(sequence(events))
	if err != nil {
		return Plan{}, err
	}
	calls, err := recordedCalls(events)
	if err != nil {
		return Plan{}, fmt.Errorf("load recording: %w", err)
	}
	parts := [2]*part{
		newPart(recording, events, calls, transport.ClientToServer, client),
		newPart(recording, events, calls, transport.ServerToClient, server),
	}
	setup := func(r *Run) {
		if r.level == L1 {
			r.recordedServer(server)
			r.recordedClient(client)
			return
		}
		for _, p := range parts {
			p.play(r)
		}
	}
	return Plan{
		Session: events, Setup: setup,
		Check: func(*Run) error { return nil }, // neither end is a stranger
		notes: recording.Warnings(),
		again: func(events []store.Event) (Plan, error) { return Modeled(events, client, server) },
	}, nil
}

func sequence(events []store.Event) func(yield func(store.Event, error) bool) {
	return func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// part is what all runs share of one end under a model.
type part struct {
	own    transport.Direction
	half   *replay.Half
	frames []transport.Frame // its own, by number from 0
	calls  []recordedCall    // its own, that were answered
}

func newPart(r *replay.Recording, events []store.Event, calls []recordedCall, own transport.Direction, m replay.Model) *part {
	p := &part{own: own, half: r.Half(own, m)}
	for _, e := range events {
		if e.Kind == store.Frame && e.Dir == own {
			p.frames = append(p.frames, e.AsFrame())
		}
	}
	for _, c := range calls {
		if c.dir == own && c.response > 0 {
			p.calls = append(p.calls, c)
		}
	}
	return p
}

// play lets the part take an end of a run: an operation for each of its calls,
// and one for the rest, which is named only where no call stands.
func (p *part) play(r *Run) {
	a := &actor{
		part: p, run: r, end: &r.gate.ends[p.own-transport.ClientToServer], half: p.half.Rewound(),
		asked: map[int][]*Operation{}, awaited: map[int][]*Operation{},
		send: make(chan struct{}, 1), read: make(chan struct{}, 1),
	}
	for _, c := range p.calls {
		op := r.expect(c.name)
		a.asked[c.request] = append(a.asked[c.request], op)
		a.awaited[c.response] = append(a.awaited[c.response], op)
	}
	a.whole = r.expect("the " + p.own.Sender() + "'s half")
	a.whole.behind = true
	r.actors = append(r.actors, a)
	r.Go(a.write)
	r.Go(a.listen)
}

// actor is a part in one run.
type actor struct {
	*part
	run     *Run
	end     *end
	asked   map[int][]*Operation // by number of the request's frame
	awaited map[int][]*Operation // by number of the response's frame
	whole   *Operation

	mu   sync.Mutex // of half; never held across a wait
	half *replay.Half
	send chan struct{} // wakes the writer
	read chan struct{} // wakes the reader
}

// write sends what the model lets it send.
func (a *actor) write(ctx context.Context) {
	for {
		a.mu.Lock()
		n := a.half.Offer()
		a.mu.Unlock()
		if n == 0 {
			if a.over() || !pause(ctx, a.send) {
				return
			}
			continue
		}
		name := ""
		for _, op := range a.asked[n] {
			a.run.begin(op)
			name = op.name
		}
		if a.end.send(ctx, a.frames[n-1], "", name) != nil {
			return
		}
		a.mu.Lock()
		a.half.Acked()
		a.mu.Unlock()
		stir(a.read)
	}
}

// listen reads when the model does.
func (a *actor) listen(ctx context.Context) {
	for {
		a.mu.Lock()
		wants := a.half.Want()
		a.mu.Unlock()
		a.state(wants)
		if !wants {
			if a.over() || !pause(ctx, a.read) {
				return
			}
			continue
		}
		if _, err := a.end.Read(ctx); err != nil {
			return
		}
		a.mu.Lock()
		n := a.half.Given()
		stop := a.half.Stopped()
		a.mu.Unlock()
		for _, op := range a.awaited[n] {
			if stop == nil || !stop.Inside {
				a.run.settle(op)
			}
		}
		stir(a.send)
	}
}

// state tells those who diagnose why the end reads or not.
func (a *actor) state(wants bool) {
	a.mu.Lock()
	read, stop := a.half.Read(), a.half.Stopped()
	a.mu.Unlock()
	idle := ""
	switch {
	case stop != nil && stop.Works:
		idle = "works at it, and does not read meanwhile"
	case stop != nil:
		idle = "hands it to its inner queue, which is full"
	case !wants && !read:
		idle = "sends before it reads on"
	}
	a.run.gate.hold()
	a.end.in.idle, a.end.in.read = idle, read
	a.run.gate.free()
}

// over ends the half when all was sent and read. One that stands at its work has
// said all, and stays there.
func (a *actor) over() bool {
	a.mu.Lock()
	done, stop := a.half.Sent() && a.half.Read(), a.half.Stopped()
	a.mu.Unlock()
	if done {
		a.run.settle(a.whole)
	}
	if !done || stop != nil {
		return false
	}
	stir(a.send)
	stir(a.read)
	return true
}

// pause waits to be woken; false when the run is over.
func pause(ctx context.Context, wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

func stir(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// stopped says how a receive loop that stands under its model holds up a run that
// does not move; "" where none does. The frames do not show it: only the model knows.
func (r *Run) stopped() (category, why string) {
	var works [2]*replay.Stop
	for i, a := range r.actors {
		a.mu.Lock()
		stop := a.half.Stopped()
		a.mu.Unlock()
		if stop == nil || a.end.in.last == nil {
			continue
		}
		if stop.Works {
			works[i] = stop
		}
		if category != Swallowed {
			category, why = a.stands(stop)
		}
	}
	if a, b := works[0], works[1]; a != nil && b != nil && a.Never && b.Never && (a.Call == b.Held || b.Call == a.Held) && a.Call > 0 && b.Call > 0 {
		return Mutual, fmt.Sprintf("the client works at %s and the server at %s; each has asked the other since, and reads no answer before that is done",
			r.actors[0].end.in.last.name, r.actors[1].end.in.last.name)
	}
	return category, why
}

// stands says how its receive loop stands.
func (a *actor) stands(stop *replay.Stop) (category, why string) {
	in := a.end.in
	if stop.Works {
		why = fmt.Sprintf("the %s works at %s, read at step %d, and does not read meanwhile", in.dir.Receiver(), in.last.name, in.last.given)
		if stop.Never {
			return NeverSent, why + "; the recording has nothing that ends that"
		}
		return Swallowed, why + "; what it waits for is behind it"
	}
	why = fmt.Sprintf("the %s's receive loop holds %s, read at step %d: its inner queue has no room for it, and nobody drains that during a call",
		in.dir.Receiver(), in.last.name, in.last.given)
	if stop.Never {
		return NeverSent, why + "; the recording has no response to the call"
	}
	return Swallowed, why + "; what would end the call is behind it"
}
