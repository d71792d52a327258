package explore

import (
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

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
		case transport.Notification:
			h.take()
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

// take hands a notification to the inner queue, which nobody drains during a call.
func (h *habit) take() {
	switch {
	case h.queue < 0 || len(h.flying) == 0:
	case h.queued < h.queue:
		h.queued++
	default:
		h.stuck = true
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
		if m.Kind() == transport.Request && m.Method != methodListen {
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
		if m.Method == methodCancelled {
			h.finish(mcp.KeyOf(transport.Member(m.Params, "requestId")))
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
