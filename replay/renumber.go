package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Renumber returns events that were said in another session and are to follow
// recorded in this one, with ids and progress tokens that are new to it: a session
// may use the id of a request once. What follows from a request keeps its name:
// responses, progress, cancellations, subscription ids. Nothing else is changed.
func Renumber(recorded, added []store.Event) []store.Event {
	r := renumbering{ids: newNumbers(), tokens: newNumbers()}
	r.note(recorded, r.ids.old, r.tokens.old)
	r.note(recorded, r.ids.taken, r.tokens.taken)
	r.note(added, r.ids.taken, r.tokens.taken)
	added = slices.Clone(added)
	for i, e := range added {
		if e.Kind == store.Frame {
			added[i].Payload = r.frame(e)
		}
	}
	return added
}

// renumbering is the state while the added frames are read.
type renumbering struct{ ids, tokens numbers }

// numbers are ids, or progress tokens, each of the requests of one direction.
type numbers struct {
	old   map[callKey]bool            // of the session
	taken map[callKey]bool            // not free for a new one
	fresh map[callKey]json.RawMessage // new ones, by what they replace
	most  map[transport.Direction]int64
}

func newNumbers() numbers {
	return numbers{
		old: map[callKey]bool{}, taken: map[callKey]bool{},
		fresh: map[callKey]json.RawMessage{}, most: map[transport.Direction]int64{},
	}
}

// note gathers what the requests of some events use.
func (r *renumbering) note(events []store.Event, ids, tokens map[callKey]bool) {
	for _, e := range events {
		if e.Kind != store.Frame {
			continue
		}
		for _, m := range messagesOf(e.AsFrame()) {
			if m.Kind() != transport.Request {
				continue
			}
			ids[keyOf(e.Dir, m.ID)] = true
			if token := m.ProgressToken(); token != nil {
				tokens[keyOf(e.Dir, token)] = true
			}
		}
	}
}

// frame returns a frame with the new numbers in it.
func (r *renumbering) frame(e store.Event) []byte {
	payload := e.Payload
	put := func(value json.RawMessage, path ...string) {
		if value != nil {
			payload, _ = splice(payload, value, path...)
		}
	}
	for i, m := range messagesOf(e.AsFrame()) {
		at := within(e.Payload, i)
		r.message(e.Dir, m, func(value json.RawMessage, path ...string) { put(value, slices.Concat(at, path)...) })
	}
	return payload
}

// message puts the new numbers into one message.
func (r *renumbering) message(dir transport.Direction, m transport.Message, put func(json.RawMessage, ...string)) {
	switch {
	case m.Kind() == transport.Request:
		put(r.ids.renew(dir, m.ID), "id")
		put(r.tokens.renew(dir, m.ProgressToken()), "params", "_meta", "progressToken")
	case m.Kind() == transport.Response:
		put(r.ids.of(dir.Reverse(), m.ID), "id")
	case m.Method == methodProgress:
		put(r.tokens.of(dir.Reverse(), m.ProgressToken()), "params", "progressToken")
	case m.Method == methodCancelled:
		put(r.ids.of(dir, cancels(m)), "params", "requestId")
	}
	for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
		put(r.ids.of(transport.ClientToServer, transport.Member(raw, "_meta", subscriptionID)), part, "_meta", subscriptionID)
	}
}

// of returns what stands for a number now, nil if it stands for itself.
func (n numbers) of(dir transport.Direction, raw []byte) json.RawMessage {
	return n.fresh[keyOf(dir, raw)]
}

// renew returns a new number for one that the session has already, of the same
// JSON type; nil for another.
func (n numbers) renew(dir transport.Direction, raw []byte) json.RawMessage {
	key := keyOf(dir, raw)
	if raw == nil || !n.old[key] {
		return nil
	}
	fresh := n.next(dir, raw)
	n.fresh[key], n.taken[keyOf(dir, fresh)] = fresh, true
	return fresh
}

// next returns a number that nobody has.
func (n numbers) next(dir transport.Direction, raw []byte) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		for i := 2; ; i++ {
			if fresh, _ := json.Marshal(fmt.Sprintf("%s-%d", text, i)); !n.taken[keyOf(dir, fresh)] {
				return fresh
			}
		}
	}
	if n.most[dir] == 0 {
		for k := range n.taken {
			if v, err := strconv.ParseInt(string(k.id), 10, 64); err == nil && k.dir == dir && v < 1<<53 {
				n.most[dir] = max(n.most[dir], v)
			}
		}
	}
	n.most[dir]++
	return strconv.AppendInt(nil, n.most[dir], 10)
}
