package streamable

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Answer is what is known beforehand about the response to an HTTP request; in a
// replay, how the recorded server responded. The zero Answer leaves all to the Server.
type Answer struct {
	// Status is the response's; 0: what fits.
	Status int
	// Header are further headers of it: WWW-Authenticate, Allow, Retry-After.
	Header http.Header
	// Form is how messages come.
	Form AnswerForm
	// Body is the body of a response without messages.
	Body []byte
	// IDs gives each event of the stream an id, by which it can be resumed.
	IDs bool
	// Primed begins the stream with an event that has an id and no message.
	Primed bool
	// Retry is what the stream tells the client of when to come back.
	Retry string
	// Cut ends the response, which is a stream, after its first CutAfter messages; the
	// others wait for the client to resume it. Broken ends it as a connection does
	// that breaks.
	Cut, Broken bool
	CutAfter    int
	// After is how many messages follow the last response.
	After int
	// Plain is a response that has no messages, whatever was asked.
	Plain bool
	// None cuts the connection in place of a response to a message.
	None bool
}

// AnswerForm is the form of a response with messages.
type AnswerForm uint8

const (
	// AnyForm is JSON when the first message is all there is to answer, and a stream
	// otherwise.
	AnyForm AnswerForm = iota
	// JSONForm is one message as the body.
	JSONForm
	// StreamForm is a stream of server-sent events.
	StreamForm
)

// Attempt is an HTTP request that no session has been told of yet.
type Attempt struct {
	*http.Request
	// Body is that of a POST.
	Body []byte
	// Session is how it names one.
	Session SessionState
	// Lost says that its Last-Event-ID is not the id of an event of its session.
	Lost bool
}

// SessionState is what the id stands for by which an HTTP request names its session.
type SessionState uint8

const (
	// SessionOpen is a session that the server has given.
	SessionOpen SessionState = iota
	// SessionNone is no id.
	SessionNone
	// SessionEnded was a session until the client deleted it.
	SessionEnded
	// SessionUnknown never was one.
	SessionUnknown
)

// ServerOptions say how a [Server] serves. The zero value gives each
// client a session of its own, as the revisions up to 2025-11-25 do.
type ServerOptions struct {
	// Stateless gives out no session ids: all requests are of one session, as in
	// revision 2026-07-28.
	Stateless bool
	// Legacy has GET begin a session of the HTTP+SSE transport of 2024-11-05 on every
	// path; without it, it does on those that end in /sse, unless Stateless.
	Legacy bool
	// Standalone keeps messages that belong to no request for the stream that a
	// client asks for by GET. Without it they go out on the stream of a request, if
	// one is open and that stream is not.
	Standalone bool
	// Expected is what each session begins with as if by [ServerConn.Expect].
	Expected map[string][]Answer
	// Screen is asked about each request first. If it answers, no session is told of
	// the request. May be nil.
	Screen func(Attempt) (a Answer, answered bool)
	// Origins are web origins that may ask besides those of this machine; "*" is any.
	Origins []string
}

// Server is the server's side of MCP over HTTP, Streamable HTTP of all
// revisions and HTTP+SSE: an [http.Handler] for one endpoint, whatever its path,
// whose sessions are [ServerConn]s. It may be used concurrently.
type Server struct {
	o    ServerOptions
	mark string // the beginning of all session ids that it gives

	mu       sync.Mutex
	sessions map[string]*ServerConn // by id
	lobby    *ServerConn            // of requests without an id, until it begins a session; stateless: for good
	latest   *ServerConn            // that began one
	backlog  []*ServerConn          // not accepted yet
	news     chan struct{}
	closed   chan struct{}
	close    sync.Once
}

