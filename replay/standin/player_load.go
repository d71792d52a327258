package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// gap returns the time between a frame and the latest of the messages and frames recorded
// before it that have come or were sent.
func (p *script) gap(f *ownFrame) time.Duration {
	last := p.lastHeard(f)
	for _, other := range slices.Backward(p.frames[:f.index]) {
		if other.sent {
			last = max(last, other.at)
			break
		}
	}
	return f.at - last
}

// lastHeard returns when the last message recorded before a frame was, of those that have
// come.
func (p *script) lastHeard(f *ownFrame) time.Duration {
	for _, c := range slices.Backward(p.messages[:f.before]) {
		if c.arrived {
			return c.at
		}
	}
	return 0
}

// playerLoader reads a recording into a script.
type playerLoader struct {
	script
	calls     timeline.Index[mcp.Key, *message]
	questions timeline.Index[mcp.Key, *request]
	exchanges *exchanges
	on        map[uint64][]*message // the client's messages of an exchange
	noise     *store.Event          // the frame before this one, if it was the client's and noise
}

// loadPlayerScript reads a recording. Over one stream, such as stdio, it leaves out the
// exchanges unfit for a stream.
func loadPlayerScript(events []store.Event, rules match.Rules, oneStream bool) *script {
	l := playerLoader{
		calls:     timeline.NewIndex[mcp.Key, *message](timeline.All),
		exchanges: exchangesOf(events), on: map[uint64][]*message{},
	}
	unstreamed := map[uint64]bool{}
	if oneStream {
		events, unstreamed = l.exchanges.spoken(events), l.exchanges.unstreamed()
	}
	for _, e := range events {
		switch {
		case e.Kind != store.Frame:
		case unstreamed[e.Stream] || l.exchanges.isUnheard(e.Stream):
			// It did not reach the server or was refused over HTTP: the player does not wait for it.
			for dir, m := range messagesIn([]store.Event{e}) {
				if key, err := rules.Key(m); err == nil && dir == transport.ClientToServer && m.Kind() == transport.Request {
					l.failed = append(l.failed, failedCall{key: key, seq: e.Seq, exchange: l.exchanges.byNumber[e.Stream]})
				}
			}
		case e.Dir == transport.ClientToServer:
			l.addClientFrame(e)
		case e.Dir == transport.ServerToClient:
			l.addServerFrame(e)
		}
	}
	l.assignOwners()
	script := l.script // a copy, so that the indexes are not kept
	return &script
}

// failedCall is a request of the recorded client without a playable answer.
type failedCall struct {
	key      match.Key
	seq      uint64
	exchange *exchange
}

// why says how the call failed.
func (f failedCall) why() string {
	switch {
	case f.exchange.unheard:
		return fmt.Sprintf("#%d did not reach the recorded server", f.seq)
	case f.exchange.none:
		return fmt.Sprintf("#%d got no HTTP response: the connection was cut", f.seq)
	}
	why := fmt.Sprintf("#%d was refused by HTTP status %d %s", f.seq, f.exchange.status, http.StatusText(f.exchange.status))
	said := cmp.Or(string(f.exchange.said), string(f.exchange.body))
	for _, m := range timeline.MessagesOf(transport.Frame{Bytes: []byte(said)}) {
		if message, ok := transport.Text(transport.Member(m.Error, "message")); ok {
			said = message
		}
	}
	if said = strings.TrimSpace(said); said != "" {
		why += ": " + phrase.Name(said)
	}
	return why
}

// addClientFrame adds a frame of the recorded client.
func (l *playerLoader) addClientFrame(e store.Event) {
	l.noise = nil
	messages := timeline.MessagesOf(e.AsFrame())
	if isNoise(e.Payload, messages) {
		l.noise = &e
		l.noises++
	}
	for _, m := range messages {
		if m.Kind() == transport.Invalid {
			continue // a stray or blank line: nothing depends on it
		}
		c := &message{index: len(l.messages), seq: e.Seq, at: e.At, exchange: e.Stream, packed: transport.Pack(m.Raw)}
		l.messages = append(l.messages, c)
		if c.exchange != 0 {
			l.on[c.exchange] = append(l.on[c.exchange], c)
		}
		switch m.Kind() {
		case transport.Request:
			l.calls.Ask(transport.ClientToServer, c.exchange, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), c)
			if l.exchanges.isRefused(c.exchange) {
				l.calls.Refuse(c.exchange)
			}
		case transport.Response:
			if q, ok := l.questions.Answer(transport.ServerToClient, 0, mcp.KeyOf(m.ID)); ok {
				c.request, q.response = q, c
			}
		default:
			c.cancels = l.named(timeline.CancelledID(m))
		}
	}
}

