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

// ServerConn is the server's end of one client's session over HTTP, from a
// [Server]. Each frame that Read returns has the number of the exchange as
// Stream. A Write of a frame with the Stream of an exchange answers there; with
// Stream 0, or when the exchange is over, the frame goes out on the standalone
// stream, which waits until the client asks for it. In HTTP+SSE there is only the one
// stream.
//
// The response to a notification, or to any frame without a request, begins when the next Read
// is called; before, the reader can call Answer.
type ServerConn struct {
	server *Server
	id     string

	mu       sync.Mutex // never held across I/O
	inbox    []transport.Frame
	news     chan struct{} // there may be more to read
	last     uint64        // exchange
	streams  map[uint64]*serverStream
	lastRead *serverStream   // of the frame read last
	lost     map[uint64]bool // exchanges whose further frames are not sent
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
	c := &ServerConn{server: s, id: s.idPrefix + strings.ToLower(rand.Text()), news: make(chan struct{}, 1), closed: make(chan struct{}),
		lost: map[uint64]bool{}, expected: map[string][]Answer{}, ended: isClosed(s.closed)}
	standalone := newStream(0)
	standalone.form = StreamForm
	standalone.answer.IDs = !s.options.Stateless
	standalone.over = c.ended
	c.streams = map[uint64]*serverStream{0: standalone}
	for method, answers := range s.options.Expected {
		c.expected[method] = slices.Clone(answers)
	}
	s.sessions[c.id] = c
	s.backlog = append(s.backlog, c)
	notify(s.news)
	return c
}

// Expect sets the answers to requests of a method other than POST, one after the other; for GET,
// to requests that begin a stream. Other requests are answered by the specification.
func (c *ServerConn) Expect(method string, answers []Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[method] = slices.Clone(answers)
}

// Answer sets the rest of the response of an exchange.
func (c *ServerConn) Answer(exchange uint64, answer Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[exchange]; s != nil && exchange != 0 {
		s.setAnswer(answer)
	}
}

// Read implements Conn. Read returns io.EOF when the client has ended the session:
// by DELETE, or in HTTP+SSE by hanging up.
func (c *ServerConn) Read(ctx context.Context) (transport.Frame, error) {
	return await(ctx, c.news, c.closed, func() (frame transport.Frame, found bool, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lastRead != nil {
			c.lastRead.afterRead()
			c.lastRead = nil
		}
		switch {
		case isClosed(c.closed):
			return frame, false, transport.ErrClosed
		case len(c.inbox) > 0:
			frame = c.inbox[0]
			c.inbox = c.inbox[1:]
			c.lastRead = c.streams[frame.Stream]
			return frame, true, nil
		case c.ended:
			return frame, false, io.EOF
		}
		return frame, false, nil
	})
}

// isClosed reports whether a channel without values is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Write implements Conn. Write returns when the frame is on the way to the client, or at once if
// no response follows the stream: thus frames of different streams leave in the order of the
// Writes.
func (c *ServerConn) Write(ctx context.Context, frame transport.Frame) error {
	if err := frame.Sendable(); err != nil {
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
	if c.lost[frame.Stream] {
		c.mu.Unlock()
		return nil
	}
	s := c.route(frame)
	s.add(frame)
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

// Break cuts the connection of the response on which the frame would go out: in front of the frame,
// or with half behind its first half. With open the connection stays as it is, and the response
// never ends. A client that can resume the stream, or asks for the standalone stream again, gets the
// frame then. Otherwise the frame is lost, and so are later frames of its exchange.
func (c *ServerConn) Break(frame transport.Frame, half, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.route(frame)
	if half && s.form == AnyForm && !s.completes(frame) {
		s.setForm(StreamForm)
	}
	if s.number != 0 || s.followers > 0 {
		s.cut = &cut{position: len(s.events), newest: s.newest, open: open}
		if half {
			s.cut.frame = frame.Bytes
		}
	}
	if s.number == 0 || s.answer.IDs && s.form == StreamForm && s.sent > 0 {
		s.add(frame)
		return
	}
	s.over = true
	c.lost[s.number] = true
	s.wake()
}

// EndStream ends the response on which the frame would go out, as if all was said: without the frame, and without
// an error of the transport. The frame is lost, and so are later frames of its exchange.
func (c *ServerConn) EndStream(frame transport.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.route(frame)
	if s.number == 0 { // the client may ask for the standalone stream again
		s.newest++
		s.wake()
		return
	}
	if len(s.events) == 0 {
		s.setForm(StreamForm) // JSON without a message would be a fault of its own
	}
	s.over = true
	c.lost[s.number] = true
	s.wake()
}

// route finds the stream for a frame.
func (c *ServerConn) route(frame transport.Frame) *serverStream {
	if s := c.streams[frame.Stream]; s != nil && frame.Stream != 0 && s.accepts(frame) {
		return s
	}
	standalone := c.streams[0]
	if standalone.followers > 0 || c.server.options.Standalone || c.legacy {
		return standalone
	}
	for n := c.last; n > 0; n-- {
		if s := c.streams[n]; s != nil && len(s.unanswered) > 0 && s.accepts(frame) && s.followers > 0 {
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

// end notes that the client has ended the session.
func (c *ServerConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.streams[0].over = true
	c.streams[0].wake()
	notify(c.news)
}

// await is the Read of a Conn: it calls read until read has a result, after each notification on
// news, or until the context ends.
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

// notify wakes one goroutine that waits for news, now or later.
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
