package halves

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Models are both ends of a session, each under an endpoint model. The runs of a search
// share the models.
type Models struct {
	Warnings []string // of the recording

	ends [2]*modeledEnd
}

// NewModels reads a session.
func NewModels(events []store.Event, client, server closed.Model) (*Models, error) {
	recording, err := closed.Load(jsonl.Each(events))
	if err != nil {
		return nil, fmt.Errorf("load recording: %w", err)
	}
	if err != nil {
		return nil, err
	}
	m := &Models{Warnings: recording.Warnings()}
	for i, model := range [...]closed.Model{client, server} {
		own := transport.ClientToServer + transport.Direction(i)
		end := &modeledEnd{own: own, script: recording.Half(own, model)}
		for _, e := range events {
			if e.Kind == store.Frame && e.Dir == own {
				end.frames = append(end.frames, e.AsFrame())
			}
		}
		for _, c := range recordedCalls(events) {
			if c.dir == own && c.response > 0 {
				end.calls = append(end.calls, c)
			}
		}
		m.ends[i] = end
	}
	return m, nil
}

// Play lets both ends play in a run: with an operation for each call and for the rest.
func (m *Models) Play(run Run) []*Modeled {
	var list []*Modeled
	for _, e := range m.ends {
		h := &Modeled{
			modeledEnd: e, run: run, end: run.Gate.End(e.own), script: e.script.Rewound(),
			asked: map[int][]Operation{}, awaited: map[int][]Operation{},
			send: make(chan struct{}, 1), read: make(chan struct{}, 1),
		}
		for _, c := range e.calls {
			op := run.Expect(c.name, false)
			h.asked[c.request] = append(h.asked[c.request], op)
			h.awaited[c.response] = append(h.awaited[c.response], op)
		}
		h.whole = run.Expect("the "+e.own.Sender()+"'s half", true)
		run.Go(h.write)
		run.Go(h.listen)
		list = append(list, h)
	}
	return list
}

// modeledEnd is the shared part of an end under a model.
type modeledEnd struct {
	own    transport.Direction
	script *closed.Half
	frames []transport.Frame // own frames, by number from 0
	calls  []recordedCall    // own calls with a response
}

// Modeled plays an end under a model in one run: a writer and a reader.
type Modeled struct {
	*modeledEnd
	run     Run
	end     *gate.End
	asked   map[int][]Operation // by number of the request's frame
	awaited map[int][]Operation // by number of the response's frame
	whole   Operation

	mu     sync.Mutex // of script; never held across a wait
	script *closed.Half
	send   chan struct{} // wakes the writer
	read   chan struct{} // wakes the reader
}

// write sends the frames that the model lets go.
func (h *Modeled) write(ctx context.Context) {
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
			op.Begin()
			name = op.Name
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

// queueFull says why an end with a full inner queue does not read.
const queueFull = "hands it to its notification queue, which is full"

// listen reads when the model does.
func (h *Modeled) listen(ctx context.Context) {
	for {
		h.mu.Lock()
		wants := h.script.Want()
		read := h.script.Read()
		stop := h.script.Stopped()
		h.mu.Unlock()
		idle := "" // why the end does not read
		switch {
		case stop != nil && stop.Works:
			idle = "works at it, and does not read meanwhile"
		case stop != nil:
			idle = queueFull
		case !wants && !read:
			idle = "sends before it reads on"
		}
		h.run.Gate.Lock()
		h.end.In.Idle = idle
		h.end.In.Read = read
		h.run.Gate.Unlock()
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
				op.Finish(nil)
			}
		}
		wake(h.send)
	}
}

// Dir is the direction in which the half sends.
func (h *Modeled) Dir() transport.Direction { return h.own }

// over ends the half when every frame was sent and read. A half at its work stays there.
func (h *Modeled) over() bool {
	h.mu.Lock()
	done := h.script.Sent() && h.script.Read()
	stop := h.script.Stopped()
	h.mu.Unlock()
	if done {
		h.whole.Finish(nil)
	}
	if !done || stop != nil {
		return false
	}
	wake(h.send)
	wake(h.read)
	return true
}

