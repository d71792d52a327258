package replay

import "github.com/mcprec/mcprec/transport"

// Half is one end of a recording under a model, as a machine for those who play
// it over a transport of their own: it says when the next frame may be offered
// and when the next read may begin, and is told what became of them. It counts
// frames, from 1 in each direction; whose bytes they are its player knows. It is
// not safe for concurrent use.
type Half struct{ end }

// Half returns the half of the end that sends in direction own, at its start.
func (r *Recording) Half(own transport.Direction, m Model) *Half {
	return &Half{end{script: r.script(own, m)}}
}

// Rewound returns the same half at its start; the two have nothing in common
// that changes.
func (h *Half) Rewound() *Half { return &Half{end{script: h.script}} }

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
func (h *Half) Sent() bool { return int(h.acked) == len(h.need) }

// Read reports whether all frames for this end were read, and nothing awaited is
// left behind inside the last one.
func (h *Half) Read() bool { return h.read() }

// Stop is where a receive loop stands with a notification in its hand, for which
// the model's queue has no room while a call of its end is in flight.
type Stop struct {
	Inside bool // the response awaited is in the same frame, behind it
	Never  bool // the recording has nothing that ends the call in flight
}

// Stopped returns where the receive loop stands, or nil.
func (h *Half) Stopped() *Stop {
	s := h.stopped()
	if s == nil {
		return nil
	}
	return &Stop{Inside: s.inside, Never: s.ends == never && !s.answered}
}