// addServerFrame adds a frame of the recorded server.
func (l *playerLoader) addServerFrame(e store.Event) {
	if isBlank(e) {
		return
	}
	frame := onOneLine(e.AsFrame())
	messages, _ := frame.Messages()
	var refused *message
	if noise := l.noise; noise != nil && len(messages) == 1 && messages[0].Error != nil && isNull(messages[0].ID) {
		// The server refuses the noise, and so the player waits for noise.
		refused = &message{index: len(l.messages), seq: noise.Seq, at: noise.At, exchange: noise.Stream}
		l.messages = append(l.messages, refused)
	}
	l.noise = nil
	f := &ownFrame{index: len(l.frames), seq: e.Seq, at: e.At, frame: frame, before: len(l.messages)}
	l.frames = append(l.frames, f)
	if refused != nil {
		refused.answer, f.owners = f, []*message{refused}
	}
	for i, m := range messages {
		at := within(e.Payload, i)
		switch m.Kind() {
		case transport.Response:
			on, id := l.exchanges.first(e.Stream), m.ID
			if isNull(id) { // over HTTP it answers the first open request of its exchange
				isOpen := func(c *message) bool { return c.msg().Kind() == transport.Request && c.answer == nil }
				if i := slices.IndexFunc(l.on[on], isOpen); i >= 0 {
					id = l.on[on][i].msg().ID
				}
			}
			c, ok := l.calls.Answer(transport.ClientToServer, on, mcp.KeyOf(id))
			switch {
			case !ok:
			case isNull(m.ID):
				c.answer = f
				f.owners = append(f.owners, c)
			default:
				c.answer = f
				f.belongTo(c, false, below(at, idPath))
			}
		case transport.Request:
			q := &request{frame: f, packed: transport.Pack(m.Raw)}
			l.questions.Ask(transport.ServerToClient, 0, mcp.KeyOf(m.ID), "", q)
			f.requests = append(f.requests, q)
		}
		l.addNamed(f, e.Stream, m, at)
	}
	if e.Stream == 0 || f.answers() {
		return
	}
	// It belongs to the message on whose stream it was said: a request, or a notification
	// that was refused.
	asked := l.on[l.exchanges.first(e.Stream)]
	f.unasked = len(asked) == 0
	if len(asked) > 0 && !slices.Contains(f.owners, asked[0]) {
		f.owners = slices.Insert(f.owners, 0, asked[0])
	}
}

// named returns the request of the client that a message names by its id, the latest open
// one first; nil if there is none.
func (l *playerLoader) named(id json.RawMessage) *message {
	return l.calls.Named(transport.ClientToServer, mcp.KeyOf(id))
}

// addNamed finds the other requests that a message names: by progress token or subscription.
func (l *playerLoader) addNamed(f *ownFrame, stream uint64, m transport.Message, at []string) {
	if m.Method == mcp.NotificationProgress {
		if c, ok := l.calls.Progress(transport.ClientToServer, l.exchanges.first(stream), mcp.KeyOf(m.ProgressToken())); ok {
			f.belongTo(c, true, below(at, progressPath))
		}
	}
	if !bytes.Contains(m.Raw, []byte("subscriptionId")) && bytes.IndexByte(m.Raw, '\\') < 0 {
		return // most messages; the JSON is not parsed for them
	}
	for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
		if c := l.named(transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID)); c != nil {
			f.belongTo(c, false, below(at, []string{part, mcp.MemberMeta, mcp.MetaSubscriptionID}))
		}
	}
}

// assignOwners gives each server frame that names no request to the one request that was
// open when it was said, if there was just one. A request that was never answered does not
// count: a subscription is open all the time.
func (l *playerLoader) assignOwners() {
	open := map[*message]bool{}
	heard := 0
	for _, f := range l.frames {
		for ; heard < f.before; heard++ {
			if c := l.messages[heard]; c.answer != nil {
				open[c] = true
			}
		}
		if len(f.owners) == 0 && len(open) == 1 {
			for c := range open {
				f.owners = []*message{c}
			}
		}
		for _, c := range f.owners {
			if c.answer == f {
				delete(open, c)
			}
		}
	}
}
