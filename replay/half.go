package replay

import "github.com/mcprec/mcprec/transport"

// Half is one end of a recording under a model, as a machine for those who play
// it over a transport of their own: it says when the next frame may be offered
// and when the next read may begin, and is told what became of them. It counts
// frames, from 1 in each direction; whose bytes they are its player knows. It is
// not safe for concurrent use.
type Half struct {
	end
	recording *Recording
}

// Half returns the half of the end that sends in direction own, at its start.
func (r *Recording) Half(own transport.Direction, m Model) *Half {
	return &Half{end{script: r.script(own, m)}, r}
}

// Rewound returns the same half at its start; the two have nothing in common
// that changes.
func (h *Half) Rewound() *Half { return &Half{end{script: h.script}, h.recording} }

// Offer begins the next own frame and returns its number; 0 when it must wait.
func (h *Half) Offer() int {
	if !h.offers() {
		return 0
	}
	h.offered++
	return int(h.offered)
}

// Acked says that the frame which was offered was taken.
func (h *Half) Acked() { h.acked++ }

// Want begins a read; false when it must wait.
func (h *Half) Want() bool {
	if !h.wants() {
		return false
	}
	h.wanted++
	return true
}

// Given says that the read which was begun got its frame, and returns how many
// frames it has read.
func (h *Half) Given() int {
	h.given++
	return int(h.given)
}

// Sent reports whether all own frames were taken.
func (h *Half) Sent() bool { return h.sent() }

// Read reports whether all frames for this end were read that somebody waits for,
// and nothing awaited is left behind inside the last one.
func (h *Half) Read() bool { return h.read() }

// Stop is where a receive loop stands. An inbox has a notification in its hand, for
// which the queue has no room while a call of its end is in flight. A serial end
// works at what it has read, and waits for what is behind.
type Stop struct {
	Inside bool // the response awaited is in the same frame, behind it
	Never  bool // the recording has nothing that ends the call in flight, or the work
	Works  bool // serial
	Held   int  // the frame in its hand
	Call   int  // the own frame with the call in flight; 0: none
}

// Stopped returns where the receive loop stands, or nil.
func (h *Half) Stopped() *Stop {
	s := h.stopped()
	if s == nil {
		return nil
	}
	stop := &Stop{Inside: s.inside, Never: s.ends == never && !s.answered, Works: h.model.kind == serial, Held: int(s.after)}
	if s.call >= 0 {
		stop.Call = int(h.recording.frameOf(s.call).n)
	}
	return stop
}
