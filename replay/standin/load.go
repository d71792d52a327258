package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// driverLoader reads a recording into a script.
type driverLoader struct {
	script
	rules       match.Rules
	model       *timeline.Model
	calls       map[*timeline.Call]*request // the client's
	questions   map[*timeline.Call]*message // the server's
	exchanges   *exchanges
	on          map[uint64][]*request // the requests of an HTTP exchange
	at          time.Duration         // of the frame before
	clientEnded bool                  // the client has ended
}

func loadDriverScript(events []store.Event, rules match.Rules) *script {
	l := driverLoader{
		rules: rules, model: timeline.NewModel(timeline.All),
		calls: map[*timeline.Call]*request{}, questions: map[*timeline.Call]*message{},
		exchanges: exchangesOf(events), on: map[uint64][]*request{},
	}
	for _, e := range events {
		l.clientEnded = l.clientEnded || e.Kind == store.EOF && e.Dir == transport.ClientToServer
		step := l.model.Take(e)
		if e.Kind != store.Frame || l.exchanges.isRawRequest(e.Stream) || e.Dir == transport.ClientToServer && l.exchanges.isUnheard(e.Stream) {
			continue
		}
		switch e.Dir {
		case transport.ClientToServer:
			l.addClientFrame(step)
		case transport.ServerToClient:
			l.addServerFrame(step)
		}
		l.at = e.At
	}
	l.assignOwners()
	for _, ex := range l.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number, resumed: ex.resumed}
		for h.frames < len(l.frames) && l.frames[h.frames].seq < ex.hungUp {
			h.frames++
		}
		for h.messages < len(l.messages) && l.messages[h.messages].seq < ex.hungUp {
			if s := l.messages[h.messages]; s.exchange == l.exchanges.first(ex.number) {
				h.on = append(h.on, s)
			}
			h.messages++
		}
		l.hangUps = append(l.hangUps, h)
	}
	script := l.script // a copy without the model
	return &script
}

// addClientFrame adds a frame of the recorded client.
func (l *driverLoader) addClientFrame(step timeline.Step) {
	e := step.Event
	if isBlank(e) {
		return
	}
	f := &ownFrame{index: len(l.frames), seq: e.Seq, frame: onOneLine(e.AsFrame()), before: len(l.messages), gap: e.At - l.at}
	l.frames = append(l.frames, f)
	for i, m := range l.rules.Messages(f.frame) {
		at := within(e.Payload, i)
		in := step.Message(i)
		switch in.Role {
		case timeline.Asks:
			r := &request{frame: f, packed: transport.Pack(m.Raw)}
			f.requests = append(f.requests, r)
			l.calls[in.Call] = r
			if e.Stream != 0 {
				l.on[e.Stream] = append(l.on[e.Stream], r)
			}
		case timeline.Answers:
			if s := l.questions[in.Call]; s != nil {
				f.belongTo(s, false, below(at, idPath))
			}
		case timeline.Reports:
			if s := l.questions[in.Call]; s != nil {
				f.belongTo(s, true, below(at, progressPath))
			}
		case timeline.Cancels:
			if r := l.calls[in.Call]; r != nil {
				r.cancelled = true
			}
		}
	}
	for _, question := range f.owners {
		f.question = question
		question.answers = append(question.answers, f)
	}
}

