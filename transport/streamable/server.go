package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// ServerOptions say how a [Server] serves. The zero value gives each
// client a session of its own, as the revisions up to 2025-11-25 do.
type ServerOptions struct {
	// Stateless gives out no session ids: every request belongs to one session, as in
	// revision 2026-07-28.
	Stateless bool
	// Legacy has GET begin a session of the HTTP+SSE transport of 2024-11-05 on every
	// path; otherwise, GET does on paths that end in /sse, unless Stateless.
	Legacy bool
	// Standalone keeps messages that belong to no request for the standalone stream, for which
	// a client asks by GET. Otherwise, while no client follows the standalone stream, they go
	// out on the open stream of a request.
	Standalone bool
	// Expected is set for each new session, as by [ServerConn.Expect].
	Expected map[string][]Answer
	// Screen is asked about each request first. If Screen answers, no session learns of
	// the request. May be nil.
	Screen func(Attempt) (a Answer, answered bool)
	// Origins are web origins that may ask besides the origins of this machine; "*" is any.
	Origins []string
}

// Server is the server's side of MCP over HTTP, Streamable HTTP of all
// revisions and HTTP+SSE: an [http.Handler] for one endpoint, whatever its path,
// whose sessions are [ServerConn]s. A Server may be used concurrently.
type Server struct {
	options  ServerOptions
	idPrefix string // the beginning of the server's session ids

	mu       sync.Mutex
	sessions map[string]*ServerConn // by id
	lobby    *ServerConn            // of requests without an id, until it begins a session; stateless: for good
	latest   *ServerConn            // the session that began last
	backlog  []*ServerConn          // not accepted yet
	news     chan struct{}
	closed   chan struct{}
	close    sync.Once
}

// NewServer returns a server without sessions.
func NewServer(o ServerOptions) *Server {
	return &Server{options: o, idPrefix: strings.ToLower(rand.Text()[:8]) + "-", sessions: map[string]*ServerConn{}, news: make(chan struct{}, 1), closed: make(chan struct{})}
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

// Close ends the sessions, as if the clients had ended them, and refuses new ones.
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
	if refusal := MayAsk(r, s.options.Origins); refusal != "" {
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
		if body, err = readBody(r.Body, r.ContentLength, "the body of the request"); errors.Is(err, transport.ErrTooLong) {
			http.Error(w, "mcprec: "+err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil { // a client that is gone does not see it
			http.Error(w, "mcprec: the body of the request is cut short: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	id := r.Header.Get(mcp.HeaderSessionID)
	switch {
	case s.screen(w, r, body):
	case r.Method == http.MethodPost:
		s.post(w, r, id, body)
	case r.Method == http.MethodGet && id == "" && (s.options.Legacy || !s.options.Stateless && strings.HasSuffix(r.URL.Path, "/sse")):
		s.legacy(w, r)
	default:
		s.other(w, r, id)
	}
}

// screen asks Screen about a request, and reports whether Screen has answered.
func (s *Server) screen(w http.ResponseWriter, r *http.Request, body []byte) (over bool) {
	if s.options.Screen == nil {
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
	case c != nil || strings.HasPrefix(id, s.idPrefix):
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
	a, answered := s.options.Screen(attempt)
	switch {
	case !answered:
	case a.Form == StreamForm && open: // a stream without messages
		c.mu.Lock()
		stream := c.addStream()
		stream.setAnswer(a)
		c.mu.Unlock()
		f := &follower{conn: c, stream: stream, writer: w}
		f.follow(r.Context())
	default:
		refuse(w, a)
	}
	return answered
}

// sessionOf returns the session of a request, or nil. A request without an id belongs to the
// session that is about to begin, or began last, unless the request begins a session.
func (s *Server) sessionOf(id string, begins bool) *ServerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case id != "":
		if c := s.sessions[id]; c != nil && !c.isOver() {
			return c
		}
		return nil
	case s.lobby != nil && (s.options.Stateless || s.lobby.mayBegin()):
	case !begins && !s.options.Stateless && s.latest != nil:
		return s.latest
	default:
		s.lobby = s.open()
	}
	c := s.lobby
	if begins && !s.options.Stateless {
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

// mayBegin reports whether the session may still begin.
func (c *ServerConn) mayBegin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.begun && !c.opening && !c.ended
}

// sessionBegan checks whether a session has begun after initialize. If not, the client may try
// again in another way.
func (s *Server) sessionBegan(serverConn *ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	serverConn.mu.Lock()
	defer serverConn.mu.Unlock()
	switch {
	case serverConn.begun:
		s.latest = serverConn
	case s.lobby == nil && !serverConn.ended:
		s.lobby = serverConn
	}
	serverConn.opening = false
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
	stream.noteRequests(f)
	stream.oneWay = c.legacy
	stream.answer.IDs = !s.options.Stateless
	c.opening = c.opening || stream.isInitialize
	c.inbox = append(c.inbox, f)
	notify(c.news)
	c.mu.Unlock()
	response := &follower{conn: c, stream: stream, writer: w,
		begins: stream.isInitialize && !s.options.Stateless && !stream.oneWay}
	defer response.decide() // if there is no response
	response.follow(r.Context())
}

// other answers requests other than POST.
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
		a = queue[0]
		c.expected[r.Method] = queue[1:]
	}
	followed := c.streams[0].followers > 0
	c.mu.Unlock()
	switch {
	case a.Plain:
		if r.Method == http.MethodDelete && a.Status < 300 { // the server took the DELETE
			c.end()
		}
		refuse(w, a)
	case s.options.Stateless || id == "":
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
func refuse(w http.ResponseWriter, answer Answer) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

// attach follows a stream in a new response, from behind the event after; -1: from the first
// event not sent yet. It reports whether there is such a stream.
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
	f := &follower{conn: c, stream: s, writer: w, position: after + 1, resumed: true, number: s.newest}
	c.mu.Unlock()
	f.follow(r.Context())
	return true
}

// legacy begins a session of HTTP+SSE, which lasts as long as the stream.
func (s *Server) legacy(w http.ResponseWriter, r *http.Request) {
	c := s.sessionOf("", true)
	c.mu.Lock()
	c.legacy = true
	c.begun = true
	stream := c.streams[0]
	stream.followers++
	stream.answer.IDs = false
	c.mu.Unlock()
	defer c.end()
	f := &follower{conn: c, stream: stream, writer: w, resumed: true, begun: true}
	if f.respond(Answer{}, mcp.MediaEventStream, []byte("event: endpoint\ndata: /message?sessionId="+c.id+"\n\n")) != nil {
		f.leave()
		return
	}
	f.follow(r.Context())
}
