package standin

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// driverScript is a recording as a Driver plays it, in recorded order.
type driverScript struct {
	clientFrames []*clientFrame
	serverMsgs   []*serverMsg
	hangUps      []hangUp
	noises       int // frames of noise from the server
}

// clientFrame is a recorded frame of the client.
type clientFrame struct {
	index    int
	seq      uint64
	frame    transport.Frame
	before   int           // server messages recorded before it
	gap      time.Duration // since the frame before it
	question *serverMsg    // the request that it answers, or reports progress of
	requests []*request
	edits    []edit[*serverMsg] // places of the live server's values
	queue    []*serverMsg       // of a driver that makes calls one by one: answers to earlier calls
	unheld   bool               // an answer that waits for nothing but its question
	sent     bool

	// Of a reordering driver:
	needs   []*serverMsg   // messages to wait for
	after   []*clientFrame // frames to be written first
	written bool
}

// what names the frame in words.
func (f *clientFrame) what() string {
	messages := timeline.MessagesOf(f.frame)
	if len(messages) == 0 {
		return "(not a message)"
	}
	return about(messages[0])
}

// belongTo makes the frame wait for a question of the server.
func (f *clientFrame) belongTo(question *serverMsg, token bool, path []string) {
	f.question = question
	f.edits = append(f.edits, edit[*serverMsg]{path, token, question})
	if !slices.Contains(question.answers, f) {
		question.answers = append(question.answers, f)
	}
}

// serverMsg is a message of the recorded server, and the live message that stands for it.
type serverMsg struct {
	index    int
	seq      uint64
	exchange uint64 // recorded HTTP exchange, the first of those that one stream has; 0: a pipe
	packed   transport.Packed
	gap      time.Duration  // since the frame before it
	request  *request       // of a response
	answers  []*clientFrame // of a request
	owner    *request       // of another message: the call that it belongs to
	follows  *request       // the call answered directly before
	optional bool           // waited for only until GiveUpWaiting
	afterEnd bool           // sent when the client had ended its side

	arrived   bool
	skipped   bool   // the driver waits for it no more
	timedOut  bool   // skipped by GiveUpWaiting
	stream    uint64 // of the live message
	live      *transport.Message
	came      int        // its place among the arrived messages, from 1
	alone     *request   // the only call open then
	overtaken *serverMsg // the first message of its kind and call that came before it and was recorded after it
}

func (s *serverMsg) msg() transport.Message { return s.packed.Message() }

// isPending reports whether the client may wait for the message.
func (s *serverMsg) isPending() bool { return !s.arrived && !s.skipped }

// isStray reports whether the message is an answer that belongs to no request.
func (s *serverMsg) isStray() bool { return s.request == nil && s.msg().Kind() == transport.Response }

// what names the message in words.
func (s *serverMsg) what() string {
	switch {
	case s.request != nil:
		return "the answer to " + about(s.request.msg())
	case !s.isStray():
		return about(s.msg())
	case s.msg().ID == nil:
		return "an answer without an id"
	}
	return "an answer with id " + phrase.Name(string(s.msg().ID))
}

// request is a request of the recorded client.
type request struct {
	frame     *clientFrame
	packed    transport.Packed
	response  *serverMsg // nil: unanswered
	cancelled bool       // before its response, if any
	done      bool       // the live server answered
}

func (r *request) msg() transport.Message { return r.packed.Message() }

// isAwaited reports whether the client goes on only when it has the answer.
func (r *request) isAwaited() bool { return r.response != nil && !r.response.optional }

// hangUp is a place where the recorded client hung up on an HTTP exchange before it had all
// of the response: in revision 2026-07-28 a client cancels a call in this way, and ends a
// subscription.
type hangUp struct {
	exchange     uint64
	clientFrames int          // sent before it
	serverMsgs   int          // heard before it
	on           []*serverMsg // of these, the messages heard on the exchange
}

// driverLoader reads a recording into a script.
type driverLoader struct {
	driverScript
	calls       timeline.Index[mcp.Key, *request]
	questions   timeline.Index[mcp.Key, *serverMsg]
	exchanges   *exchanges
	on          map[uint64][]*request // the requests of an HTTP exchange
	byID        map[mcp.Key]*request  // the latest request with the id
	at          time.Duration         // of the frame before
	clientEnded bool                  // the client has ended its side
}

func loadDriverScript(events []store.Event) *driverScript {
	l := driverLoader{
		calls:     timeline.NewIndex[mcp.Key, *request](timeline.All),
		questions: timeline.NewIndex[mcp.Key, *serverMsg](timeline.All),
		exchanges: exchangesOf(events), on: map[uint64][]*request{}, byID: map[mcp.Key]*request{},
	}
	for _, e := range events {
		l.clientEnded = l.clientEnded || e.Kind == store.EOF && e.Dir == transport.ClientToServer
		if e.Kind != store.Frame || l.exchanges.isRawRequest(e.Stream) || e.Dir == transport.ClientToServer && l.exchanges.isUnheard(e.Stream) {
			continue
		}
		switch e.Dir {
		case transport.ClientToServer:
			l.addClientFrame(e)
		case transport.ServerToClient:
			l.addServerFrame(e)
		}
		l.at = e.At
	}
	l.assignOwners()
	l.addHangUps()
	script := l.driverScript // a copy, so that the indexes are not kept
	return &script
}

