package closed

import (
	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/transport"
)

// closedRun is a closed replay: two ends and the two lanes between.
type closedRun struct {
	recording *Recording
	capacity  Capacity
	ends      [3]*end            // by the direction each sends in; 0 unused
	lanes     [3]*transport.Lane // by direction; 0 unused
	trail     trail
	watch     func(transport.StepKind, transport.Direction, int) // sees every step; may be nil
}

var directions = [...]transport.Direction{transport.ClientToServer, transport.ServerToClient}

// scripts are the halves of both ends, by the direction of sending. A run does not change
// scripts.
type scripts [3]*script

func scriptsOf(recording *Recording, setup Setup, flag *interrupt.Flag) scripts {
	var both scripts
	for _, dir := range directions {
		both[dir] = newScript(recording, dir, setup.model(dir), flag)
	}
	return both
}

// play plays the scripts until nothing moves, or the flag is raised.
func play(recording *Recording, both scripts, capacity Capacity, flag *interrupt.Flag) *closedRun {
	p := newRun(recording, both, capacity)
	for !flag.Raised() && p.round() {
	}
	return p
}

func newRun(recording *Recording, both scripts, capacity Capacity) *closedRun {
	p := &closedRun{recording: recording, capacity: capacity}
	for _, dir := range directions {
		p.ends[dir] = &end{script: both[dir]}
		p.lanes[dir] = transport.NewLane(dir, int(capacity.of(dir)))
	}
	return p
}

// round lets both ends begin every possible step, and then both lanes, and reports whether
// anything moved.
func (p *closedRun) round() bool {
	moved := false
	for _, dir := range directions {
		e := p.ends[dir]
		if e.offers() {
			// Lanes count frames; bytes do not matter here.
			p.lanes[dir].Offer(transport.Frame{})
			e.offered++
			moved = true
			if p.watch != nil {
				p.watch(transport.Offer, dir, int(e.offered))
			}
		}
		if e.wants() {
			p.lanes[dir.Reverse()].Want()
			e.wanted++
			moved = true
		}
	}
	for _, dir := range directions {
		for s, ok := p.lanes[dir].Next(); ok; s, ok = p.lanes[dir].Next() {
			moved = true
			switch s.Kind {
			case transport.Ack:
				p.ends[s.Dir].acked++
			case transport.Give:
				p.ends[s.Dir.Reverse()].given++
				p.trail.last[p.trail.n%trailLen] = p.recording.nth(s.Dir, s.N)
				p.trail.n++
			}
			if p.watch != nil {
				p.watch(s.Kind, s.Dir, s.N)
			}
		}
	}
	return moved
}

// done reports whether every frame was taken and every awaited frame was read.
func (p *closedRun) done() bool {
	c, s := p.ends[transport.ClientToServer], p.ends[transport.ServerToClient]
	return c.sent() && s.sent() && c.read() && s.read()
}

// trailLen is how many delivered frames a report shows before the hang.
const trailLen = 12

// trail remembers the last frames that were read.
type trail struct {
	last [trailLen]int32 // a ring of their indices
	n    int             // number of frames read
}

// end is the state machine of an end: offers and wants say which step is possible, and the
// owner counts the steps. An end has at most one frame in hand and at most one read open.
type end struct {
	*script
	offered int32 // own frames that were offered
	acked   int32 // own frames that were taken
	wanted  int32 // reads that were begun
	given   int32 // frames that were read
}

// offers reports whether the next own frame can be offered.
func (e *end) offers() bool {
	return e.offered == e.acked && int(e.offered) < len(e.need) && e.need[e.offered] <= e.given
}

// wants reports whether the next read can begin.
func (e *end) wants() bool {
	return e.wanted == e.given && int(e.given) < len(e.hold)-1 && e.hold[e.given] <= e.acked
}

// reading reports whether a read is open.
func (e *end) reading() bool { return e.wanted > e.given }

// sending reports whether a frame is in the writer's hand.
func (e *end) sending() bool { return e.offered > e.acked }

// read reports whether every awaited frame was read, and the last one holds no awaited
// message that was left.
func (e *end) read() bool {
	return int(e.given+e.mayStayUnread) >= len(e.hold)-1 && !(e.stopped() != nil && e.stopped().inside)
}

// sent reports whether every own frame was taken.
func (e *end) sent() bool { return int(e.acked) == len(e.need) }

// stopped returns the place where the receive loop is stuck, or nil.
func (e *end) stopped() *stop {
	for i := range e.stops {
		s, sent := &e.stops[i], e.acked
		if s.call >= 0 {
			sent = e.offered // a call in the writer's hand is enough: its answer will not be read
		}
		if s.readBefore == e.given && s.releasedBy > e.acked && s.sentBefore <= sent {
			return s
		}
	}
	return nil
}

// Half is one end of a recording under a model, as a machine for programs with a transport
// of their own. It says when the next frame may be offered and when the next read may begin;
// the program reports the results. A Half counts frames, from 1 in each direction, and does
// not know their bytes. It is not safe for concurrent use.
type Half struct {
	end
	recording *Recording
}

// Half returns the half of the end that sends in direction own, at its start.
func (r *Recording) Half(own transport.Direction, model Model) *Half {
	return &Half{end{script: newScript(r, own, model, nil)}, r}
}

// Rewound returns a copy of the half at its start. The two are independent.
func (h *Half) Rewound() *Half { return &Half{end{script: h.script}, h.recording} }

// Offer begins the next own frame and returns its number; 0 if the frame must wait.
func (h *Half) Offer() int {
	if !h.offers() {
		return 0
	}
	h.offered++
	return int(h.offered)
}

// Acked reports to the half that the offered frame was taken.
func (h *Half) Acked() { h.acked++ }

// Want begins a read; false if the read must wait.
func (h *Half) Want() bool {
	if !h.wants() {
		return false
	}
	h.wanted++
	return true
}

// Given reports to the half that the open read got its frame, and returns the number of
// frames read.
func (h *Half) Given() int {
	h.given++
	return int(h.given)
}

// Sent reports whether every own frame was taken.
func (h *Half) Sent() bool { return h.sent() }

// Read reports whether every awaited frame was read, and the last one holds no awaited
// message that was left.
func (h *Half) Read() bool { return h.read() }

// Stop is the place where a receive loop is stuck. A notification queue holds a notification for which
// the queue has no room while a call of its end is in flight. A blocking end works at a frame
// and waits for another behind.
type Stop struct {
	Inside bool // the awaited response is in the same frame, behind the notification
	Never  bool // the recording has no end of the call in flight, or of the work
	Works  bool // blocking
	Held   int  // the frame in hand
	Call   int  // the own frame with the call in flight; 0: none

	Kind transport.MessageKind // of the message in that frame at which the loop is
}

// Stopped returns the place where the receive loop is stuck, or nil.
func (h *Half) Stopped() *Stop {
	s := h.stopped()
	if s == nil {
		return nil
	}
	stop := &Stop{Inside: s.inside, Never: s.releasedBy == forever && !s.answered, Works: h.model.kind == blockingHandlers, Held: int(s.readBefore), Kind: h.recording.messages[s.held].kind}
	if s.call >= 0 {
		stop.Call = int(h.recording.frameOf(s.call).n)
	}
	return stop
}