// Stop says how a receive loop that stands under its model holds up a run that does not
// move, or "". The frames do not show this: only the model knows.
func Stop(halves []*Modeled) (category, why string) {
	var works [2]*closed.Stop
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
		if closed.IsBehind(category) {
			continue
		}
		category = closed.Behind(stop.Kind)
		if stop.Never {
			category = closed.NeverSent
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
			why = fmt.Sprintf("the %s's reader holds %s, read at step %d: its notification queue has no room for it, "+
				"and nobody reads from that during a call", reader, in.Last.Name, in.Last.Given)
			if stop.Never {
				why += "; the recording has no response to the call"
			} else {
				why += "; what would end the call is behind it"
			}
		}
	}
	a, b := works[0], works[1]
	if a != nil && b != nil && a.Never && b.Never && (a.Call == b.Held || b.Call == a.Held) && a.Call > 0 && b.Call > 0 {
		return closed.MutualWait, fmt.Sprintf("the client works at %s and the server at %s; "+
			"each has asked the other since, and reads no answer before that is done",
			halves[0].end.In.Last.Name, halves[1].end.In.Last.Name)
	}
	return category, why
}

// modelReader makes the reader of a recorded half wait as its model does, for level SendingOrder, where the
// frames of a script have no fixed number. nil is Independent, and SingleThreaded, which has a
// single order. Under BlockingHandlers a reader works at requests only.
type modelReader struct {
	inline bool
	loop   *closed.Loop[mcp.Key] // calls by id
	resume chan struct{}
}

func newModelReader(model closed.Model) *modelReader {
	model = model.Unnamed()
	if model == closed.Independent || model == closed.SingleThreaded {
		return nil
	}
	return &modelReader{inline: model == closed.AnswersInline, loop: closed.NewLoop[mcp.Key](model), resume: make(chan struct{}, 1)}
}

// idle says why the reader does not read; "" when it does.
func (r *modelReader) idle() string {
	switch {
	case r == nil || r.loop.Reads():
		return ""
	case r.loop.Full():
		return queueFull
	case r.inline:
		return "writes the answer before it reads on"
	}
	return "works at it, and reads on when it was answered"
}

// heard takes the messages of a read frame, and the frames that the machine sends in return. It
// returns the messages that came through: behind a notification that the reader holds, none does.
func (r *modelReader) heard(messages []transport.Message, out []transport.Frame) []transport.Message {
	if r == nil {
		return messages
	}
	ready := map[mcp.Key]bool{}
	for _, f := range out {
		for _, m := range timeline.MessagesOf(f) {
			if m.Kind() == transport.Response {
				ready[mcp.KeyOf(m.ID)] = true
			}
		}
	}
	for i, m := range messages {
		if r.loop.Full() {
			return messages[:i]
		}
		switch id := mcp.KeyOf(m.ID); m.Kind() {
		case transport.Request:
			r.loop.Ask(id, m.Method, ready[id])
		case transport.Response:
			r.loop.End(id)
		case transport.Notification:
			r.loop.Notify()
		}
	}
	return messages
}

// offered takes an own frame that is in the writer's hand.
func (r *modelReader) offered(frame transport.Frame) {
	if r == nil {
		return
	}
	for _, m := range timeline.MessagesOf(frame) {
		if m.Kind() == transport.Request {
			r.loop.Call(mcp.KeyOf(m.ID), m.Method)
		}
	}
}

// wrote takes an own frame that has left the writer's hand.
func (r *modelReader) wrote(frame transport.Frame) {
	if r == nil {
		return
	}
	for _, m := range timeline.MessagesOf(frame) {
		if m.Kind() == transport.Response {
			r.loop.Answer(mcp.KeyOf(m.ID))
		}
		if m.Method == mcp.NotificationCancelled {
			r.loop.End(mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID)))
		}
	}
	wake(r.resume)
}