// NewServer returns a server without sessions.
func NewServer(o ServerOptions) *Server {
	return &Server{o: o, mark: strings.ToLower(rand.Text()[:8]) + "-", sessions: map[string]*ServerConn{}, news: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Accept returns the next session, or [ErrClosed] after Close.
func (s *Server) Accept(ctx context.Context) (*ServerConn, error) {
	for {
		s.mu.Lock()
		if len(s.backlog) > 0 {
			c := s.backlog[0]
			s.backlog = s.backlog[1:]
			s.mu.Unlock()
			return c, nil
		}
		s.mu.Unlock()
		select {
		case <-s.news:
		case <-s.closed:
			return nil, transport.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends all sessions as if their clients had, and takes no new ones.
func (s *Server) Close() {
	s.close.Do(func() { close(s.closed) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		c.end()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := MayAsk(r, s.o.Origins); refusal != "" {
		http.Error(w, "mcprec: "+refusal, http.StatusForbidden)
		return
	}
	if isClosed(s.closed) {
		http.Error(w, "mcprec: the server is going down", http.StatusServiceUnavailable)
		return
	}
	var body []byte
	if r.Method == http.MethodPost {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil { // a client that is gone will not hear it
			http.Error(w, "mcprec: the body of the request is cut short: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	id := r.Header.Get(mcp.HeaderSessionID)
	switch {
	case s.screen(w, r, body):
	case r.Method == http.MethodPost:
		s.post(w, r, id, body)
	case r.Method == http.MethodGet && id == "" && (s.o.Legacy || !s.o.Stateless && strings.HasSuffix(r.URL.Path, "/sse")):
		s.legacy(w, r)
	default:
		s.other(w, r, id)
	}
}

// screen asks Screen about a request, and reports whether that has answered it.
func (s *Server) screen(w http.ResponseWriter, r *http.Request, body []byte) (over bool) {
	if s.o.Screen == nil {
		return false
	}
	attempt := Attempt{Request: r, Body: body, Session: SessionUnknown}
	id := r.Header.Get(mcp.HeaderSessionID) + r.URL.Query().Get("sessionId")
	s.mu.Lock()
	c := s.sessions[id]
	switch {
	case id == "":
		attempt.Session = SessionNone
	case c != nil && !c.isOver():
		attempt.Session = SessionOpen
	case c != nil || strings.HasPrefix(id, s.mark):
		attempt.Session = SessionEnded
	}
	s.mu.Unlock()
	open := attempt.Session == SessionOpen
	if last := r.Header.Get(mcp.HeaderLastEventID); last != "" {
		attempt.Lost = true
		if number, event, ok := parseEventID(last); ok && open {
			c.mu.Lock()
			stream := c.streams[number]
			attempt.Lost = stream == nil || event >= len(stream.events)
			c.mu.Unlock()
		}
	}
	a, answered := s.o.Screen(attempt)
	switch {
	case !answered:
	case a.Form == StreamForm && open: // a stream on which nothing is said
		c.mu.Lock()
		stream := c.addStream()
		stream.tell(a)
		c.mu.Unlock()
		f := &follower{conn: c, stream: stream, w: w}
		f.follow(r.Context())
	default:
		refuse(w, a)
	}
	return answered
}

// sessionOf returns the session of a request, or nil. A request without an id that does
// not begin a session belongs to the session that is about to begin, or began last.
func (s *Server) sessionOf(id string, begins bool) *ServerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case id != "":
		if c := s.sessions[id]; c != nil && !c.isOver() {
			return c
		}
		return nil
	case s.lobby != nil && (s.o.Stateless || s.lobby.isIdle()):
	case !begins && !s.o.Stateless && s.latest != nil:
		return s.latest
	default:
		s.lobby = s.open()
	}
	c := s.lobby
	if begins && !s.o.Stateless {
		s.lobby = nil
	}
	return c
}

// isOver reports whether the client has ended the session.
func (c *ServerConn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// isIdle reports whether the session may still begin.
func (c *ServerConn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.begun && !c.opening && !c.ended
}

// settle looks whether a session that was to begin has. If not, the client may try
// again in another way.
func (s *Server) settle(c *ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.begun:
		s.latest = c
	case s.lobby == nil && !c.ended:
		s.lobby = c
	}
	c.opening = false
}

// post takes a message in.
func (s *Server) post(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	messages, _ := transport.Frame{Bytes: body}.Messages()
	begins := slices.ContainsFunc(messages, func(m transport.Message) bool { return m.Method == mcp.MethodInitialize })
	c := s.sessionOf(id+r.URL.Query().Get("sessionId"), begins)
	if c == nil {
		w.Header().Set("Content-Type", mcp.MediaJSON)
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		return
	}
	c.mu.Lock()
	stream := c.addStream()
	f := transport.Frame{Bytes: body, Stream: stream.number}
	stream.ask(f)
	stream.oneWay, stream.answer.IDs = c.legacy, !s.o.Stateless
	c.opening = c.opening || stream.begins
	c.inbox = append(c.inbox, f)
	notify(c.news)
	c.mu.Unlock()
	if stream.begins && !s.o.Stateless && !stream.oneWay {
		defer s.settle(c)
	}
	response := &follower{conn: c, stream: stream, w: w}
	response.follow(r.Context())
}

// other answers what is no POST.
func (s *Server) other(w http.ResponseWriter, r *http.Request, id string) {
	c := s.sessionOf(id, false)
	if c == nil {
		http.Error(w, "mcprec: no such session", http.StatusNotFound)
		return
	}
	resumes := r.Header.Get(mcp.HeaderLastEventID)
	if r.Method == http.MethodGet && resumes != "" {
		if stream, event, ok := parseEventID(resumes); !ok || !c.attach(w, r, stream, event) {
			http.Error(w, "mcprec: no event has the id "+resumes, http.StatusBadRequest)
		}
		return
	}
	var a Answer // the zero Answer is not Plain
	c.mu.Lock()
	if queue := c.expected[r.Method]; len(queue) > 0 {
		a, c.expected[r.Method] = queue[0], queue[1:]
	}
	followed := c.streams[0].followers > 0
	c.mu.Unlock()
	switch {
	case a.Plain:
		if r.Method == http.MethodDelete && a.Status < 300 { // it was heeded
			c.end()
		}
		refuse(w, a)
	case s.o.Stateless || id == "":
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "mcprec: there is no session to ask for this", http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet && followed: // a message must not go out twice
		http.Error(w, "mcprec: the session has a stream already; a client comes back to it by Last-Event-ID", http.StatusConflict)
	case r.Method == http.MethodGet:
		c.attach(w, r, 0, -1)
	case r.Method == http.MethodDelete:
		c.end()
		w.WriteHeader(max(a.Status, http.StatusOK))
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "mcprec: want GET, POST or DELETE", http.StatusMethodNotAllowed)
	}
}

// refuse responds without a message.
func refuse(w http.ResponseWriter, a Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// attach follows the stream in a response of its own, from behind an event; -1:
// from what nobody has taken yet. It reports whether there is such a stream.
func (c *ServerConn) attach(w http.ResponseWriter, r *http.Request, number uint64, after int) bool {
	c.mu.Lock()
	s := c.streams[number]
	if s == nil || after >= len(s.events) {
		c.mu.Unlock()
		return false
	}
	if after < 0 {
		after = s.sent - 1
	}
	s.followers++
	s.newest++
	s.wake()
	f := &follower{conn: c, stream: s, w: w, at: after + 1, resumed: true, nth: s.newest}
	c.mu.Unlock()
	f.follow(r.Context())
	return true
}

// legacy begins a session of HTTP+SSE, which lives as long as its stream.
func (s *Server) legacy(w http.ResponseWriter, r *http.Request) {
	c := s.sessionOf("", true)
	c.mu.Lock()
	c.legacy, c.begun = true, true
	stream := c.streams[0]
	stream.followers++
	stream.answer.IDs = false
	c.mu.Unlock()
	defer c.end()
	f := &follower{conn: c, stream: stream, w: w, resumed: true, begun: true}
	if f.respond(Answer{}, mcp.MediaEventStream, []byte("event: endpoint\ndata: /message?sessionId="+c.id+"\n\n")) != nil {
		f.leave()
		return
	}
	f.follow(r.Context())
}

// MayAsk says why an HTTP request must be refused; "": it need not. The
// specification has servers look at the origin, against pages of other sites that
// reach a server of this machine by DNS rebinding (basic transports, security
// warning). One that is asked on loopback is not asked by another name either, but
// for those of the origins: a tunnel or a proxy of this machine may keep the name.
func MayAsk(r *http.Request, origins []string) (refusal string) {
	if origin := r.Header.Get("Origin"); origin != "" && !isOrigin(origin, origins) {
		return "web pages of " + origin + " may not use this server"
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() && !isHost(r.Host, origins) {
		return "this server is not " + r.Host
	}
	return ""
}

// isOrigin reports whether an origin is one of this machine or of those allowed.
func isOrigin(origin string, allowed []string) bool {
	for _, o := range allowed {
		if o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname())
}

// isHost reports whether the host of an address, host or host:port, is this machine or
// that of an allowed origin.
func isHost(address string, allowed []string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	for _, o := range allowed {
		if o == "*" {
			return true
		}
		if u, err := url.Parse(o); err == nil && u.Host != "" && strings.EqualFold(u.Hostname(), host) {
			return true
		}
	}
	return isLoopback(host)
}

// isLoopback reports whether a name or an address is this machine's own.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
