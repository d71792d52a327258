package standin

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// NewDriver returns a Driver of the client's half of a session.
func NewDriver(events []store.Event, rules match.Rules) *Driver {
	d := &Driver{rules: rules, requests: map[mcp.Key][]*request{}, expected: map[match.Key][]*serverMsg{}, streams: map[uint64]*clientFrame{}}
	d.variables = match.NewVariables(func(yield func(int, transport.Frame) bool) {
		for _, l := range d.clientFrames {
			if !yield(l.before, l.frame) {
				return
			}
		}
	})
	c := driverLoader{Driver: d, open: timeline.NewIndex[mcp.Key, *request](timeline.All), asked: timeline.NewIndex[mcp.Key, *serverMsg](timeline.All),
		exchanges: exchangesOf(events), on: map[uint64][]*request{}}
	for _, e := range events {
		c.clientEnded = c.clientEnded || e.Kind == store.EOF && e.Dir == transport.ClientToServer
		if e.Kind != store.Frame || c.exchanges.isRawRequest(e.Stream) || e.Dir == transport.ClientToServer && c.exchanges.isUnheard(e.Stream) {
			continue
		}
		switch e.Dir {
		case transport.ClientToServer:
			c.addClientFrame(e)
		case transport.ServerToClient:
			c.addServerFrame(e)
		}
		c.at = e.At
	}
	c.assignOwners()
	c.noteHangUps()
	return d
}

// driverLoader reads a recording into a Driver.
type driverLoader struct {
	*Driver
	open  timeline.Index[mcp.Key, *request]
	asked timeline.Index[mcp.Key, *serverMsg]

	at          time.Duration // of the frame before
	clientEnded bool          // the client has ended its side
	exchanges   *exchanges
	on          map[uint64][]*request // the requests of an HTTP exchange
}

// addClientFrame adds a frame of the recorded client.
func (d *driverLoader) addClientFrame(e store.Event) {
	if isBlank(e) {
		return
	}
	l := &clientFrame{index: len(d.clientFrames), seq: e.Seq, frame: onOneLine(e.AsFrame()), before: len(d.serverMsgs), gap: e.At - d.at}
	d.clientFrames = append(d.clientFrames, l)
	messages, _ := l.frame.Messages()
	for i, m := range messages {
		at := within(e.Payload, i)
		switch m.Kind() {
		case transport.Request:
			r := &request{line: l, packed: transport.Pack(m.Raw)}
			l.requests = append(l.requests, r)
			id := mcp.KeyOf(m.ID)
			d.requests[id] = append(d.requests[id], r)
			d.open.Ask(transport.ClientToServer, e.Stream, id, mcp.KeyOf(m.ProgressToken()), r)
			if e.Stream != 0 {
				d.on[e.Stream] = append(d.on[e.Stream], r)
			}
			if d.exchanges.isRefused(e.Stream) {
				d.open.Refuse(e.Stream)
			}
		case transport.Response:
			if t, ok := d.asked.Answer(transport.ServerToClient, 0, mcp.KeyOf(m.ID)); ok {
				l.belongTo(t, edit{path: below(at, idPath)})
			}
		case transport.Notification:
			if t, ok := d.asked.Progress(transport.ServerToClient, 0, mcp.KeyOf(m.ProgressToken())); ok && m.Method == mcp.NotificationProgress {
				l.belongTo(t, edit{path: below(at, progressPath), token: true})
			}
			if r, ok := d.open.Cancel(transport.ClientToServer, mcp.KeyOf(timeline.CancelledID(m))); ok {
				r.cancelled = true
			}
		}
	}
}

// belongTo makes the client frame wait for a question of the server.
func (l *clientFrame) belongTo(t *serverMsg, e edit) {
	e.question = t
	l.question = t
	l.edits = append(l.edits, e)
	if !slices.Contains(t.answers, l) {
		t.answers = append(t.answers, l)
	}
}

