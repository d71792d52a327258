package explore

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Modeled returns a plan without a live peer: both ends of a session play their
// half, each under an endpoint model. At level L0 every order of its steps comes
// to the same end, the one that [replay.Closed] finds. At L1 both ends send in any
// legal order; the rigid model has only one, and reads as the free one then.
func Modeled(events []store.Event, client, server replay.Model) (Plan, error) {
	recording, err := replay.Load(func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
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
			playServer(r, server)
			playClient(r, client)
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
		part: p, run: r, end: r.gate.End(p.own), half: p.half.Rewound(),
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
	end     *gate.End
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
			op.begin()
			name = op.name
		}
		flight, err := a.end.Offer(ctx, a.frames[n-1], name)
		if err != nil || a.end.Await(ctx, flight) != nil {
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
		wants, read, stop := a.half.Want(), a.half.Read(), a.half.Stopped()
		a.mu.Unlock()
		idle := "" // for those who diagnose: why the end does not read
		switch {
		case stop != nil && stop.Works:
			idle = "works at it, and does not read meanwhile"
		case stop != nil:
			idle = "hands it to its inner queue, which is full"
		case !wants && !read:
			idle = "sends before it reads on"
		}
		a.run.gate.Lock()
		a.end.In.Idle, a.end.In.Read = idle, read
		a.run.gate.Unlock()
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
		stop = a.half.Stopped()
		a.mu.Unlock()
		for _, op := range a.awaited[n] {
			if stop == nil || !stop.Inside {
				op.finish(nil)
			}
		}
		stir(a.send)
	}
}

// over ends the half when all was sent and read. One that stands at its work has
// said all, and stays there.
func (a *actor) over() bool {
	a.mu.Lock()
	done, stop := a.half.Sent() && a.half.Read(), a.half.Stopped()
	a.mu.Unlock()
	if done {
		a.whole.finish(nil)
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

// stands says how its receive loop stands.
func (a *actor) stands(stop *replay.Stop) (category, why string) {
	in := a.end.In
	if stop.Works {
		why = fmt.Sprintf("the %s works at %s, read at step %d, and does not read meanwhile", in.Dir.Receiver(), in.Last.Name, in.Last.Given)
		if stop.Never {
			return NeverSent, why + "; the recording has nothing that ends that"
		}
		return Swallowed, why + "; what it waits for is behind it"
	}
	why = fmt.Sprintf("the %s's receive loop holds %s, read at step %d: its inner queue has no room for it, and nobody drains that during a call",
		in.Dir.Receiver(), in.Last.Name, in.Last.Given)
	if stop.Never {
		return NeverSent, why + "; the recording has no response to the call"
	}
	return Swallowed, why + "; what would end the call is behind it"
}

// habit is how the reader of a recorded half depends on its writer and its calls:
// the models of package replay as a behaviour, for where the order is open and a
// script that counts frames says nothing. nil is the free model. A serial one works
// at requests: what a notification's handler asks for, it may as well have asked for
// before, where the order is open.
type habit struct {
	queue  int // room for notifications during a call; -1: none of this
	inline bool
	serial bool

	flying map[mcp.Key]bool // own requests without an answer, by id
	queued int
	stuck  bool             // holds a notification
	owed   map[int]bool     // answers to write before it reads on, by number
	atWork map[mcp.Key]bool // requests to answer before it reads on, by id
	resume chan struct{}
}

func newHabit(m replay.Model) *habit {
	h := &habit{
		queue: -1, inline: m == replay.Inline, serial: m == replay.Serial, flying: map[mcp.Key]bool{},
		owed: map[int]bool{}, atWork: map[mcp.Key]bool{}, resume: make(chan struct{}, 1),
	}
	if q, inbox := m.Queue(); inbox {
		h.queue = q
	} else if !h.inline && !h.serial {
		return nil
	}
	return h
}

// idle says why the reader does not read; "" when it does.
func (h *habit) idle() string {
	switch {
	case h == nil:
		return ""
	case h.stuck:
		return "hands it to its inner queue, which is full"
	case len(h.owed) > 0:
		return "writes the answer before it reads on"
	case len(h.atWork) > 0:
		return "works at it, and reads on when it was answered"
	}
	return ""
}

// heard takes a frame that was read, and what the machine says to it, of which
// the first will be frame number n.
func (h *habit) heard(f transport.Frame, n int, out []transport.Frame) {
	if h == nil {
		return
	}
	asked := map[mcp.Key]bool{}
	for _, m := range messages(f) {
		switch m.Kind() {
		case transport.Request:
			asked[mcp.KeyOf(m.ID)] = true
			if h.serial {
				h.atWork[mcp.KeyOf(m.ID)] = true
			}
		case transport.Response:
			h.finish(mcp.KeyOf(m.ID))
		case transport.Notification: // nobody drains the inner queue during a call
			switch {
			case h.queue < 0 || len(h.flying) == 0:
			case h.queued < h.queue:
				h.queued++
			default:
				h.stuck = true
			}
		}
	}
	for i, f := range out {
		for _, m := range messages(f) {
			if h.inline && m.Kind() == transport.Response && asked[mcp.KeyOf(m.ID)] {
				h.owed[n+i] = true
			}
		}
	}
}

func (h *habit) finish(id mcp.Key) {
	delete(h.flying, id)
	if len(h.flying) == 0 {
		h.queued, h.stuck = 0, false
	}
}

// offered takes an own frame that is in the writer's hand.
func (h *habit) offered(f transport.Frame) {
	if h == nil {
		return
	}
	for _, m := range messages(f) {
		if m.Kind() == transport.Request && m.Method != mcp.MethodListen {
			h.flying[mcp.KeyOf(m.ID)] = true
		}
	}
}

// wrote takes own frame number n, which has left the writer's hand.
func (h *habit) wrote(n int, f transport.Frame) {
	if h == nil {
		return
	}
	delete(h.owed, n)
	for _, m := range messages(f) {
		if m.Kind() == transport.Response {
			delete(h.atWork, mcp.KeyOf(m.ID))
		}
		if m.Method == mcp.NotificationCancelled {
			h.finish(mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID)))
		}
	}
	stir(h.resume)
}

