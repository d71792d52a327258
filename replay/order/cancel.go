package order

import "github.com/mcprec/mcprec/transport"

// judgeCancelled is rule P6.
func (c *Checker) judgeCancelled(dir transport.Direction, m *message, known Mark) {
	id := m.cancelled
	if id == nil {
		return // of a task: it names no request
	}
	if dir == transport.ServerToClient && c.stateless() {
		if x := c.end(dir.Reverse()).request(m.cancels); x == nil || x.Method != methodListen {
			c.breaks(lawCancelListen, dir, "a cancellation of id %s, which is no subscription", id)
		}
		return
	}
	x := c.end(dir).request(m.cancels)
	switch {
	case x == nil && c.end(dir).withdrawn[m.cancels]:
	case x == nil && c.end(dir).past.has(m.cancels):
		c.breaks(lawCancelOpen, dir, "a cancellation of the request with the id %s after it had received the response", id)
	case x == nil:
		c.breaks(lawCancelOwn, dir, "a cancellation of id %s, which no request of it had", id)
	case x.Method == methodInitialize && dir == transport.ClientToServer:
		c.breaks(lawInitializeKept, dir, "a cancellation of %v", x)
	case knows(x.answerGiven, known):
		c.breaks(lawCancelOpen, dir, "a cancellation of %v after it had received the response", x)
	}
}
