package replay

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// NewDriver returns a Driver of the client's half of a session.
func NewDriver(events []store.Event, rules Rules) *Driver {
	d := &Driver{rules: rules, requests: map[mcp.Key][]*request{}, said: map[Key][]*turn{}, streams: map[uint64]*line{}}
	d.variables = newVariables(d.eachLine)
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

// isBlank reports whether a frame is an empty line. Peers skip it on stdio, where
// most of them read JSON and not lines, and no half says it.
func isBlank(e store.Event) bool { return len(bytes.TrimSpace(e.Payload)) == 0 }

// onOneLine returns a frame that a transport of lines can send: over HTTP a message
// may have been recorded with newlines between its tokens.
func onOneLine(f transport.Frame) transport.Frame {
	if bytes.IndexByte(f.Bytes, '\n') >= 0 {
		f.Bytes = bytes.ReplaceAll(f.Bytes, []byte("\n"), []byte(" "))
	}
	return f
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
				l.belongTo(t, respell{path: below(at, idPath)})
			}
		case transport.Notification:
			d.sayAbout(l, m, at)
		}
	}
}

// sayAbout finds the request that a notification is about.
func (d *lining) sayAbout(l *line, m transport.Message, at []string) {
	if m.Method == methodProgress {
		if t := d.byToken[mcp.KeyOf(m.ProgressToken())]; t != nil {
			l.belongTo(t, respell{path: below(at, progressPath), token: true})
		}
	}
	if r, ok := d.open.latest(transport.ClientToServer, cancels(m)); ok {
		r.cancelled = true
	}
}

// belongTo makes the line wait for a question of the server.
func (l *line) belongTo(t *turn, e respell) {
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

// owner is the call that something besides an answer belongs to: that it names, or on
// whose stream it was said.
func (d *lining) owner(stream uint64, m transport.Message) *request {
	if r := d.namedOwner(m); r != nil {
		return r
	}
	if requests := d.on[d.exchanges.first(stream)]; len(requests) > 0 {
		return requests[0]
	}
	return nil
}

// turnKey is what a live message of the server must have in common with the
// recorded one that it stands for.
func turnKey(m transport.Message) Key {
	if m.Method == methodProgress {
		return Key(m.Method + " " + string(mcp.KeyOf(m.ProgressToken())))
	}
	return Key(m.Method)
}

// eachLine yields the lines, with how many turns were recorded before them.
func (d *Driver) eachLine(yield func(int, transport.Frame) bool) {
	for _, l := range d.lines {
		if !yield(l.before, l.frame) {
			return
		}
	}
}