// addClientFrame adds a frame of the recorded client.
func (l *driverLoader) addClientFrame(e store.Event) {
	if isBlank(e) {
		return
	}
	f := &clientFrame{index: len(l.clientFrames), seq: e.Seq, frame: onOneLine(e.AsFrame()), before: len(l.serverMsgs), gap: e.At - l.at}
	l.clientFrames = append(l.clientFrames, f)
	for i, m := range timeline.MessagesOf(f.frame) {
		at := within(e.Payload, i)
		switch m.Kind() {
		case transport.Request:
			r := &request{frame: f, packed: transport.Pack(m.Raw)}
			f.requests = append(f.requests, r)
			id := mcp.KeyOf(m.ID)
			l.byID[id] = r
			l.calls.Ask(transport.ClientToServer, e.Stream, id, mcp.KeyOf(m.ProgressToken()), r)
			if e.Stream != 0 {
				l.on[e.Stream] = append(l.on[e.Stream], r)
			}
			if l.exchanges.isRefused(e.Stream) {
				l.calls.Refuse(e.Stream)
			}
		case transport.Response:
			if s, ok := l.questions.Answer(transport.ServerToClient, 0, mcp.KeyOf(m.ID)); ok {
				f.belongTo(s, false, below(at, idPath))
			}
		case transport.Notification:
			if s, ok := l.questions.Progress(transport.ServerToClient, 0, mcp.KeyOf(m.ProgressToken())); ok && m.Method == mcp.NotificationProgress {
				f.belongTo(s, true, below(at, progressPath))
			}
			if r, ok := l.calls.Cancel(transport.ClientToServer, mcp.KeyOf(timeline.CancelledID(m))); ok {
				r.cancelled = true
			}
		}
	}
}

// addServerFrame adds a frame of the recorded server.
func (l *driverLoader) addServerFrame(e store.Event) {
	messages := timeline.MessagesOf(e.AsFrame())
	if isNoise(e.Payload, messages) {
		l.noises++
	}
	exchange := l.exchanges.first(e.Stream)
	for _, m := range messages {
		s := &serverMsg{
			index: len(l.serverMsgs), seq: e.Seq, exchange: exchange, packed: transport.Pack(m.Raw),
			gap: e.At - l.at, optional: true, afterEnd: l.clientEnded,
		}
		switch m.Kind() {
		case transport.Response:
			id := m.ID
			if isNull(id) { // over HTTP it answers the first open request of its exchange
				i := slices.IndexFunc(l.on[exchange], func(r *request) bool { return r.response == nil })
				if i >= 0 {
					id = l.on[exchange][i].msg().ID
				}
			}
			r, ok := l.calls.Answer(transport.ClientToServer, exchange, mcp.KeyOf(id))
			if !ok {
				s.afterEnd = false
				break
			}
			s.request, r.response = r, s
			s.optional = r.cancelled || r.msg().Method == mcp.MethodListen
		case transport.Request:
			l.questions.Ask(transport.ServerToClient, 0, mcp.KeyOf(m.ID), mcp.KeyOf(m.ProgressToken()), s)
			fallthrough
		case transport.Notification:
			s.owner = l.owner(exchange, m)
		default:
			continue
		}
		l.serverMsgs = append(l.serverMsgs, s)
	}
}

// owner returns the call that a request or a notification of the server belongs to: the call
// that it names, or the call on whose stream it came.
func (l *driverLoader) owner(exchange uint64, m transport.Message) *request {
	var named *request
	if m.Method == mcp.NotificationProgress {
		named, _ = l.calls.Progress(transport.ClientToServer, exchange, mcp.KeyOf(m.ProgressToken()))
	} else if id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
		named = l.byID[mcp.KeyOf(id)]
	}
	if requests := l.on[exchange]; named == nil && len(requests) > 0 {
		return requests[0]
	}
	return named
}

// assignOwners finds the call of each message without one, if just one call was open when it
// was sent. It also notes which messages came directly after an answer, before the client
// said any more.
func (l *driverLoader) assignOwners() {
	open := map[*request]bool{}
	said := 0
	var last *request // answered last, and the client has said nothing since
	for _, s := range l.serverMsgs {
		for ; said < len(l.clientFrames) && l.clientFrames[said].before <= s.index; said++ {
			last = nil
			for _, r := range l.clientFrames[said].requests {
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

// addHangUps finds the places where the client hung up.
func (l *driverLoader) addHangUps() {
	for _, ex := range l.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number}
		for h.clientFrames < len(l.clientFrames) && l.clientFrames[h.clientFrames].seq < ex.hungUp {
			h.clientFrames++
		}
		for h.serverMsgs < len(l.serverMsgs) && l.serverMsgs[h.serverMsgs].seq < ex.hungUp {
			if s := l.serverMsgs[h.serverMsgs]; s.exchange == l.exchanges.first(ex.number) {
				h.on = append(h.on, s)
			}
			h.serverMsgs++
		}
		l.hangUps = append(l.hangUps, h)
	}
}