// addServerFrame adds a frame of the recorded server.
func (l *driverLoader) addServerFrame(step timeline.Step) {
	event := step.Event
	messages := l.rules.Messages(event.AsFrame())
	if isNoise(event.Payload, messages) {
		l.noises++
	}
	exchange := l.exchanges.first(event.Stream)
	for i, m := range messages {
		in := step.Message(i)
		s := &message{
			index: len(l.messages), seq: event.Seq, exchange: exchange, packed: transport.Pack(m.Raw),
			gap: event.At - l.at, optional: true, afterEnd: l.clientEnded,
		}
		switch m.Kind() {
		case transport.Response:
			r := l.calls[in.Call]
			if isNull(m.ID) { // over HTTP it answers the first open request of the exchange
				r = nil
				if i := slices.IndexFunc(l.on[exchange], func(request *request) bool { return request.response == nil }); i >= 0 {
					r = l.on[exchange][i]
				}
			}
			if r == nil || r.response != nil {
				s.afterEnd = false
				break
			}
			s.request = r
			r.response = s
			s.optional = r.cancelled || r.msg().Method == mcp.MethodListen
		case transport.Request:
			if in.Call != nil {
				l.questions[in.Call] = s
			}
			fallthrough
		case transport.Notification:
			// The call named by the message, or the call of the stream.
			if m.Method == mcp.NotificationProgress {
				s.owner = l.calls[in.Call]
			} else if id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
				s.owner = l.calls[step.Find(transport.ClientToServer, mcp.KeyOf(id))]
			}
			if on := l.on[exchange]; s.owner == nil && len(on) > 0 {
				s.owner = on[0]
			}
		default:
			continue
		}
		l.messages = append(l.messages, s)
	}
}

// assignOwners gives each message without an owner to the only call open at that time, if
// there was only one. It also notes which messages came directly after an answer, before the
// client said any more.
func (l *driverLoader) assignOwners() {
	open := map[*request]bool{}
	said := 0
	var last *request // answered last, without a later frame of the client
	for _, s := range l.messages {
		for ; said < len(l.frames) && l.frames[said].before <= s.index; said++ {
			last = nil
			for _, r := range l.frames[said].requests {
				if r.response != nil {
					open[r] = true
				}
			}
		}
		if s.request != nil {
			delete(open, s.request)
			last = s.request
			continue
		}
		s.follows = last
		if s.owner == nil && len(open) == 1 {
			for r := range open {
				s.owner = r
			}
		}
	}
}

// playerLoader reads a recording into a script.
type playerLoader struct {
	script
	rules     match.Rules
	model     *timeline.Model
	calls     map[*timeline.Call]*message // the client's
	questions map[*timeline.Call]*request // the server's
	exchanges *exchanges
	on        map[uint64][]*message // the client's messages of an exchange
	noise     *store.Event          // the frame before, if noise of the client
}

