package explore

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Modeled returns a plan without a live peer: both ends of a session play their half, each
// under an endpoint model. At level L0 every order of its steps comes to the end that
// [replay.Closed] finds. At L1 both ends send in any legal order; the rigid model has only
// one order, and reads as the free model then.
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
	newEnd := func(own transport.Direction, m replay.Model) *modeledEnd {
		end := &modeledEnd{own: own, script: recording.Half(own, m)}
		for _, e := range events {
			if e.Kind == store.Frame && e.Dir == own {
				end.frames = append(end.frames, e.AsFrame())
			}
		}
		for _, c := range calls {
			if c.dir == own && c.response > 0 {
				end.calls = append(end.calls, c)
			}
		}
		return end
	}
	ends := [2]*modeledEnd{newEnd(transport.ClientToServer, client), newEnd(transport.ServerToClient, server)}
	setup := func(r *Run) {
		if r.level == schedule.L1 {
			playServer(r, server)
			playClient(r, client)
			return
		}
		for _, e := range ends {
			e.play(r)
		}
	}
	return Plan{
		Session: events, Setup: setup,
		Check: func(*Run) error { return nil }, // neither end is a stranger
		notes: recording.Warnings(),
		again: func(events []store.Event) (Plan, error) { return Modeled(events, client, server) },
	}, nil
}

// modeledEnd is the part of an end under a model that all runs share.
type modeledEnd struct {
	own    transport.Direction
	script *replay.Half
	frames []transport.Frame // its own, by number from 0
	calls  []recordedCall    // its own, that were answered
}

// play lets the end play in a run: an operation for each of its calls,
// and one for the rest, which is named only where no call stands.
func (e *modeledEnd) play(r *Run) {
	h := &modeledHalf{
		modeledEnd: e, run: r, end: r.gate.End(e.own), script: e.script.Rewound(),
		asked: map[int][]*Operation{}, awaited: map[int][]*Operation{},
		send: make(chan struct{}, 1), read: make(chan struct{}, 1),
	}
	for _, c := range e.calls {
		op := r.expect(c.name)
		h.asked[c.request] = append(h.asked[c.request], op)
		h.awaited[c.response] = append(h.awaited[c.response], op)
	}
	h.whole = r.expect("the " + e.own.Sender() + "'s half")
	h.whole.behind = true
	r.modeled = append(r.modeled, h)
	r.Go(h.write)
	r.Go(h.listen)
}

// modeledHalf plays an end under a model in one run: a writer and a reader.
type modeledHalf struct {
	*modeledEnd
	run     *Run
	end     *gate.End
	asked   map[int][]*Operation // by number of the request's frame
	awaited map[int][]*Operation // by number of the response's frame
	whole   *Operation

	mu     sync.Mutex // of script; never held across a wait
	script *replay.Half
	send   chan struct{} // wakes the writer
	read   chan struct{} // wakes the reader
}

// write sends what the model lets it send.
func (h *modeledHalf) write(ctx context.Context) {
	for {
		h.mu.Lock()
		n := h.script.Offer()
		h.mu.Unlock()
		if n == 0 {
			if h.over() || !pause(ctx, h.send) {
				return
			}
			continue
		}
		name := ""
		for _, op := range h.asked[n] {
			op.begin()
			name = op.name
		}
		flight, err := h.end.Offer(ctx, h.frames[n-1], name)
		if err != nil || h.end.Await(ctx, flight) != nil {
			return
		}
		h.mu.Lock()
		h.script.Acked()
		h.mu.Unlock()
		wake(h.read)
	}
}

// listen reads when the model does.
func (h *modeledHalf) listen(ctx context.Context) {
	for {
		h.mu.Lock()
		wants, read, stop := h.script.Want(), h.script.Read(), h.script.Stopped()
		h.mu.Unlock()
		idle := "" // why the end does not read
		switch {
		case stop != nil && stop.Works:
			idle = "works at it, and does not read meanwhile"
		case stop != nil:
			idle = "hands it to its inner queue, which is full"
		case !wants && !read:
			idle = "sends before it reads on"
		}
		h.run.gate.Lock()
		h.end.In.Idle, h.end.In.Read = idle, read
		h.run.gate.Unlock()
		if !wants {
			if h.over() || !pause(ctx, h.read) {
				return
			}
			continue
		}
		if _, err := h.end.Read(ctx); err != nil {
			return
		}
		h.mu.Lock()
		n := h.script.Given()
		stop = h.script.Stopped()
		h.mu.Unlock()
		for _, op := range h.awaited[n] {
			if stop == nil || !stop.Inside {
				op.finish(nil)
			}
		}
		wake(h.send)
	}
}

// over ends the half when all was sent and read. A half that stands at its work has
// said all, and stays there.
func (h *modeledHalf) over() bool {
	h.mu.Lock()
	done, stop := h.script.Sent() && h.script.Read(), h.script.Stopped()
	h.mu.Unlock()
	if done {
		h.whole.finish(nil)
	}
	if !done || stop != nil {
		return false
	}
	wake(h.send)
	wake(h.read)
	return true
}