// addServerFrame adds a frame of the recorded server.
func (d *driverLoader) addServerFrame(e store.Event) {
	messages := timeline.MessagesOf(e.AsFrame())
	if isNoise(e.Payload, messages) {
		d.noises.recorded++
	}
	for _, m := range messages {
		t := &serverMsg{index: len(d.serverMsgs), seq: e.Seq, packed: transport.Pack(m.Raw), gap: e.At - d.at, on: d.exchanges.first(e.Stream)}
		switch m.Kind() {
		case transport.Response:
			r, ok := d.close(e.Stream, m)
			if !ok {
				t.optional = true
				d.expected[match.Key(strayKey(m))] = append(d.expected[match.Key(strayKey(m))], t)
				break
			}
			t.request, r.response = r, t
			t.optional, t.afterEnd = r.cancelled || r.msg().Method == mcp.MethodListen, d.clientEnded
		case transport.Request:
			d.asked.Ask(transport.ServerToClient, 0, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), t)
			fallthrough
		case transport.Notification:
			t.optional, t.owner, t.afterEnd = true, d.owner(e.Stream, m), d.clientEnded
			d.expected[serverMsgKey(m)] = append(d.expected[serverMsgKey(m)], t)
		default:
			continue
		}
		d.serverMsgs = append(d.serverMsgs, t)
	}
}

// close returns the open request that is answered, as playerLoader.close does.
func (d *driverLoader) close(stream uint64, m transport.Message) (*request, bool) {
	on, id := d.exchanges.first(stream), m.ID
	if isNull(id) {
		if i := slices.IndexFunc(d.on[on], func(r *request) bool { return r.response == nil }); i >= 0 {
			id = d.on[on][i].msg().ID
		}
	}
	return d.open.Answer(transport.ClientToServer, on, mcp.KeyOf(id))
}

// turnKey is what a live message of the server must have in common with the
// recorded one that it stands for.
func serverMsgKey(m transport.Message) match.Key {
	if m.Method == mcp.NotificationProgress {
		return match.Key(m.Method + " " + string(mcp.KeyOf(m.ProgressToken())))
	}
	return match.Key(m.Method)
}

// assignOwners finds for what the recorded server said beside its answers the call that
// it belongs to: by the progress token, by the subscription, or because no other
// call was open. It also notes what came directly after an answer, before the
// client said any more. And it counts.
func (d *driverLoader) assignOwners() {
	open := map[*request]bool{}
	said := 0
	var last *request // answered last, and nothing was said since
	for _, t := range d.serverMsgs {
		if !t.afterEnd {
			d.missing++
		}
		for ; said < len(d.clientFrames) && d.clientFrames[said].before <= t.index; said++ {
			last = nil
			for _, r := range d.clientFrames[said].requests {
				if r.response != nil {
					open[r] = true
				}
			}
		}
		if t.request != nil {
			delete(open, t.request)
			last = t.request
			continue
		}
		t.follows = last
		if t.owner == nil && len(open) == 1 {
			for r := range open {
				t.owner = r
			}
		}
	}
}

// owner returns the call that a message besides an answer belongs to: the call that the
// message names, or the call on whose stream it came.
func (d *driverLoader) owner(stream uint64, m transport.Message) *request {
	var named *request
	if m.Method == mcp.NotificationProgress {
		named, _ = d.open.Progress(transport.ClientToServer, d.exchanges.first(stream), mcp.KeyOf(m.ProgressToken()))
	} else if id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
		if list := d.requests[mcp.KeyOf(id)]; len(list) > 0 {
			named = list[len(list)-1]
		}
	}
	if requests := d.on[d.exchanges.first(stream)]; named == nil && len(requests) > 0 {
		return requests[0]
	}
	return named
}

// hangUp is where the recorded client hung up on an HTTP exchange before it had all
// of the response: in revision 2026-07-28 that is how a call is cancelled, and how a
// subscription ends.
type hangUp struct {
	exchange     uint64
	clientFrames int          // said before it
	serverMsgs   int          // heard before it
	on           []*serverMsg // of these, what was heard on the exchange
}

// noteHangUps finds where the client hung up.
func (d *driverLoader) noteHangUps() {
	for _, ex := range d.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number}
		for h.clientFrames < len(d.clientFrames) && d.clientFrames[h.clientFrames].seq < ex.hungUp {
			h.clientFrames++
		}
		for h.serverMsgs < len(d.serverMsgs) && d.serverMsgs[h.serverMsgs].seq < ex.hungUp {
			if t := d.serverMsgs[h.serverMsgs]; t.on == d.exchanges.first(ex.number) {
				h.on = append(h.on, t)
			}
			h.serverMsgs++
		}
		d.hangUps = append(d.hangUps, h)
	}
}
