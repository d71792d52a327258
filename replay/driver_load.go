package replay

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// NewDriver returns a Driver of the client's half of a session.
func NewDriver(events []store.Event, rules Rules) *Driver {
	d := &Driver{rules: rules, requests: map[mcp.Key][]*request{}, said: map[Key][]*turn{}, streams: map[uint64]*line{}}
	d.variables = newVariables(func(yield func(int, transport.Frame) bool) {
		for _, l := range d.lines {
			if !yield(l.before, l.frame) {
				return
			}
		}
	})
	c := lining{Driver: d, open: inFlight[*request]{}, asked: inFlight[*turn]{}, byToken: map[mcp.Key]*turn{}, byOwnToken: map[mcp.Key]*request{},
		exchanges: exchangesOf(events), on: map[uint64][]*request{}}
	for _, e := range events {
		c.over = c.over || e.Kind == store.EOF && e.Dir == transport.ClientToServer
		if e.Kind != store.Frame || c.exchanges.isAside(e.Stream) || e.Dir == transport.ClientToServer && c.exchanges.isUnheard(e.Stream) {
			continue
		}
		switch e.Dir {
		case transport.ClientToServer:
			c.say(e)
		case transport.ServerToClient:
			c.hear(e)
		}
		c.at = e.At
	}
	c.belong()
	c.noteHangUps()
	return d
}

// lining is what NewDriver must know of the recording while it reads it.
type lining struct {
	*Driver
	open    inFlight[*request]
	asked   inFlight[*turn]
	byToken map[mcp.Key]*turn // the last request of the server with the progress token

	at         time.Duration        // of the frame before
	over       bool                 // the client has ended its side
	byOwnToken map[mcp.Key]*request // the last request of the client with it
	exchanges  *exchanges
	on         map[uint64][]*request // the requests of an HTTP exchange
}

// say adds a frame of the recorded client.
func (d *lining) say(e store.Event) {
	if isBlank(e) {
		return
	}
	l := &line{index: len(d.lines), seq: e.Seq, frame: onOneLine(e.AsFrame()), before: len(d.turns), gap: e.At - d.at}
	d.lines = append(d.lines, l)
	messages, _ := l.frame.Messages()
	for i, m := range messages {
		at := within(e.Payload, i)
		switch m.Kind() {
		case transport.Request:
			r := &request{line: l, packed: transport.Pack(m.Raw)}
			l.requests = append(l.requests, r)
			id := mcp.KeyOf(m.ID)
			d.requests[id] = append(d.requests[id], r)
			if token := m.ProgressToken(); token != nil {
				d.byOwnToken[mcp.KeyOf(token)] = r
			}
			d.open.open(transport.ClientToServer, e.Stream, m.ID, r)
			if e.Stream != 0 {
				d.on[e.Stream] = append(d.on[e.Stream], r)
			}
			if d.exchanges.isRefused(e.Stream) {
				d.open.refuse(e.Stream)
			}
		case transport.Response:
			if t, ok := d.asked.close(transport.ServerToClient, 0, m.ID); ok {
				l.belongTo(t, edit{path: below(at, idPath)})
			}
		case transport.Notification:
			if t := d.byToken[mcp.KeyOf(m.ProgressToken())]; t != nil && m.Method == methodProgress {
				l.belongTo(t, edit{path: below(at, progressPath), token: true})
			}
			if r, ok := d.open.latest(transport.ClientToServer, cancels(m)); ok {
				r.cancelled = true
			}
		}
	}
}

// belongTo makes the line wait for a question of the server.
func (l *line) belongTo(t *turn, e edit) {
	e.question = t
	l.question = t
	l.edits = append(l.edits, e)
	if !slices.Contains(t.answers, l) {
		t.answers = append(t.answers, l)
	}
}

// hear adds a frame of the recorded server.
func (d *lining) hear(e store.Event) {
	messages := messagesOf(e.AsFrame())
	if isNoise(e.Payload, messages) {
		d.noises.recorded++
	}
	for _, m := range messages {
		t := &turn{index: len(d.turns), seq: e.Seq, packed: transport.Pack(m.Raw), gap: e.At - d.at, on: d.exchanges.first(e.Stream)}
		switch m.Kind() {
		case transport.Response:
			r, ok := d.close(e.Stream, m)
			if !ok {
				t.idle = true
				d.said[Key(strayKey(m))] = append(d.said[Key(strayKey(m))], t)
				break
			}
			t.request, r.response = r, t
			t.idle, t.parting = r.cancelled || r.msg().Method == methodListen, d.over
		case transport.Request:
			d.asked.open(transport.ServerToClient, 0, m.ID, t)
			if token := m.ProgressToken(); token != nil {
				d.byToken[mcp.KeyOf(token)] = t
			}
			fallthrough
		case transport.Notification:
			t.idle, t.owner, t.parting = true, d.owner(e.Stream, m), d.over
			d.said[turnKey(m)] = append(d.said[turnKey(m)], t)
		default:
			continue
		}
		d.turns = append(d.turns, t)
	}
}

// close returns the open request that is answered, as that of casting does.
func (d *lining) close(stream uint64, m transport.Message) (*request, bool) {
	on, id := d.exchanges.first(stream), m.ID
	if isNull(id) {
		if i := slices.IndexFunc(d.on[on], func(r *request) bool { return r.response == nil }); i >= 0 {
			id = d.on[on][i].msg().ID
		}
	}
	return d.open.close(transport.ClientToServer, on, id)
}

// turnKey is what a live message of the server must have in common with the
// recorded one that it stands for.
func turnKey(m transport.Message) Key {
	if m.Method == methodProgress {
		return Key(m.Method + " " + string(mcp.KeyOf(m.ProgressToken())))
	}
	return Key(m.Method)
}

// belong finds for what the recorded server said beside its answers the call that
// it belongs to: by the progress token, by the subscription, or because no other
// call was open. It also notes what came directly after an answer, before the
// client said any more. And it counts.
func (d *lining) belong() {
	open := map[*request]bool{}
	said := 0
	var last *request // answered last, and nothing was said since
	for _, t := range d.turns {
		if !t.parting {
			d.missing++
		}
		for ; said < len(d.lines) && d.lines[said].before <= t.index; said++ {
			last = nil
			for _, r := range d.lines[said].requests {
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

// owner returns the call that a message besides an answer belongs to: the one that it
// names, or on whose stream it was said.
func (d *lining) owner(stream uint64, m transport.Message) *request {
	var named *request
	if m.Method == methodProgress {
		named = d.byOwnToken[mcp.KeyOf(m.ProgressToken())]
	} else if id := transport.Member(m.Params, "_meta", subscriptionID); id != nil {
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
	exchange uint64
	lines    int     // said before it
	turns    int     // heard before it
	on       []*turn // of these, what was heard on the exchange
}

// noteHangUps finds where the client hung up.
func (d *lining) noteHangUps() {
	for _, ex := range d.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number}
		for h.lines < len(d.lines) && d.lines[h.lines].seq < ex.hungUp {
			h.lines++
		}
		for h.turns < len(d.turns) && d.turns[h.turns].seq < ex.hungUp {
			if t := d.turns[h.turns]; t.on == d.exchanges.first(ex.number) {
				h.on = append(h.on, t)
			}
			h.turns++
		}
		d.hangUps = append(d.hangUps, h)
	}
}
