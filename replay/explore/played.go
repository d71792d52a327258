package explore

import (
	"errors"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// calls are the operations of a recorded client. nil has none.
type calls struct {
	run   *Run
	byID  map[mcp.Key][]*playedCall // in recorded order
	whole *Operation                // the rest of the half
}

// playedCall is a recorded request in one run.
type playedCall struct {
	op    *Operation
	waits bool // for a response, as the recorded one did
	owed  bool // one, by a live server, though the recorded one gave none
	begun bool
	done  bool
}

// expectCalls adds an operation for each request of the recorded client, and one
// for what else it says.
func (r *Run) expectCalls() *calls {
	list, err := r.plan.ready.calls()
	if err != nil {
		panic("explore: Plan.Session: " + err.Error())
	}
	c := &calls{run: r, byID: map[mcp.Key][]*playedCall{}}
	for _, call := range list {
		if call.dir == transport.ClientToServer {
			p := &playedCall{op: r.expect(call.name)}
			p.waits = call.response > 0 && !call.cancelled
			p.owed = call.response == 0 && !call.cancelled && !call.listen && call.id != "null"
			c.byID[call.id] = append(c.byID[call.id], p)
		}
	}
	c.whole = r.expect("the client's half")
	c.whole.behind = true
	return c
}

// say begins the calls of a frame, and returns the operation that it is of.
func (c *calls) say(f transport.Frame) (op string) {
	c.each(f, transport.Request, func(p *playedCall) bool { return !p.begun }, func(p *playedCall) {
		p.begun, op = true, p.op.name
		c.run.begin(p.op)
	})
	return op
}

// wrote ends the calls of a frame that wait for no response. A recording that ends
// with a request open, as it was cut where it hung, excuses no live server: that owes
// a response to each request.
func (c *calls) wrote(f transport.Frame) {
	c.each(f, transport.Request, func(p *playedCall) bool {
		return p.begun && !p.done && !p.waits && !(p.owed && c.run.live(transport.ServerToClient))
	}, c.finish)
}

// heard ends the calls that a frame answers.
func (c *calls) heard(f transport.Frame) {
	c.each(f, transport.Response, func(p *playedCall) bool { return p.begun && !p.done }, c.finish)
}

// left ends the calls that are open when the live server has closed, and that the
// recorded client went on without: they have failed, and nobody waits any more.
func (c *calls) left() {
	if c == nil {
		return
	}
	for _, list := range c.byID {
		for _, p := range list {
			if p.owed && !p.done {
				p.op.err = errUnanswered
				c.finish(p)
			}
		}
	}
}

var errUnanswered = errors.New("the call was not answered: the server has closed")

func (c *calls) finish(p *playedCall) {
	p.done = true
	c.run.settle(p.op)
}

// each calls do for the first fitting call of each message of a kind.
func (c *calls) each(f transport.Frame, kind transport.MessageKind, fits func(*playedCall) bool, do func(*playedCall)) {
	if c == nil {
		return
	}
	for _, m := range messages(f) {
		if m.Kind() != kind {
			continue
		}
		list := c.byID[mcp.KeyOf(m.ID)]
		if kind == transport.Response { // it is of the latest that is open
			list = slices.Clone(list)
			slices.Reverse(list)
		}
		if i := slices.IndexFunc(list, fits); i >= 0 {
			do(list[i])
		}
	}
}

// said ends the operation of the whole half.
func (c *calls) said() {
	if c != nil {
		c.run.settle(c.whole)
	}
}
