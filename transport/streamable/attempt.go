package streamable

import (
	"net/http"
	"strings"
)

// Attempt is an HTTP request before it is of any session: how it asks, whatever it
// asks for.
type Attempt struct {
	*http.Request
	// Body is that of a POST.
	Body []byte
	// Session is how it names one.
	Session SessionState
	// Lost says that no event has the id after which it would go on.
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

// screen gives the attempt to who serves, and reports whether that was all.
func (s *Server) screen(w http.ResponseWriter, r *http.Request, body []byte) (over bool) {
	if s.o.Screen == nil {
		return false
	}
	state, c := s.stateOf(r.Header.Get("Mcp-Session-Id") + r.URL.Query().Get("sessionId"))
	resumes := r.Header.Get("Last-Event-Id")
	a, answered := s.o.Screen(Attempt{Request: r, Body: body, Session: state, Lost: resumes != "" && !c.hasEvent(resumes)})
	switch {
	case !answered:
	case a.Form == StreamForm && c != nil:
		f := &follower{conn: c, stream: c.hold(a), w: w}
		f.follow(r.Context())
	default:
		refuse(w, a)
	}
	return answered
}

// stateOf returns the session that a request names, if it is open.
func (s *Server) stateOf(id string) (SessionState, *ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	switch {
	case id == "":
		return SessionNone, nil
	case c != nil && !c.isOver():
		return SessionOpen, c
	case c != nil || strings.HasPrefix(id, s.mark):
		return SessionEnded, nil
	}
	return SessionUnknown, nil
}

// isOver reports whether the client has ended the session.
func (c *ServerConn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// hasEvent reports whether the session, if there is one, gave the id to an event.
func (c *ServerConn) hasEvent(id string) bool {
	if c == nil {
		return false
	}
	number, event, ok := parseEventID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[number]
	return ok && s != nil && event < len(s.events)
}

// hold begins a stream on which nothing is said.
func (c *ServerConn) hold(a Answer) *httpStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	s := newStream(c.last)
	s.tell(a)
	s.followers, s.over = 1, c.ended || c.isClosed()
	c.streams[s.number] = s
	return s
}
