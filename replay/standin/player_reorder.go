package standin

import (
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Loosen lets the player send its server frames in any order that the specification
// allows a server, as soon as their causes have come: Start, Receive and Relent
// return what may be sent now in any order, and Wrote tells what became of it.
// Call it before Start.
//
// What stays in order: a response comes after its request, after the progress and
// the questions of its call and their answers; progress of one token; what names
// one task, one subscription, one elicitation or one subscribed resource; and
// nothing but pings before the handshake is over.
func (p *Player) Loosen() {
	p.loose = true
	last := map[string]*serverFrame{} // by order key
	for _, c := range p.clientMsgs {
		if c.msg().Method == mcp.MethodInitialize && c.answer != nil && p.handshake == nil {
			p.handshake = c
		}
	}
	hello := p.handshake
	for i, r := range p.serverFrames {
		messages := timeline.MessagesOf(r.frame)
		for _, m := range messages {
			for _, key := range p.orderKeys(r, m) {
				if o := last[key]; o != nil {
					r.after = append(r.after, o)
				}
				last[key] = r
			}
		}
		p.bindResponse(r, p.serverFrames[:i], hello == nil)
		if hello != nil && r.index > hello.answer.index && !isPing(messages) {
			r.after = append(r.after, hello.answer)
			// What the recorded server said of its own accord when the client had said that
			// it is ready waits for that.
			ready := p.others[mcp.NotificationInitialized]
			ofItself := slices.ContainsFunc(messages, func(m transport.Message) bool {
				return m.Kind() != transport.Response && m.Method != mcp.NotificationMessage
			})
			if ofItself && len(ready) > 0 && ready[0].index < r.before {
				r.needs = append(r.needs, ready[0])
			}
		}
	}
}

// bindResponse puts a response after what belongs to its call.
func (p *Player) bindResponse(r *serverFrame, earlier []*serverFrame, stateless bool) {
	for _, c := range r.owners {
		if c.answer != r {
			continue
		}
		for _, o := range earlier {
			// A notification that only happened to be said during the call is not bound to it.
			isBound := func(m transport.Message) bool {
				return m.Kind() == transport.Request || m.Method == mcp.NotificationProgress || stateless && m.Method == mcp.NotificationMessage
			}
			if !slices.Contains(o.owners, c) || !slices.ContainsFunc(timeline.MessagesOf(o.frame), isBound) {
				continue
			}
			r.after = append(r.after, o)
			for _, q := range o.requests {
				if q.answer != nil && q.answer.index < r.before {
					r.needs = append(r.needs, q.answer)
				}
			}
		}
	}
}

func isPing(messages []transport.Message) bool {
	return len(messages) == 1 && messages[0].Method == mcp.MethodPing
}

// orderKeys name the things that a message is about, among which order counts. Frames with
// a key in common stay in their order.
func (p *Player) orderKeys(r *serverFrame, m transport.Message) []string {
	var keys []string
	switch {
	case m.Kind() == transport.Request:
		keys = append(keys, "ask "+string(mcp.KeyOf(m.ID)))
	case m.Method == mcp.NotificationCancelled:
		keys = append(keys, "ask "+string(mcp.KeyOf(timeline.CancelledID(m))))
	case m.Method == mcp.NotificationProgress:
		keys = append(keys, "progress "+string(mcp.KeyOf(m.ProgressToken())))
	case m.Method == mcp.NotificationResourceUpdated:
		keys = append(keys, "uri "+timeline.TargetOf(m))
	case m.Kind() == transport.Response:
		for _, c := range r.owners {
			if c.answer == r && (c.msg().Method == mcp.MethodSubscribe || c.msg().Method == mcp.MethodUnsubscribe) {
				keys = append(keys, "uri "+timeline.TargetOf(c.msg()))
			}
		}
	}
	return append(keys, orderKeysWithin(m)...)
}

// orderKeysWithin returns the keys that any message may name in its body.
func orderKeysWithin(m transport.Message) []string {
	var keys []string
	for _, raw := range [][]byte{m.Params, m.Result} {
		for _, s := range match.HandlesIn(raw) {
			if s.Kind == "task" {
				keys = append(keys, "task "+s.Value)
			}
		}
		if id := transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
			keys = append(keys, "subscription "+string(mcp.KeyOf(id)))
		}
		if id := transport.Member(raw, mcp.MemberElicitationID); id != nil {
			keys = append(keys, "elicitation "+string(id))
		}
	}
	return keys
}

// Wrote says that the frame which was returned as number n, counted from 0 over
// all that were, has been taken by the transport, and returns what may be sent
// now. Only a loosened player needs to know.
func (p *Player) Wrote(n int) []transport.Frame {
	if !p.loose {
		return nil
	}
	if r := p.out[n]; r != nil {
		r.written = true
	}
	return p.release()
}

// Place says where in the recorded order the frame that was returned as number n
// stands, -1 for one that was not recorded, and the first place whose frame was
// not taken yet. Only a loosened player knows.
func (p *Player) Place(n int) (place, first int) {
	for p.first < len(p.serverFrames) && p.serverFrames[p.first].written {
		p.first++
	}
	if r := p.out[n]; r != nil {
		return r.index, p.first
	}
	return -1, p.first
}

// withdraw lets the server frames go unsent that the recorded server had sent for a request
// when it was cancelled: of a subscription, or of any request from 2026-07-28 on,
// nothing may be said once that is known.
func (p *Player) withdraw(cancel *clientMsg) {
	c := cancel.cancels
	if !p.loose || c == nil || c.msg().Method != mcp.MethodListen && p.handshake != nil {
		return
	}
	for _, r := range p.serverFrames {
		if !r.sent && r.before <= cancel.index && slices.Contains(r.owners, c) {
			r.sent, r.written = true, true
		}
	}
}

// pick returns the client message that a live request stands for: the first that is left.
// Of calls that are alike and come in any order it is better the one with the same id,
// which a recorded client has kept.
func (p *Player) pick(queue []*clientMsg, m transport.Message) *clientMsg {
	if p.loose {
		for _, c := range queue {
			if !c.arrived && mcp.Same(c.msg().ID, m.ID) {
				return c
			}
		}
	}
	return firstOpen(queue)
}

// mayGoLoose is mayGo without the recorded order. What belongs to a request that
// the live client does not make holds up no answer to another.
func (p *Player) mayGoLoose(r *serverFrame) bool {
	if !r.isOwned() || slices.ContainsFunc(r.needs, func(c *clientMsg) bool { return !c.isSettled() }) {
		return false
	}
	for _, o := range r.after {
		if !o.written && (o.isOwned() || len(r.owners) == 0) {
			return false
		}
	}
	return true
}
