package timeline

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Exchange is an HTTP exchange, as far as it has been read. The Model forgets it at its end; a Call keeps
// its own.
type Exchange struct {
	Scope  *Scope
	Number uint64 // the Stream of its events
	Method string // HTTP's
	Path   string // with its query
	// SessionID and Revision are what the headers of the request name; "" for none.
	SessionID string
	Revision  string
	Asked     Moment // the head of the request
	Request   Body

	Status    int // of the response; 0: none so far
	Head      Moment
	MediaType string // of the response, in lower case and without parameters
	Coding    string // the content coding of the response; "" for none
	Response  Body

	Ended Moment
	What  string // how it ended, as store.HTTPInfo names it
	Fault string // the cause of a cut

	isStreamOf string // the endpoint of HTTP+SSE whose answers come on it

	calls   callList // requests in its frames
	sent    unanswerable
	effects []effect // of the client's frames, until HTTP accepts them
	text    []byte   // of the response, where it may be an answer that no frame has
}

// Moment is an event and its time; the zero Moment is none.
type Moment struct {
	Seq uint64
	At  time.Duration
}

// Body is the body of a request or a response.
type Body struct {
	Length int64  // bytes, as the head announced them; 0: not known
	Size   int64  // bytes so far
	Seq    uint64 // of its first event; 0: there is no body
	Open   bool   // its frame has no end: the rest has not come, or never came
	Text   []byte // its beginning, of bytes that are no frame
	Fault  string // why it could not be decoded
}

// Lacks returns how many announced bytes have not come; 0 if that is not known.
func (b *Body) Lacks() int64 {
	if !b.Open || b.Length == 0 {
		return 0
	}
	return max(0, b.Length-b.Size)
}

// IsStream reports whether the response is a stream of server-sent events.
func (x *Exchange) IsStream() bool { return x.MediaType == mcp.MediaEventStream }

// IsRefused reports whether HTTP refused the request: what the client sent in it was never taken.
func (x *Exchange) IsRefused() bool { return x.Status >= 300 }

// effect is what a frame of the client did to a call. If HTTP refuses the exchange, the server never took the
// frame, and the effect is undone.
type effect struct {
	call     *Call
	seq      uint64
	answered bool   // else it cancelled the call
	before   uint64 // the cancellation before
}

// Scope is where ids are unique: two messages with one id in one scope are about one request.
type Scope struct {
	// Session is the Mcp-Session-Id of a session of MCP; "" of a pipe, of an endpoint of HTTP+SSE, and of
	// what is sent over HTTP without naming a session.
	Session string
	// Shared is set where several clients may be: of requests over HTTP that name no session.
	Shared bool
	// Endpoint is the path of an endpoint of HTTP+SSE, with its query; "" of any other scope.
	Endpoint string
	pipe     bool
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
		exchange = &Exchange{
			Scope: m.scopes.asked(&info), Number: step.Stream, Method: info.Method, Path: info.Path, Asked: step.Moment(),
			SessionID: first(info.Header[mcp.HeaderSessionID]), Revision: first(info.Header[mcp.HeaderProtocolVersion]),
			Request: Body{Length: info.Length},
		}
		m.exchanges[step.Stream] = exchange
	}
	step.Exchange = exchange
	isResponse := exchange != nil && step.Dir == transport.ServerToClient
	switch info.What {
	case store.HTTPResponse:
		m.takeHead(step, exchange, &info)
	case store.HTTPEvent:
		if exchange != nil && info.SSE != nil && info.SSE.Event == "endpoint" {
			m.nameEndpoint(exchange, info.Body)
		}
		if isResponse {
			m.takeEvent(step, exchange, &info)
		}
	case store.HTTPBody:
		if isResponse {
			m.takeStretch(step, exchange, &info)
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		if exchange != nil {
			m.takeRest(step, exchange, &info)
		}
		m.takeEnd(step, exchange, &info)
	}
	step.Scope = m.scopes.of(step.Stream, exchange)
}

// Moment returns the event of the step and its time.
func (s *Step) Moment() Moment { return Moment{s.Seq, s.At} }

