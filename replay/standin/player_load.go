package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// NewPlayer returns a Player of the server's half of a session.
func NewPlayer(events []store.Event, rules match.Rules) *Player {
	return newPlayer(events, rules, false)
}

// NewStreamPlayer returns a Player that plays over one stream, such as stdio, whatever the
// session was recorded on. A request that was refused over HTTP and nowhere else answered
// gets an error that says so.
func NewStreamPlayer(events []store.Event, rules match.Rules) *Player {
	return newPlayer(events, rules, true)
}

func newPlayer(events []store.Event, rules match.Rules, oneStream bool) *Player {
	p := &Player{rules: rules, masked: map[string][]*clientMsg{}, requests: map[match.Key][]*clientMsg{}, others: map[string][]*clientMsg{}, asked: map[mcp.Key][]*serverRequest{}, streams: map[uint64]uint64{}, failed: map[match.Key]failedCall{}}
	p.variables = match.NewVariables(func(yield func(int, transport.Frame) bool) {
		for _, r := range p.serverFrames {
			if !yield(r.before, r.frame) {
				return
			}
		}
	})
	c := playerLoader{
		Player:    p,
		calls:     timeline.NewIndex[mcp.Key, *clientMsg](timeline.All),
		exchanges: exchangesOf(events), on: map[uint64][]*clientMsg{},
	}
	unstreamed := map[uint64]bool{}
	if oneStream {
		events, unstreamed = c.exchanges.spoken(events), c.exchanges.unstreamed()
	}
	for _, e := range events {
		if e.Kind != store.Frame {
			continue
		}
		if unstreamed[e.Stream] || c.exchanges.isUnheard(e.Stream) {
			// It did not reach the server or was refused over HTTP: the player does not wait for it.
			for m := range clientMessages([]store.Event{e}) {
				if key, err := rules.Key(m); err == nil && m.Kind() == transport.Request {
					p.failed[key] = failedCall{seq: e.Seq, exchange: c.exchanges.byNumber[e.Stream]}
				}
			}
			continue
		}
		switch e.Dir {
		case transport.ClientToServer:
			c.addClientFrame(e)
		case transport.ServerToClient:
			c.addServerFrame(e)
		}
	}
	c.assignOwners()
	c.noteRevisions()
	return p
}

// playerLoader reads a recording into a Player.
type playerLoader struct {
	*Player
	calls     timeline.Index[mcp.Key, *clientMsg]
	questions timeline.Index[mcp.Key, *serverRequest]
	exchanges *exchanges
	on        map[uint64][]*clientMsg // what the client said in an exchange
	noise     *store.Event            // the frame before this one, if it was the client's and no message
}

// failedCall is a request of the recorded client that got no answer which can be played.
type failedCall struct {
	seq      uint64
	exchange *exchange
}

// why says what became of the call.
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
		if message, ok := timeline.StringOf(transport.Member(m.Error, "message")); ok {
			said = message
		}
	}
	said = strings.TrimSpace(said)
	if said != "" {
		why += ": " + phrase.Name(said)
	}
	return why
}

// addClientFrame adds a frame of the recorded client.
func (p *playerLoader) addClientFrame(e store.Event) {
	p.noise = nil
	messages := timeline.MessagesOf(e.AsFrame())
	if isNoise(e.Payload, messages) {
		p.noise = &e
		p.noises.recorded++
	}
	for _, m := range messages {
		if m.Kind() == transport.Invalid {
			continue // as of a stray or blank line: nothing depends on it
		}
		c := &clientMsg{index: len(p.clientMsgs), seq: e.Seq, at: e.At, on: e.Stream, packed: transport.Pack(m.Raw)}
		p.clientMsgs = append(p.clientMsgs, c)
		if c.on != 0 {
			p.on[c.on] = append(p.on[c.on], c)
		}
		switch m.Kind() {
		case transport.Request:
			p.score.Recorded++
			p.calls.Ask(transport.ClientToServer, c.on, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), c)
			if p.exchanges.isRefused(c.on) {
				p.calls.Refuse(c.on)
			}
			if bytes.Contains(c.msg().Params, []byte("[redacted:")) {
				p.masked[c.msg().Method] = append(p.masked[c.msg().Method], c)
			}
			if p.rules.By == match.ByOrder && !match.MatchedByMethod(c.msg().Method) {
				p.queue = append(p.queue, c)
			}
			if key, err := p.rules.Key(c.msg()); err == nil {
				p.requests[key] = append(p.requests[key], c)
				c.nth = len(p.requests[key])
			}
		case transport.Response:
			if q, ok := p.questions.Answer(transport.ServerToClient, 0, mcp.KeyOf(m.ID)); ok {
				c.answers, q.answer = q, c
			} else {
				p.others[strayKey(m)] = append(p.others[strayKey(m)], c)
			}
		default:
			c.cancels = p.named(timeline.CancelledID(m))
			p.others[m.Method] = append(p.others[m.Method], c)
		}
	}
}

// within returns the path to message i of a frame: into the array of a batch, or
// none.
func within(frame []byte, i int) []string {
	if bytes.HasPrefix(bytes.TrimSpace(frame), []byte("[")) {
		return []string{strconv.Itoa(i)}
	}
	return nil
}

