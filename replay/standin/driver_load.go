package standin

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// hangUp is a place where the recorded client hung up on an HTTP exchange before it had all
// of the response: in revision 2026-07-28 a client cancels a call in this way, and ends a
// subscription.
type hangUp struct {
	exchange uint64
	frames   int        // sent before it
	messages int        // heard before it
	on       []*message // of these, the messages heard on the exchange
}

// driverLoader reads a recording into a script.
type driverLoader struct {
	script
	calls       timeline.Index[mcp.Key, *request]
	questions   timeline.Index[mcp.Key, *message]
	exchanges   *exchanges
	on          map[uint64][]*request // the requests of an HTTP exchange
	byID        map[mcp.Key]*request  // the latest request with the id
	at          time.Duration         // of the frame before
	clientEnded bool                  // the client has ended its side
}

func loadDriverScript(events []store.Event) *script {
	l := driverLoader{
		calls:     timeline.NewIndex[mcp.Key, *request](timeline.All),
		questions: timeline.NewIndex[mcp.Key, *message](timeline.All),
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
	script := l.script // a copy, so that the indexes are not kept
	return &script
}

// addClientFrame adds a frame of the recorded client.
func (l *driverLoader) addClientFrame(e store.Event) {
	if isBlank(e) {
		return
	}
	f := &ownFrame{index: len(l.frames), seq: e.Seq, frame: onOneLine(e.AsFrame()), before: len(l.messages), gap: e.At - l.at}
	l.frames = append(l.frames, f)
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
	for _, question := range f.owners {
		f.question = question
		question.answers = append(question.answers, f)
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
		s := &message{
			index: len(l.messages), seq: e.Seq, exchange: exchange, packed: transport.Pack(m.Raw),
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
		l.messages = append(l.messages, s)
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

// addHangUps finds the places where the client hung up.
func (l *driverLoader) addHangUps() {
	for _, ex := range l.exchanges.order {
		if ex.hungUp == 0 || ex.method != http.MethodPost && !ex.resumed {
			continue
		}
		h := hangUp{exchange: ex.number}
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
}
