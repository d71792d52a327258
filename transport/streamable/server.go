package streamable

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/transport"
)

// HTTPServerOptions say how an [HTTPServer] serves. The zero value gives each
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
	// Screen is asked about each request before it is of any session. What it answers
	// is all that happens: no session is told of the request. May be nil.
	Screen func(Attempt) (a Answer, answered bool)
	// Origins are web origins that may ask besides those of this machine; "*" is any.
	Origins []string
}

// HTTPServer is the server's side of MCP over HTTP, Streamable HTTP of all
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
	close    func()
}

// NewHTTPServer returns a server without sessions.
func NewServer(o ServerOptions) *Server {
	s := &Server{o: o, mark: strings.ToLower(rand.Text()[:8]) + "-", sessions: map[string]*ServerConn{}, news: make(chan struct{}, 1), closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	return s
}

// Accept returns the next session, or [ErrClosed] after Close.
func (s *Server) Accept(ctx context.Context) (*ServerConn, error) {
	for {
		if c := s.next(); c != nil {
			return c, nil
		}
		select {
		case <-s.news:
		case <-s.closed:
			return nil, transport.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Server) next() *ServerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.backlog) == 0 {
		return nil
	}
	c := s.backlog[0]
	s.backlog = s.backlog[1:]
	return c
}

// Close ends all sessions as if their clients had, and takes no new ones.
func (s *Server) Close() {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		c.end()
	}
}

// open begins a session. The lock is held.
func (s *Server) open() *ServerConn {
	c := newServerConn(s, s.mark+strings.ToLower(rand.Text()))
	for method, answers := range s.o.Expected {
		c.Expect(method, answers)
	}
	select {
	case <-s.closed:
		c.end()
	default:
	}
	s.sessions[c.id] = c
	s.backlog = append(s.backlog, c)
	notify(s.news)
	return c
}

// forget is told that a session is over.
func (s *Server) forget(c *ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, c.id)
	if s.lobby == c {
		s.lobby = nil
	}
	if s.latest == c {
		s.latest = nil
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := MayAsk(r, s.o.Origins); refusal != "" {
		http.Error(w, "mcprec: "+refusal, http.StatusForbidden)
		return
	}
	select {
	case <-s.closed:
		http.Error(w, "mcprec: the server is going down", http.StatusServiceUnavailable)
		return
	default:
	}
	var body []byte
	if r.Method == http.MethodPost {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil { // a client that is gone will not hear it
			http.Error(w, "mcprec: the body of the request is cut short: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	id := r.Header.Get("Mcp-Session-Id")
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

// sessionOf returns the session of a request. One without an id that does not begin
// a session is of the one that is about to begin, or began last.
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

const unknownSession = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`

// post takes a message in.
func (s *Server) post(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	query := r.URL.Query().Get("sessionId")
	c := s.sessionOf(id+query, isInitialize(body))
	if c == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, unknownSession)
		return
	}
	stream := c.begin(body)
	f := &follower{conn: c, stream: stream, w: w}
	if stream.begins && !s.o.Stateless && !stream.oneWay {
		defer s.settle(c)
	}
	f.follow(r.Context())
}

func isInitialize(body []byte) bool {
	messages, _ := transport.Frame{Bytes: body}.Messages()
	for _, m := range messages {
		if m.Method == "initialize" {
			return true
		}
	}
	return false
}

// other answers what is no POST.
func (s *Server) other(w http.ResponseWriter, r *http.Request, id string) {
	c := s.sessionOf(id, false)
	if c == nil {
		http.Error(w, "mcprec: no such session", http.StatusNotFound)
		return
	}
	resumes := r.Header.Get("Last-Event-Id")
	if r.Method == http.MethodGet && resumes != "" {
		c.resume(w, r, resumes)
		return
	}
	a, known := c.expect(r.Method)
	switch {
	case known && a.Plain:
		if r.Method == http.MethodDelete && a.Status < 300 { // it was heeded
			c.end()
		}
		refuse(w, a)
	case s.o.Stateless || id == "":
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "mcprec: there is no session to ask for this", http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet && c.isFollowed():
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

// isFollowed reports whether the client has the standalone stream: a message must not
// go out twice.
func (c *ServerConn) isFollowed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[0].followers > 0
}

// refuse responds without a message.
func refuse(w http.ResponseWriter, a Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// resume goes on with a stream after the event with the id.
func (c *ServerConn) resume(w http.ResponseWriter, r *http.Request, id string) {
	stream, event, ok := parseEventID(id)
	if !ok || !c.attach(w, r, stream, event) {
		http.Error(w, "mcprec: no event has the id "+id, http.StatusBadRequest)
	}
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
	if f.respond(Answer{}, "text/event-stream", []byte("event: endpoint\ndata: /message?sessionId="+c.id+"\n\n")) != nil {
		f.leave()
		return
	}
	f.follow(r.Context())
}
