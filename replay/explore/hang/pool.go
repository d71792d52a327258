package hang

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// pool is the handlers of an end that seem to be all that it runs at once: several stand at one
// place, and a later request of the same method was read for which no handler has begun.
type pool struct {
	calls []*gate.Call // of the handlers, by the step at which each was read
	place stacks.Place // of the handlers
	by    string       // the library's function that called them
	next  *gate.Call   // no handler has begun for it
}

// usedUpPool finds a pool in the stacks of a traced run, or nil. An end that closes may refuse
// to begin, and has no pool.
func usedUpPool(d *diagnosis) *pool {
	if d.Tracer == nil || len(d.all) == 0 {
		return nil
	}
	for _, next := range d.Gate.Names.Calls {
		if !next.Owed() || next.Listen || d.Tracer.began[next.Request] > 0 || d.worker(next) != 0 || d.closing(next.Request.Dir.Reverse()) != nil {
			continue
		}
		if p := poolBefore(d, next); p != nil {
			return p
		}
	}
	return nil
}

// poolBefore finds handlers of earlier requests like next that stand at one place.
func poolBefore(d *diagnosis, next *gate.Call) *pool {
	const fewest = 2 // a single handler at a time is a queue
	handlers := d.Tracer.handlersIn(d.all)
	var p pool
	for _, c := range d.Gate.Names.Calls {
		if !c.Owed() || c.Request.Dir != next.Request.Dir || c.Request.Given >= next.Request.Given || c.Method() != next.Method() {
			continue
		}
		i := slices.IndexFunc(handlers, func(h stacks.Handler) bool { return d.Tracer.handlers[h.Goroutine] == c.Request })
		if i < 0 {
			continue
		}
		h := handlers[i]
		if len(p.calls) > 0 && h.Place.String() != p.place.String() {
			return nil
		}
		p.calls = append(p.calls, c)
		p.place, p.by = h.Place, h.By
	}
	if len(p.calls) < fewest {
		return nil
	}
	p.next = next
	return &p
}

// String says which handlers are taken, and which request waits.
func (p *pool) String() string {
	f := p.next.Request
	return fmt.Sprintf("the %s read %s at step %d, and no handler has begun for it: the %d that have, under %s, all stand at %v",
		f.Dir.Receiver(), p.next.Name, f.Given, len(p.calls), p.by, p.place)
}
