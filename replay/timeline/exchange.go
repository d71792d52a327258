package timeline

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Exchange is an HTTP exchange. The Model forgets it at its end; a Call keeps its own.
type Exchange struct {
	Scope *Scope

	calls callList // requests in its frames
	sent  unanswerable
}

// Scope is where ids are unique: two messages with one id in one scope are about one request.
type Scope struct {
	// Session is the Mcp-Session-Id of a session of MCP; "" of a pipe, of an endpoint of HTTP+SSE, and of
	// what is sent over HTTP without naming a session.
	Session string
	// Shared is set where several clients may be: of requests over HTTP that name no session.
	Shared bool
	pipe   bool

	isEndpoint bool // of HTTP+SSE
}

// scopes finds the scope of an event.
type scopes struct {
	pipe, shared *Scope
	sessions     map[string]*Scope // by Mcp-Session-Id
	endpoints    map[string]*Scope // of HTTP+SSE, by path and query
}

func newScopes() scopes {
	return scopes{pipe: &Scope{pipe: true}, shared: &Scope{Shared: true}, sessions: map[string]*Scope{}, endpoints: map[string]*Scope{}}
}

// of returns the scope of a frame.
func (s *scopes) of(stream uint64, exchange *Exchange) *Scope {
	switch {
	case stream == 0:
		return s.pipe
	case exchange == nil:
		return s.shared
	}
	return exchange.Scope
}

// asked returns the scope that a request over HTTP names.
func (s *scopes) asked(info *store.HTTPInfo) *Scope {
	if id := first(info.Header[mcp.HeaderSessionID]); id != "" {
		if s.sessions[id] == nil {
			s.sessions[id] = &Scope{Session: id}
		}
		return s.sessions[id]
	}
	return cmp.Or(s.endpoints[info.Path], s.shared)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// takeHTTP takes an HTTP event.
func (m *Model) takeHTTP(step *Step) {
	info, err := store.DecodePayload[store.HTTPInfo](step.Event)
	if err != nil {
		step.Scope = m.scopes.of(step.Stream, nil)
		return
	}
	step.HTTP = &info
	exchange := m.exchanges[step.Stream]
	if info.What == store.HTTPRequest {
		exchange = &Exchange{Scope: m.scopes.asked(&info)}
		m.exchanges[step.Stream] = exchange
	}
	step.Exchange = exchange
	switch info.What {
	case store.HTTPResponse:
		m.takeHead(step, exchange, &info)
	case store.HTTPEvent:
		if exchange != nil && info.SSE != nil && info.SSE.Event == "endpoint" {
			m.nameEndpoint(exchange, info.Body)
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		step.Left, step.Over = m.requests.end(step.Stream)
		delete(m.exchanges, step.Stream)
	}
	step.Scope = m.scopes.of(step.Stream, exchange)
}

// takeHead takes the head of a response. Its status may answer the calls of the exchange, and it may
// name the session that begins.
func (m *Model) takeHead(step *Step, exchange *Exchange, info *store.HTTPInfo) {
	if info.Status >= 300 { // anything but success
		step.Refused = m.requests.refuse(step.Stream)
		slices.SortFunc(step.Refused, func(a, b *Call) int { return a.number - b.number })
		for _, call := range step.Refused {
			call.Response = step.Seq
			call.Latency = step.At - call.At
			call.Failure = fmt.Sprintf("HTTP %d", info.Status)
		}
	}
	if exchange == nil {
		return
	}
	id := first(info.Header[mcp.HeaderSessionID])
	if id == "" || !exchange.Scope.Shared {
		return
	}
	begun := &Scope{Session: id} // also where an earlier session had the id
	m.scopes.sessions[id] = begun
	m.move(exchange, begun)
}

// nameEndpoint notes the URL to which a client of HTTP+SSE posts: what is posted there and what comes on
// this exchange have one scope.
func (m *Model) nameEndpoint(exchange *Exchange, body string) {
	to, err := url.Parse(body)
	if err != nil || !exchange.Scope.Shared {
		return
	}
	begun := &Scope{isEndpoint: true}
	m.scopes.endpoints[to.RequestURI()] = begun
	m.move(exchange, begun)
}

// move gives an exchange, and its calls, another scope.
func (m *Model) move(exchange *Exchange, to *Scope) {
	exchange.Scope = to
	for _, call := range exchange.calls {
		m.requests.move(call, to)
	}
}