// addServerFrame adds a frame of the recorded server.
func (p *playerLoader) addServerFrame(e store.Event) {
	if isBlank(e) {
		return
	}
	messages, _ := onOneLine(e.AsFrame()).Messages()
	var refused *clientMsg
	if e := p.noise; e != nil && len(messages) == 1 && messages[0].Error != nil && isNull(messages[0].ID) {
		// It refuses the noise, which is waited for then.
		refused = &clientMsg{index: len(p.clientMsgs), seq: e.Seq, at: e.At, on: e.Stream}
		p.clientMsgs = append(p.clientMsgs, refused)
		p.others[noiseMethod] = append(p.others[noiseMethod], refused)
	}
	p.noise = nil
	r := &serverFrame{index: len(p.serverFrames), seq: e.Seq, at: e.At, frame: onOneLine(e.AsFrame()), before: len(p.clientMsgs)}
	p.serverFrames = append(p.serverFrames, r)
	if refused != nil {
		refused.answer, r.owners = r, []*clientMsg{refused}
	}
	for i, m := range messages {
		at := within(e.Payload, i)
		switch m.Kind() {
		case transport.Response:
			if c, ok := p.close(e.Stream, m); ok {
				c.answer = r
				if isNull(m.ID) {
					r.owners = append(r.owners, c)
				} else {
					r.belongTo(c, false, below(at, idPath))
				}
			}
		case transport.Request:
			q := &serverRequest{reply: r, id: mcp.KeyOf(m.ID), method: m.Method}
			p.questions.Ask(transport.ServerToClient, 0, q.id, "", q)
			r.requests = append(r.requests, q)
		}
		p.addNamed(r, e.Stream, m, at)
	}
	if e.Stream == 0 || slices.ContainsFunc(r.owners, func(c *clientMsg) bool { return c.answer == r }) {
		return
	}
	// It belongs to the message on whose stream it was said: a request, or a notification
	// that was refused.
	asked := p.on[p.exchanges.first(e.Stream)]
	r.aside = len(asked) == 0
	if len(asked) > 0 && !slices.Contains(r.owners, asked[0]) {
		r.owners = slices.Insert(r.owners, 0, asked[0])
	}
}

// strayKey is what two answers have in common that belong to no request: a server
// gives one, with a null id, to what it could not read, and a faulty peer answers
// twice. They are said again as they were recorded.
func strayKey(m transport.Message) string { return "answer " + string(mcp.KeyOf(m.ID)) }

// close returns the open request that is answered. Over HTTP an error without an id
// answers the first one of its exchange.
func (p *playerLoader) close(stream uint64, m transport.Message) (*clientMsg, bool) {
	on, id := p.exchanges.first(stream), m.ID
	if isNull(id) {
		for _, c := range p.on[on] {
			if c.msg().Kind() == transport.Request && c.answer == nil {
				id = c.msg().ID
				break
			}
		}
	}
	return p.calls.Answer(transport.ClientToServer, on, mcp.KeyOf(id))
}

// named returns the request of the client that a message names by its id, the latest open
// one first; nil: there is none.
func (p *playerLoader) named(id json.RawMessage) *clientMsg {
	c, ok := p.calls.Cancel(transport.ClientToServer, mcp.KeyOf(id))
	if !ok {
		c, _ = p.calls.Past(transport.ClientToServer, 0, mcp.KeyOf(id))
	}
	return c
}

// isNull reports whether an error does not say to which request.
func isNull(id json.RawMessage) bool { return len(id) == 0 || string(id) == "null" }

// addNamed finds the requests that the message names besides by its id.
func (p *playerLoader) addNamed(r *serverFrame, stream uint64, m transport.Message, at []string) {
	if m.Method == mcp.NotificationProgress {
		if c, ok := p.calls.Progress(transport.ClientToServer, p.exchanges.first(stream), mcp.KeyOf(m.ProgressToken())); ok {
			r.belongTo(c, true, below(at, progressPath))
		}
	}
	if !bytes.Contains(m.Raw, []byte("subscriptionId")) && bytes.IndexByte(m.Raw, '\\') < 0 {
		return // as nearly always
	}
	for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
		if c := p.named(transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID)); c != nil {
			r.belongTo(c, false, below(at, []string{part, mcp.MemberMeta, mcp.MetaSubscriptionID}))
		}
	}
}

// Paths to what a live end names otherwise. Most frames share them.
var (
	idPath       = []string{"id"}
	progressPath = []string{"params", mcp.MemberProgressToken}
)

// below returns the path to a place in a message that is at a place in a frame.
func below(message, path []string) []string {
	if len(message) == 0 {
		return path
	}
	return slices.Concat(message, path)
}

// assignOwners gives the server frames that name no request to the one request that was
// open when they were said, if there was just one. Requests that were never answered do not
// count: a subscription is open all the time.
func (p *playerLoader) assignOwners() {
	open := map[*clientMsg]bool{}
	heard := 0
	for _, r := range p.serverFrames {
		for ; heard < r.before; heard++ {
			if c := p.clientMsgs[heard]; c.answer != nil {
				open[c] = true
			}
		}
		if len(r.owners) == 0 && len(open) == 1 {
			for c := range open {
				r.owners = []*clientMsg{c}
			}
		}
		for _, c := range r.owners {
			if c.answer == r {
				delete(open, c)
			}
		}
	}
}

// isBlank reports whether a frame is an empty line. Most peers skip it on stdio, where they
// read JSON and not lines, so it is never played.
func isBlank(e store.Event) bool { return len(bytes.TrimSpace(e.Payload)) == 0 }

// onOneLine returns a frame that a transport of lines can send: over HTTP a message
// may have been recorded with newlines between its tokens.
func onOneLine(f transport.Frame) transport.Frame {
	if bytes.IndexByte(f.Bytes, '\n') >= 0 {
		f.Bytes = bytes.ReplaceAll(f.Bytes, []byte("\n"), []byte(" "))
	}
	return f
}