// loadPlayerScript reads a recording. Over one stream, such as stdio, it leaves out the
// exchanges unfit for a stream.
func loadPlayerScript(events []store.Event, rules match.Rules, oneStream bool) *script {
	l := playerLoader{
		rules: rules, model: timeline.NewModel(timeline.All),
		calls: map[*timeline.Call]*message{}, questions: map[*timeline.Call]*request{},
		exchanges: exchangesOf(events), on: map[uint64][]*message{},
	}
	unstreamed := map[uint64]bool{}
	if oneStream {
		events = l.exchanges.spoken(events)
		unstreamed = l.exchanges.unstreamed()
	}
	for _, e := range events {
		step := l.model.Take(e)
		switch {
		case e.Kind != store.Frame:
		case unstreamed[e.Stream] || l.exchanges.isUnheard(e.Stream):
			// The request did not reach the server or was refused over HTTP: the player does
			// not wait for it.
			for dir, m := range messagesIn([]store.Event{e}) {
				if key, err := rules.Key(m); err == nil && dir == transport.ClientToServer && m.Kind() == transport.Request {
					l.failed = append(l.failed, failedCall{key: key, seq: e.Seq, exchange: l.exchanges.byNumber[e.Stream]})
				}
			}
		case e.Dir == transport.ClientToServer:
			l.addClientFrame(step)
		case e.Dir == transport.ServerToClient:
			l.addServerFrame(step)
		}
	}
	l.assignOwners()
	script := l.script // a copy without the model
	return &script
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
func (l *playerLoader) addClientFrame(step timeline.Step) {
	e := step.Event
	l.noise = nil
	messages := l.rules.Messages(e.AsFrame())
	if isNoise(e.Payload, messages) {
		l.noise = &e
		l.noises++
	}
	for i, m := range messages {
		if m.Kind() == transport.Invalid {
			continue // a stray or blank line: no frame depends on it
		}
		c := &message{index: len(l.messages), seq: e.Seq, at: e.At, exchange: e.Stream, packed: transport.Pack(m.Raw)}
		l.messages = append(l.messages, c)
		if c.exchange != 0 {
			l.on[c.exchange] = append(l.on[c.exchange], c)
		}
		switch in := step.Message(i); in.Role {
		case timeline.Asks:
			l.calls[in.Call] = c
		case timeline.Answers:
			if q := l.questions[in.Call]; q != nil {
				c.request = q
				q.response = c
			}
		case timeline.Cancels, timeline.CancelsPast:
			c.cancels = l.calls[in.Call]
		}
	}
}

// addServerFrame adds a frame of the recorded server.
func (l *playerLoader) addServerFrame(step timeline.Step) {
	e := step.Event
	if isBlank(e) {
		return
	}
	frame := onOneLine(e.AsFrame())
	messages := l.rules.Messages(frame)
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
		refused.answer = f
		f.owners = []*message{refused}
	}
	for i, m := range messages {
		at := within(e.Payload, i)
		in := step.Message(i)
		switch m.Kind() {
		case transport.Response:
			on := l.exchanges.first(e.Stream)
			c := l.calls[in.Call]
			if isNull(m.ID) { // over HTTP it answers the first open request of the exchange
				c = nil
				isOpen := func(c *message) bool { return c.msg().Kind() == transport.Request && c.answer == nil }
				if i := slices.IndexFunc(l.on[on], isOpen); i >= 0 {
					c = l.on[on][i]
				}
			}
			switch {
			case c == nil || c.answer != nil:
			case isNull(m.ID):
				c.answer = f
				f.owners = append(f.owners, c)
			default:
				c.answer = f
				f.belongTo(c, false, below(at, idPath))
			}
		case transport.Request:
			q := &request{frame: f, packed: transport.Pack(m.Raw)}
			if in.Call != nil {
				l.questions[in.Call] = q
			}
			f.requests = append(f.requests, q)
		}
		if m.Method == mcp.NotificationProgress {
			if c := l.calls[in.Call]; c != nil {
				f.belongTo(c, true, below(at, progressPath))
			}
		}
		if !bytes.Contains(m.Raw, []byte("subscriptionId")) && bytes.IndexByte(m.Raw, '\\') < 0 {
			continue // most messages; the JSON is not parsed for them
		}
		for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
			id := transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID)
			call := in.Call // the answer of a subscription names it
			if m.Kind() != transport.Response {
				call = step.Find(transport.ClientToServer, mcp.KeyOf(id))
			}
			if c := l.calls[call]; id != nil && c != nil {
				f.belongTo(c, false, below(at, []string{part, mcp.MemberMeta, mcp.MetaSubscriptionID}))
			}
		}
	}
	if e.Stream == 0 || f.answers() {
		return
	}
	// The frame belongs to the message that opened the stream: a request, or a refused
	// notification.
	asked := l.on[l.exchanges.first(e.Stream)]
	f.unasked = len(asked) == 0
	if len(asked) > 0 && !slices.Contains(f.owners, asked[0]) {
		f.owners = slices.Insert(f.owners, 0, asked[0])
	}
}

// isNested reports whether a question of a server is asked within a call: sampling and elicitation are nested inside other
// features (client/sampling, User Interaction Model).
func (q *request) isNested() bool {
	method := q.msg().Method
	return method == mcp.MethodCreateMessage || method == mcp.MethodElicit
}

// assignOwners gives each server frame without a request to the only request open at that
// time, if there was only one. A request without an answer does not count: a subscription is
// always open.
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
		if len(f.owners) == 0 && len(open) > 1 && slices.ContainsFunc(f.requests, (*request).isNested) {
			f.within = slices.Collect(maps.Keys(open))
		}
		for _, c := range f.owners {
			if c.answer == f {
				delete(open, c)
			}
		}
	}
}
