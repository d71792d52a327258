package standin

import (
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// driverMatcher finds the recorded message that a live message of the server stands for,
// unless it is the response to a request.
type driverMatcher struct {
	rules     match.Rules
	variables *match.Variables
	order     *driverOrder
	expected  map[match.Key][]*serverMsg // each queue in recorded order
	preferID  bool                       // takes the request with the live id
}

// serverMsgKey is the key of the messages that a live message of the server may stand for.
func serverMsgKey(m transport.Message) match.Key {
	if m.Method == mcp.NotificationProgress {
		return match.Key(m.Method + " " + string(mcp.KeyOf(m.ProgressToken())))
	}
	return match.Key(m.Method)
}

// expect adds a recorded message.
func (d *driverMatcher) expect(key match.Key, s *serverMsg) {
	d.expected[key] = append(d.expected[key], s)
}

// pick returns the recorded message that a live one stands for: of those with the key that
// are left, among the first few, the message that it differs from least. A loosened driver,
// which keeps the recorded ids, takes the request with the same id.
func (d *driverMatcher) pick(key match.Key, m transport.Message) *serverMsg {
	queue := left(d.expected[key], func(s *serverMsg) bool { return s.arrived })
	d.expected[key] = queue
	if d.preferID && m.Kind() == transport.Request {
		for _, s := range queue {
			if !s.arrived && mcp.Same(s.msg().ID, m.ID) {
				return s
			}
		}
	}
	picked, equal := d.nearest(queue[:min(len(queue), lookahead)], m)
	if !equal || picked.owner == nil || picked.msg().Kind() != transport.Notification {
		return picked
	}
	for _, earlier := range queue[:slices.Index(queue, picked)] { // of its kind and call
		if !earlier.arrived && earlier.overtaken == nil && earlier.owner == picked.owner && earlier.exchange == picked.exchange {
			earlier.overtaken = picked
		}
	}
	return picked
}

// nearest returns the recorded message that a live one differs from least, and whether the
// two are equal. A notification stands for a message beyond the horizon only if they are.
func (d *driverMatcher) nearest(queue []*serverMsg, m transport.Message) (nearest *serverMsg, equal bool) {
	least, horizon := 0, d.order.horizon()
	for _, s := range queue {
		if s.arrived {
			continue
		}
		n := d.rules.Compare(s.msg(), m, d.variables).Count()
		if n == 0 {
			return s, true
		}
		if m.Kind() == transport.Notification && s.index >= horizon {
			continue
		}
		if nearest == nil || n < least {
			nearest, least = s, n
		}
	}
	return nearest, false
}
