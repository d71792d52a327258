package hang

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// closer is a goroutine in the Close of an end.
type closer struct {
	goroutine int
	dir       transport.Direction // in which the closing end sends
	function  string              // such as mcp.(*ClientSession).Close
	caller    string              // function and file:line that called it, or ""
	at        stacks.Place
	since     int // the step since which the goroutine stands in the function
}

// closerIn finds the outermost Close of an end that a goroutine is in. A function is the
// Close of an end if its name has the role of the end.
func closerIn(goroutine stacks.Goroutine) (closer, bool) {
	calls := goroutine.Calls()
	for i, call := range calls {
		function := path.Base(call.Function)
		dir := closedEnd(function)
		if !stacks.IsClose(function) || dir == transport.NoDirection {
			continue
		}
		c := closer{goroutine: goroutine.ID, dir: dir, function: function, at: goroutine.Place()}
		if i > 0 {
			c.caller = path.Base(calls[i-1].Function) + " " + calls[i-1].Line
		}
		return c, true
	}
	return closer{}, false
}

// closedEnd returns the sending direction of the end that a function closes, by its name, as
// in mcp.(*ClientSession).Close; NoDirection if the name has neither role or both.
func closedEnd(function string) transport.Direction {
	name := strings.ToLower(function)
	switch client, server := strings.Contains(name, "client"), strings.Contains(name, "server"); {
	case client && !server:
		return transport.ClientToServer
	case server && !client:
		return transport.ServerToClient
	}
	return transport.NoDirection
}

// closersIn finds the closing goroutines of a dump, and remembers since which step each
// stands there.
func (t *Tracer) closersIn(all stacks.Dump, step int) (list []closer) {
	still := map[int]int{}
	for _, g := range t.Own(all) {
		c, ok := closerIn(g)
		if !ok {
			continue
		}
		c.since = step
		if since := t.closers[g.ID]; since > 0 {
			c.since = since
		}
		still[g.ID] = c.since
		list = append(list, c)
	}
	t.closers = still
	slices.SortFunc(list, func(a, b closer) int { return a.since - b.since })
	return list
}

// closing returns the goroutine that has been closing the end for longest that sends in a
// direction, or nil.
func (d *diagnosis) closing(dir transport.Direction) *closer {
	for i := range d.closers {
		if d.closers[i].dir == dir {
			return &d.closers[i]
		}
	}
	return nil
}

// String says since when the end is closing and by which code.
func (c *closer) String() string {
	text := fmt.Sprintf("has been closing since step %d, in %s", c.since, c.function)
	if c.caller != "" {
		text += ", called by " + c.caller
	}
	return text
}

// closeWhy says which calls are open at the closing end that sends in a direction. Close may
// wait for calls and handlers before it closes the Conn, unseen by the gate.
func (d *diagnosis) closeWhy(dir transport.Direction) string {
	if dir == transport.NoDirection {
		return "it closes an end, which may wait for what is open there"
	}
	var waits, owes, cancelled []string
	for _, c := range d.Gate.Names.Calls {
		worker := d.all.Place(d.worker(c)).String()
		switch f := c.Request; {
		case f.Dir == dir && f.Taken > 0 && c.Open() && !c.Cancelled && !c.Listen:
			waits = append(waits, "the response to "+c.Name)
		case f.Dir == dir && f.Taken > 0 && c.Open() && !c.Listen:
			cancelled = append(cancelled, c.Name)
		case f.Dir == dir.Reverse() && f.Given > 0 && c.Response == nil && worker != "":
			owes = append(owes, fmt.Sprintf("the response to %s, whose handler is blocked at %s", c.Name, worker))
		case f.Dir == dir.Reverse() && c.Owed() && !c.Listen:
			owes = append(owes, "the response to "+c.Name)
		}
	}
	switch {
	case len(waits)+len(owes) == 0 && len(cancelled) > 0:
		return "no request is open there but what was cancelled, " + strings.Join(cancelled, ", ") + ", and no response has come"
	case len(waits)+len(owes) == 0:
		if h, ok := d.handlerAt(dir); ok {
			return "it waits for a handler that has not returned: " + h.Place.At
		}
		return "no request is open there: it waits for other code, such as a handler that has not returned"
	case len(owes) == 0:
		return "its end waits for " + strings.Join(waits, ", ")
	case len(waits) == 0:
		return "its end owes " + strings.Join(owes, ", ")
	}
	return "its end waits for " + strings.Join(waits, ", ") + ", and owes " + strings.Join(owes, ", ")
}

// handlerAt finds a handler of the end that sends in a direction, which has not returned.
func (d *diagnosis) handlerAt(dir transport.Direction) (stacks.Handler, bool) {
	for _, h := range d.handlers() {
		if f := d.Tracer.handlers[h.Goroutine]; f == nil && dispatcher(d.all.Find(h.Goroutine)) == dir || f != nil && f.Dir == dir.Reverse() {
			return h, true
		}
	}
	return stacks.Handler{}, false
}

// awaitedBy returns the first open call of a closing end, which Close waits for, or nil.
func (d *diagnosis) awaitedBy(closing *closer) *gate.Call {
	for _, c := range d.Gate.Names.Calls {
		if c.Request.Dir == closing.dir && c.Request.Taken > 0 && c.Open() && !c.Cancelled && !c.Listen {
			return c
		}
	}
	return nil
}

// listenAt returns a listen whose handler stands at the end that sends in a direction, or nil.
func (d *diagnosis) listenAt(dir transport.Direction) *gate.Call {
	for _, c := range d.Gate.Names.Calls {
		if c.Listen && c.Request.Dir == dir.Reverse() && c.Request.Given > 0 && c.Response == nil && d.worker(c) != 0 {
			return c
		}
	}
	return nil
}

// closes explains an operation that stands in a Close.
func (d *diagnosis) closes(op *Operation) (w Wait, ok bool) {
	g := d.all.Find(op.Goroutine)
	if c, is := closerIn(g); is {
		return Wait{
			Who: "operation " + op.Name, WaitsFor: c.function + " to return", Why: d.closeWhy(c.dir), BlockedAt: c.at.String(),
		}, true
	}
	at := d.all.Place(op.Goroutine)
	return Wait{
		Who: "operation " + op.Name, WaitsFor: at.Entry + " to return", Why: d.closeWhy(closedEnd(at.Entry)), BlockedAt: at.String(),
	}, stacks.IsClose(at.Entry)
}

// closeWaits explains the goroutines in a Close that are neither an operation nor a handler,
// such as a keepalive.
func (d *diagnosis) closeWaits() (waits []Wait) {
	for _, c := range d.closers {
		g := d.all.Find(c.goroutine)
		if _, handles := g.Handler(); handles || d.Tracer.operates(c.goroutine) {
			continue
		}
		who := fmt.Sprintf("the %s's Close", c.dir.Sender())
		why := fmt.Sprintf("closing since step %d; %s", c.since, d.closeWhy(c.dir))
		if c.caller != "" {
			why = fmt.Sprintf("called by %s; %s", c.caller, why)
		}
		waits = append(waits, Wait{Who: who, WaitsFor: c.function + " to return", Why: why, BlockedAt: c.at.String()})
	}
	return waits
}