// messages parses a frame; what is not JSON has none.
func messages(f transport.Frame) []transport.Message {
	list, err := f.Messages()
	if err != nil {
		return nil
	}
	return list
}

// recordedCall is a request of a recorded half, which is an operation of the run.
type recordedCall struct {
	name     string // tools/call "search"#1
	dir      transport.Direction
	request  int // number of the frame in its direction, from 1
	response int // number of the frame in the other one; 0: it was not answered
	id       mcp.Key
	// cancelled: the caller gave up, and a response need not come.
	cancelled bool
	listen    bool // its response only ends a stream
}

// recordedCalls lists the requests of both ends in recorded order.
func recordedCalls(events []store.Event) ([]recordedCall, error) {
	numbers := make(map[uint64]int, len(events)) // by Seq
	var count [3]int
	pairs := timeline.NewCalls()
	for _, e := range events {
		if e.Kind == store.Frame {
			count[e.Dir]++
			numbers[e.Seq] = count[e.Dir]
		}
		if err := pairs.Apply(e); err != nil {
			return nil, err
		}
	}
	seen := map[string]int{}
	var calls []recordedCall
	for _, c := range pairs.All() {
		name := gate.Clip(c.Method)
		if c.Target != "" {
			name += fmt.Sprintf(" %q", gate.Shorten(c.Target))
		}
		if c.Dir == transport.ServerToClient {
			name = "server: " + name
		}
		seen[name]++
		calls = append(calls, recordedCall{
			name: fmt.Sprintf("%s#%d", name, seen[name]), dir: c.Dir,
			request: numbers[c.Request], response: numbers[c.Response],
			id: mcp.KeyOf([]byte(c.ID)), cancelled: c.Cancelled > 0, listen: c.Method == mcp.MethodListen,
		})
	}
	return calls, nil
}
