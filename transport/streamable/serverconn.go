package streamable

import (
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/transport"
)

// ServerConn is the server's end of one client's session over HTTP, from an
// [Server]. Each frame that Read returns has the number of its exchange as
// Stream. A Write of a frame with the Stream of an exchange answers there; with
// Stream 0, or when the exchange is over, the frame goes out on the standalone
// stream, which waits until the client asks for it. In HTTP+SSE there is only the one
// stream.
//
// A request without a message to answer, such as a notification, is responded to
// when the next Read is called, so that its reader can call Answer before.
type ServerConn struct {
	server *Server
	id     string

	mu       sync.Mutex // never held across I/O
	inbox    []transport.Frame
	news     chan struct{} // there may be more to read
	last     uint64        // exchange
	streams  map[uint64]*serverStream
	given    *serverStream // of the frame that was read last
	expected map[string][]Answer
	legacy   bool // HTTP+SSE
	named    bool // the client knows the session's id
	begun    bool // an initialize has succeeded
	opening  bool // or is under way
	ended    bool // the client's side
	closed   chan struct{}
	close    sync.Once
}

// open begins a session. The server's lock is held.
func (s *Server) open() *ServerConn {
	c := &ServerConn{server: s, id: s.mark + strings.ToLower(rand.Text()), news: make(chan struct{}, 1), closed: make(chan struct{}),
		expected: map[string][]Answer{}, ended: isClosed(s.closed)}
	standalone := newStream(0)
	standalone.form, standalone.answer.IDs, standalone.over = StreamForm, !s.o.Stateless, c.ended
	c.streams = map[uint64]*serverStream{0: standalone}
	for method, answers := range s.o.Expected {
		c.expected[method] = slices.Clone(answers)
	}
	s.sessions[c.id] = c
	s.backlog = append(s.backlog, c)
	notify(s.news)
	return c
}

// Expect says what requests of a method other than POST are answered, one after
// the other; of GET those that begin a stream. What is not said is answered as the
// specification has it.
func (c *ServerConn) Expect(method string, answers []Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[method] = slices.Clone(answers)
}

// Answer says how the exchange is responded to. It has no effect on what was sent.
func (c *ServerConn) Answer(exchange uint64, a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[exchange]; s != nil && exchange != 0 {
		s.tell(a)
	}
}

// Read implements Conn. It returns io.EOF when the client has ended the session:
// by DELETE, or in HTTP+SSE by hanging up.
func (c *ServerConn) Read(ctx context.Context) (transport.Frame, error) {
	return await(ctx, c.news, c.closed, func() (f transport.Frame, found bool, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.given != nil {
			c.given.settle()
			c.given = nil
		}
		switch {
		case isClosed(c.closed):
			return f, false, transport.ErrClosed
		case len(c.inbox) > 0:
			f = c.inbox[0]
			c.inbox = c.inbox[1:]
			c.given = c.streams[f.Stream]
			return f, true, nil
		case c.ended:
			return f, false, io.EOF
		}
		return f, false, nil
	})
}

// isClosed reports whether a channel that carries nothing is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Write implements Conn. It returns when the frame is on its way to the client, or
// at once when nobody is there to take it: frames of different streams thus leave in
// the order in which they were written.
func (c *ServerConn) Write(ctx context.Context, f transport.Frame) error {
	if err := f.Sendable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	if isClosed(c.closed) {
		c.mu.Unlock()
		return transport.ErrClosed
	}
	s := c.route(f)
	s.add(f)
	upto := len(s.events)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		waits, changed := s.followers > 0 && s.sent < upto, s.changed
		c.mu.Unlock()
		if !waits {
			return nil
		}
		select {
		case <-changed:
		case <-c.closed:
			return transport.ErrClosed
		case <-ctx.Done():
			return nil // taken, if not sent
		}
	}
}

// route finds the stream that a frame goes out on.
func (c *ServerConn) route(f transport.Frame) *serverStream {
	if s := c.streams[f.Stream]; s != nil && f.Stream != 0 && s.takes(f) {
		return s
	}
	standalone := c.streams[0]
	if standalone.followers > 0 || c.server.o.Standalone || c.legacy {
		return standalone
	}
	for n := c.last; n > 0; n-- {
		if s := c.streams[n]; s != nil && len(s.asks) > 0 && s.takes(f) && s.followers > 0 {
			return s
		}
	}
	return standalone
}

// Unsent returns how many messages wait for the standalone stream: the client has not
// asked for it, or hung up.
func (c *ServerConn) Unsent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams[0].events) - c.streams[0].sent
}

// Close implements Conn. Responses that are under way are cut short.
func (c *ServerConn) Close() error {
	c.close.Do(func() {
		c.mu.Lock()
		close(c.closed)
		c.mu.Unlock()
		s := c.server
		s.mu.Lock()
		delete(s.sessions, c.id)
		if s.lobby == c {
			s.lobby = nil
		}
		if s.latest == c {
			s.latest = nil
		}
		s.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, stream := range c.streams {
			stream.over = true
			stream.wake()
		}
	})
	return nil
}

// end says that the client has ended the session.
func (c *ServerConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.streams[0].over = true
	c.streams[0].wake()
	notify(c.news)
}

// await reads what is there, or comes, until the context ends: the Read of a Conn
// whose frames others bring. read is asked again after each word of news.
func await(ctx context.Context, news, closed <-chan struct{}, read func() (transport.Frame, bool, error)) (transport.Frame, error) {
	for {
		if err := ctx.Err(); err != nil {
			return transport.Frame{}, err
		}
		f, found, err := read()
		if found || err != nil {
			return f, err
		}
		select {
		case <-news:
		case <-closed:
		case <-ctx.Done():
		}
	}
}

// notify leaves word for one goroutine that waits, or will.
func notify(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// addStream begins the stream of a further exchange, which has one follower. The lock is
// held.
func (c *ServerConn) addStream() *serverStream {
	c.last++
	s := newStream(c.last)
	s.followers, s.over = 1, c.ended || isClosed(c.closed)
	c.streams[s.number] = s
	return s
}
