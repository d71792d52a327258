package explore

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// A library's Close may wait for calls and handlers before it closes the Conn, and then
// the gate sees nothing of it. The stacks of a traced run show it.

// closes reports whether a goroutine stands in a library's Close that the caller's code
// called.
func (p place) closes() bool {
	for _, name := range []string{".Close", ".Shutdown", ".Stop"} {
		if strings.HasSuffix(p.entry, name) {
			return true
		}
	}
	return false
}

// endOf returns the direction in which the end writes whose type a function's name names,
// such as mcp.(*ClientSession).Close; none where it names neither or both.
func endOf(function string) transport.Direction {
	name := strings.ToLower(function)
	switch client, server := strings.Contains(name, "client"), strings.Contains(name, "server"); {
	case client && !server:
		return transport.ClientToServer
	case server && !client:
		return transport.ServerToClient
	}
	return transport.NoDirection
}

// closeWhy says what is open at the end that a function closes: what it may wait for.
func (g *gate) closeWhy(function string) string {
	dir := endOf(function)
	var waits, owes []string
	for _, c := range g.names.calls {
		switch {
		case c.cancelled || c.listen || c.request.taken == 0:
		case c.request.dir == dir && (c.answer == nil || c.answer.given == 0):
			waits = append(waits, "the response to "+c.name)
		case c.request.dir == dir.Reverse() && c.owed():
			owes = append(owes, "the response to "+c.name)
		}
	}
	switch {
	case dir == transport.NoDirection:
		return "it closes an end, which may wait for what is open there"
	case len(waits)+len(owes) == 0:
		return "no request is open at its end: it waits for code there, such as a handler that has not returned"
	case len(owes) == 0:
		return "its end waits for " + strings.Join(waits, ", ")
	case len(waits) == 0:
		return "its end owes " + strings.Join(owes, ", ")
	}
	return "its end waits for " + strings.Join(waits, ", ") + ", and owes " + strings.Join(owes, ", ")
}

// closeLooks is how many steps of a traced run are looked at for a Close: each look stops
// the world.
const closeLooks = 1000

// seeCloses notes, when a traced run is at rest, which of its goroutines stand in a Close.
func (r *Run) seeCloses(all []string) {
	still := map[string]int{}
	for _, s := range r.engine.own(all) {
		if !readPlace(s).closes() {
			continue
		}
		id := goroutineOf(s)
		if still[id] = len(r.steps); r.closers[id] > 0 {
			still[id] = r.closers[id]
		}
	}
	r.closers = still
}

// goroutineOf is the number that begins a stack.
func goroutineOf(stack string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
	return id
}

// closing notes for a hang which end is closing, since which step, and which code closes it.
func (r *Run) closing() {
	if len(r.gate.all) == 0 {
		return
	}
	r.seeCloses(r.gate.all)
	for _, s := range r.engine.own(r.gate.all) {
		p, id := readPlace(s), goroutineOf(s)
		dir := endOf(p.entry)
		if since := r.closers[id]; since > 0 && dir != transport.NoDirection {
			r.note(fmt.Sprintf("the %s's end is closing since step %d, in %s, called by %s", dir.Sender(), min(since, r.still), p.entry, strings.Join(p.from, ", by ")))
		}
	}
}