// pause waits to be woken; false when the run is over.
func pause(ctx context.Context, woken <-chan struct{}) bool {
	select {
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}

func wake(sleeper chan<- struct{}) {
	select {
	case sleeper <- struct{}{}:
	default:
	}
}

// modelStop says how a receive loop that stands under its model holds up a run that does
// not move; "" where none does. The frames do not show it: only the model knows.
func modelStop(halves []*modeledHalf) (category, why string) {
	var works [2]*replay.Stop
	for i, h := range halves {
		h.mu.Lock()
		stop := h.script.Stopped()
		h.mu.Unlock()
		in := h.end.In
		if stop == nil || in.Last == nil {
			continue
		}
		if stop.Works {
			works[i] = stop
		}
		if category == hang.Swallowed {
			continue
		}
		category = hang.Swallowed
		if stop.Never {
			category = hang.NeverSent
		}
		switch reader := in.Dir.Receiver(); {
		case stop.Works:
			why = fmt.Sprintf("the %s works at %s, read at step %d, and does not read meanwhile", reader, in.Last.Name, in.Last.Given)
			if stop.Never {
				why += "; the recording has nothing that ends that"
			} else {
				why += "; what it waits for is behind it"
			}
		default:
			why = fmt.Sprintf("the %s's receive loop holds %s, read at step %d: its inner queue has no room for it, "+
				"and nobody drains that during a call", reader, in.Last.Name, in.Last.Given)
			if stop.Never {
				why += "; the recording has no response to the call"
			} else {
				why += "; what would end the call is behind it"
			}
		}
	}
	a, b := works[0], works[1]
	if a != nil && b != nil && a.Never && b.Never && (a.Call == b.Held || b.Call == a.Held) && a.Call > 0 && b.Call > 0 {
		return hang.Mutual, fmt.Sprintf("the client works at %s and the server at %s; "+
			"each has asked the other since, and reads no answer before that is done",
			halves[0].end.In.Last.Name, halves[1].end.In.Last.Name)
	}
	return category, why
}

// modelReader makes the reader of a recorded half depend on its writer and its calls: the
// models of package replay as a behaviour, for level L1, where a script that counts frames
// says nothing. nil is the free model. A serial reader works at requests only: a
// notification's handler may as well have asked before.
type modelReader struct {
	queue  int // room for notifications during a call; -1: none of this
	inline bool
	serial bool

	calling map[mcp.Key]bool // own requests without a response, by id
	queued  int
	stuck   bool             // holds a notification
	owed    map[int]bool     // responses to write before it reads on, by number
	atWork  map[mcp.Key]bool // requests to respond to before it reads on, by id
	resume  chan struct{}
}

func newModelReader(m replay.Model) *modelReader {
	r := &modelReader{
		queue: -1, inline: m == replay.Inline, serial: m == replay.Serial, calling: map[mcp.Key]bool{},
		owed: map[int]bool{}, atWork: map[mcp.Key]bool{}, resume: make(chan struct{}, 1),
	}
	if q, inbox := m.Queue(); inbox {
		r.queue = q
	} else if !r.inline && !r.serial {
		return nil
	}
	return r
}

// idle says why the reader does not read; "" when it does.
func (r *modelReader) idle() string {
	switch {
	case r == nil:
		return ""
	case r.stuck:
		return "hands it to its inner queue, which is full"
	case len(r.owed) > 0:
		return "writes the answer before it reads on"
	case len(r.atWork) > 0:
		return "works at it, and reads on when it was answered"
	}
	return ""
}

// heard takes a frame that was read, and the frames that the machine sends in return, the
// first of which is frame number n.
func (r *modelReader) heard(f transport.Frame, n int, out []transport.Frame) {
	if r == nil {
		return
	}
	asked := map[mcp.Key]bool{}
	for _, m := range messages(f) {
		switch m.Kind() {
		case transport.Request:
			asked[mcp.KeyOf(m.ID)] = true
			if r.serial {
				r.atWork[mcp.KeyOf(m.ID)] = true
			}
		case transport.Response:
			r.finish(mcp.KeyOf(m.ID))
		case transport.Notification: // nobody drains the inner queue during a call
			switch {
			case r.queue < 0 || len(r.calling) == 0:
			case r.queued < r.queue:
				r.queued++
			default:
				r.stuck = true
			}
		}
	}
	for i, f := range out {
		for _, m := range messages(f) {
			if r.inline && m.Kind() == transport.Response && asked[mcp.KeyOf(m.ID)] {
				r.owed[n+i] = true
			}
		}
	}
}

// finish ends a call: with the last one the inner queue is drained.
func (r *modelReader) finish(id mcp.Key) {
	delete(r.calling, id)
	if len(r.calling) == 0 {
		r.queued, r.stuck = 0, false
	}
}

// offered takes an own frame that is in the writer's hand.
func (r *modelReader) offered(f transport.Frame) {
	if r == nil {
		return
	}
	for _, m := range messages(f) {
		if m.Kind() == transport.Request && m.Method != mcp.MethodListen {
			r.calling[mcp.KeyOf(m.ID)] = true
		}
	}
}

// wrote takes own frame number n, which has left the writer's hand.
func (r *modelReader) wrote(n int, f transport.Frame) {
	if r == nil {
		return
	}
	delete(r.owed, n)
	for _, m := range messages(f) {
		if m.Kind() == transport.Response {
			delete(r.atWork, mcp.KeyOf(m.ID))
		}
		if m.Method == mcp.NotificationCancelled {
			r.finish(mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID)))
		}
	}
	wake(r.resume)
}

// messages parses a frame; a frame that is not JSON has none.
func messages(f transport.Frame) []transport.Message {
	list, err := f.Messages()
	if err != nil {
		return nil
	}
	return list
}

// recordedCall is a request of a recorded half, which is an operation of the run.
type recordedCall struct {
	name      string // tools/call "search"#1
	dir       transport.Direction
	request   int // number of the frame in its direction, from 1
	response  int // number of the frame in the other one; 0: it was not answered
	id        mcp.Key
	cancelled bool // the caller gave up, and a response need not come
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
