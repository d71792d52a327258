package replay

import (
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// lookahead is how many recorded messages are compared with a live one to find the
// one that it stands for.
const lookahead = 16

// pick returns the turn that a live request or notification stands for: of those of
// its kind that are left, among the first few, the one that it differs from least.
// Of a loosened driver, which keeps the recorded ids, it is the one with the same id.
func (d *Driver) pick(key Key, m transport.Message) *turn {
	queue := left(d.said[key], func(t *turn) bool { return t.arrived })
	d.said[key] = queue
	if d.loose && m.Kind() == transport.Request {
		for _, t := range queue {
			if !t.arrived && mcp.Same(t.msg().ID, m.ID) {
				return t
			}
		}
	}
	t, equal := d.nearest(queue[:min(len(queue), lookahead)], m)
	if equal {
		t.overtake(queue)
	}
	return t
}

// overtake notes which of its kind and call the turn came before, though it was
// recorded after them.
func (t *turn) overtake(queue []*turn) {
	if t.owner == nil || t.msg().Kind() != transport.Notification {
		return
	}
	for _, other := range queue {
		if other == t {
			return
		}
		if !other.arrived && other.overtaken == nil && other.owner == t.owner && other.on == t.on {
			other.overtaken = t
		}
	}
}

// left returns a queue without those of its first few that have arrived: one that does
// not come stays in front, and must not take the places of the others.
func left[E any](queue []E, arrived func(E) bool) []E {
	at := min(len(queue), lookahead)
	for i := at - 1; i >= 0; i-- {
		if !arrived(queue[i]) {
			at--
			queue[at] = queue[i]
		}
	}
	return queue[at:]
}

// notified returns the cue that a live notification stands for: of those of its method
// that are left, among the first few, the one that it equals; or else the first that
// was not passed over, or the first.
func (p *Player) notified(m transport.Message) (first *cue) {
	queue := left(p.others[m.Method], func(c *cue) bool { return c.arrived })
	p.others[m.Method] = queue
	for i, c := range queue {
		switch {
		case c.arrived || c.cancels != nil && (c.cancels.live == nil || !mcp.Same(c.cancels.live.ID, cancels(m))):
		case i < lookahead && p.isSaid(c, m):
			return c
		case first == nil || first.passed && !c.passed:
			first = c
		}
		if i >= lookahead && first != nil && !first.passed {
			break
		}
	}
	return first
}

// isSaid reports whether a live notification says what the recorded one did.
func (p *Player) isSaid(c *cue, m transport.Message) bool {
	return mcp.Same(c.msg().ProgressToken(), m.ProgressToken()) && p.rules.compare(c.msg(), m, p.variables).count == 0
}

// nearest returns the turn that a live message differs from least, and whether it
// does not differ at all.
func (d *Driver) nearest(queue []*turn, m transport.Message) (nearest *turn, equal bool) {
	least, horizon := 0, d.horizon()
	for _, t := range queue {
		if t.arrived {
			continue
		}
		n := d.rules.compare(t.msg(), m, d.variables).count
		if n == 0 {
			return t, true
		}
		if m.Kind() == transport.Notification && t.index >= horizon {
			continue
		}
		if nearest == nil || n < least {
			nearest, least = t, n
		}
	}
	return nearest, false
}

// horizon bounds the turns that may come before the client says any more: what was
// recorded later is not what a notification stands for, unless it equals that.
func (d *Driver) horizon() int {
	if d.loose { // which begins with next, answers and all
		return len(d.turns)
	}
	l := d.nextLine()
	if l == nil {
		return len(d.turns)
	}
	return max(l.before, 1+l.lastQueued())
}