// takeEnd takes the end of an exchange.
func (m *Model) takeEnd(step *Step, exchange *Exchange, info *store.HTTPInfo) {
	step.Left, step.Over = m.requests.end(step.Stream)
	delete(m.exchanges, step.Stream)
	if exchange != nil {
		exchange.Ended = step.Moment()
		exchange.What = info.What
		exchange.Fault = info.Error
		exchange.text = nil
		if info.What == store.HTTPAbort && mcp.Stateless.Has(exchange.Revision) { // which cancels
			for _, call := range step.Left {
				call.Cancelled = step.Seq
				call.hungUp = true
			}
			step.Cancelled = step.Left
		}
	}
}

// takeHead takes the head of a response. Its status may answer the calls of the exchange, and it may
// name the session that begins.
func (m *Model) takeHead(step *Step, exchange *Exchange, info *store.HTTPInfo) {
	if info.Status >= 300 { // anything but success
		m.refuse(step, info.Status)
	}
	if exchange == nil {
		return
	}
	exchange.Status = info.Status
	exchange.Head = step.Moment()
	if exchange.IsRefused() {
		m.undo(step, exchange)
	}
	exchange.effects = nil
	exchange.Response.Length = info.Length
	media, _, _ := strings.Cut(first(info.Header["Content-Type"]), ";")
	exchange.MediaType = strings.ToLower(strings.TrimSpace(media))
	if coding := strings.ToLower(strings.Join(info.Header["Content-Encoding"], ", ")); coding != "identity" {
		exchange.Coding = coding
	}
	if exchange.Coding != "" { // the length is that of the coded bytes
		exchange.Response.Length = 0
	}
	id := first(info.Header[mcp.HeaderSessionID])
	if id == "" || !exchange.Scope.Shared {
		return
	}
	begun := &Scope{Session: id} // also where an earlier session had the id
	m.scopes.sessions[id] = begun
	m.move(exchange, begun)
}

// refuse notes that the status of a response answers the open calls of its exchange.
func (m *Model) refuse(step *Step, status int) {
	step.Refused = m.requests.refuse(step.Stream)
	slices.SortFunc(step.Refused, func(a, b *Call) int { return a.number - b.number })
	for _, call := range step.Refused {
		call.Response = step.Seq
		call.Latency = step.At - call.At
		call.Failure = fmt.Sprintf("HTTP %d", status)
	}
}

// undo takes back what the frames of a refused exchange did to calls.
func (m *Model) undo(step *Step, exchange *Exchange) {
	for _, e := range exchange.effects {
		switch {
		case e.answered && e.call.Response == e.seq:
			m.requests.reopen(e.call)
		case !e.answered && e.call.Cancelled == e.seq:
			e.call.Cancelled = e.before
		default:
			continue
		}
		step.Undone = append(step.Undone, e.call)
	}
	exchange.effects = nil
}

// IsRefused reports whether HTTP has refused a frame of the client before its body came: the server never
// takes it.
func (s *Step) IsRefused() bool {
	return s.Exchange != nil && s.Exchange.IsRefused() && s.Dir == transport.ClientToServer
}

// note keeps an effect of a frame on a call, if HTTP may still refuse it.
func (s *Step) note(e effect) {
	if x := s.Exchange; x != nil && s.Dir == transport.ClientToServer && x.Head.Seq == 0 {
		e.seq = s.Seq
		x.effects = append(x.effects, e)
	}
}

// nameEndpoint notes the URL to which a client of HTTP+SSE posts: what is posted there and what comes on
// this exchange have one scope. An endpoint whose stream has ended may be named again by the next one.
func (m *Model) nameEndpoint(exchange *Exchange, body string) {
	to, err := url.Parse(body)
	if err != nil || !exchange.Scope.Shared {
		return
	}
	exchange.isStreamOf = to.RequestURI()
	scope := m.scopes.endpoints[exchange.isStreamOf]
	for _, other := range m.exchanges { // where the stream is open, another client has it
		if other != exchange && other.isStreamOf == exchange.isStreamOf {
			scope = nil
		}
	}
	if scope == nil {
		scope = &Scope{Endpoint: exchange.isStreamOf}
		m.scopes.endpoints[scope.Endpoint] = scope
	}
	m.move(exchange, scope)
}

// move gives an exchange, and its calls, another scope.
func (m *Model) move(exchange *Exchange, to *Scope) {
	exchange.Scope = to
	for _, call := range exchange.calls {
		m.requests.move(call, to)
	}
}
