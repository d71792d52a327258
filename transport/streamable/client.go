package streamable

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Client opens sessions with a server over HTTP. URL must be set; the rest may be zero.
type Client struct {
	URL string
	// Client makes the requests; nil: one that follows no redirect, for a redirect
	// must not take credentials elsewhere.
	Client *http.Client
	// Header goes with every request: Authorization.
	Header http.Header
	// Legacy is the HTTP+SSE transport of 2024-11-05.
	Legacy bool
	// Listen says when the standalone stream is asked for.
	Listen ListenTime
	// Session says which session an exchange belongs to, where one Conn stands for
	// several clients. If it is nil, all belong to one.
	Session func(stream uint64) string
	// Manner says how the request of an exchange is made. If it is nil or returns nil,
	// the request is made as the specification says.
	Manner func(stream uint64) *Manner
	// Forgive is asked about a response that has no message and is no success. If it is
	// nil or returns false, the response is an error of Read.
	Forgive func(stream uint64, e *StatusError) bool
}

// Manner is how a client makes the request of an exchange, where that matters.
type Manner struct {
	// Routing are the headers by which it is routed, instead of those of the
	// specification. Header replaces others; one without values is left out.
	Routing, Header http.Header
	// Session is how the request names its session. One that has ended is deleted
	// first.
	Session SessionState
	// ID is the session id of SessionUnknown.
	ID string
	// Path is where it asks; "": at the endpoint.
	Path string
	// MayBreak says that the connection may break before there is a response.
	MayBreak bool
	// Awaits makes a Write return only when the response begins or the connection breaks.
	Awaits bool
}

// ListenTime is when a client asks for the standalone stream of a session.
type ListenTime uint8

const (
	// ListenNever asks for none.
	ListenNever ListenTime = iota
	// ListenInitialized asks when the server has taken notifications/initialized, as the
	// TypeScript SDK does.
	ListenInitialized
	// ListenAnswered asks when initialize was answered, as the Go SDK does.
	ListenAnswered
)

// StatusError is an HTTP response that has no message and is no success.
type StatusError struct {
	Method string
	URL    string
	Status int
	Body   string // the beginning of it
}

// Error names the status and the body.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// Connect implements Transport. Only the HTTP+SSE transport asks the server for
// anything before the first Write.
func (t Client) Connect(ctx context.Context) (transport.Conn, error) { return t.Dial(ctx) }

// Dial is Connect.
func (t Client) Dial(ctx context.Context) (*ClientConn, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("connect to %s: want a URL such as http://localhost:3000/mcp", t.URL)
	}
	if t.Client == nil {
		t.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	c := &ClientConn{t: t, url: u, used: map[uint64]bool{}, sessions: map[string]*clientSession{}, news: make(chan struct{}, 1),
		closed: make(chan struct{}), streams: map[uint64]context.CancelFunc{}, followed: map[uint64]*clientExchange{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if t.Legacy {
		if err := c.dialLegacy(ctx); err != nil {
			c.cancel()
			c.work.Wait()
			return nil, fmt.Errorf("connect to %s: %w", t.URL, err)
		}
	}
	return c, nil
}

// clientSession is what a client knows of a session.
type clientSession struct {
	id      string
	left    bool   // it was deleted
	version string // the protocol's
}

// ClientConn is a client's end of MCP over HTTP. A frame that is written goes out as a
// request of its own, whose number is the frame's Stream if that is not taken, and the
// next one that is free otherwise; what comes in answer to it has the number as
// Stream, over all the connections that its stream takes, and what comes on the
// standalone stream has 0.
//
// A Write waits until the server has taken the message: of a request, until it is
// sent; of anything else, and of initialize, until the response begins.
type ClientConn struct {
	t      Client
	url    *url.URL
	ctx    context.Context // ends with the Conn
	cancel context.CancelFunc
	work   sync.WaitGroup
	close  sync.Once
	closed chan struct{}

	mu       sync.Mutex // never held across I/O
	inbox    []transport.Frame
	err      error // behind the inbox: why nothing more comes
	news     chan struct{}
	used     map[uint64]bool
	last     uint64
	sessions map[string]*clientSession
	streams  map[uint64]context.CancelFunc // open exchanges
	followed map[uint64]*clientExchange    // whose response is a stream
	endpoint *url.URL                      // of HTTP+SSE
}

// Read implements Conn. An error that is not the context's says how a request failed.
func (c *ClientConn) Read(ctx context.Context) (transport.Frame, error) {
	return await(ctx, c.news, c.closed, func() (f transport.Frame, found bool, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case isClosed(c.closed):
			return f, false, transport.ErrClosed
		case len(c.inbox) > 0:
			f = c.inbox[0]
			c.inbox = c.inbox[1:]
			return f, true, nil
		}
		return f, false, c.err
	})
}

// Write implements Conn.
func (c *ClientConn) Write(ctx context.Context, f transport.Frame) error {
	if err := f.Sendable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	x := c.open(f)
	if x == nil {
		return transport.ErrClosed
	}
	select {
	case <-x.taken:
		return nil
	case <-c.closed:
		return transport.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open begins the exchange of a frame; nil: the Conn is closed.
func (c *ClientConn) open(f transport.Frame) *clientExchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isClosed(c.closed) {
		return nil
	}
	number := f.Stream
	for number == 0 || c.used[number] {
		c.last++
		number = c.last
	}
	c.used[number] = true
	x := newClientExchange(c, number, f.Bytes)
	c.streams[number] = x.cancel
	c.work.Go(x.run)
	return x
}

// HangUp ends the exchange as a client does that wants no more of it: in revision
// 2026-07-28 that is the cancellation.
func (c *ClientConn) HangUp(stream uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.streams[stream]; cancel != nil {
		cancel()
	}
}

// Drop cuts the stream of an exchange, 0: the standalone one, as a client does that comes
// back to it with Last-Event-ID: as soon as an event has told an id. One that tells none
// is not cut.
func (c *ClientConn) Drop(stream uint64) {
	c.mu.Lock()
	x := c.followed[stream]
	c.mu.Unlock()
	if x == nil {
		return
	}
	x.drop.Store(true)
	if x.resumable.Load() {
		x.cut()
	}
}

// deleteTimeout is how long a server may take to hear that a session is over.
const deleteTimeout = 2 * time.Second

// Close implements Conn. It hangs up on what is open, and ends the sessions by DELETE.
func (c *ClientConn) Close() error {
	c.close.Do(func() {
		c.mu.Lock()
		close(c.closed)
		var sessions []*clientSession
		for _, s := range c.sessions {
			if s.id != "" && !s.left {
				sessions = append(sessions, s)
			}
		}
		c.mu.Unlock()
		ctx, stop := context.WithTimeout(context.Background(), deleteTimeout)
		defer stop()
		for _, s := range sessions {
			c.leave(ctx, s)
		}
		c.cancel()
		c.work.Wait()
	})
	return nil
}

// leave deletes a session. Whether the server does so too is not checked.
func (c *ClientConn) leave(ctx context.Context, s *clientSession) {
	c.mu.Lock()
	left := s.left
	s.left = true
	c.mu.Unlock()
	if left {
		return
	}
	if r, err := c.request(ctx, http.MethodDelete, nil, s); err == nil {
		if resp, err := c.t.Client.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// deliver hands a message to Read.
func (c *ClientConn) deliver(f transport.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inbox = append(c.inbox, f)
	notify(c.news)
}

// fail ends what Read returns.
func (c *ClientConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.ctx.Err() == nil {
		c.err = err
	}
	notify(c.news)
}

// sessionOf returns the session of an exchange.
func (c *ClientConn) sessionOf(stream uint64) *clientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := ""
	if c.t.Session != nil {
		key = c.t.Session(stream)
	}
	if c.sessions[key] == nil {
		c.sessions[key] = &clientSession{}
	}
	return c.sessions[key]
}

// Route sets the headers by which a message is routed in a session of the revision
// (basic transports, standard request headers); "": the one that the message names.
func Route(h http.Header, m transport.Message, version string) {
	if own := textOf(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion)); own != "" {
		version = own
	}
	if version != "" {
		h.Set(mcp.HeaderProtocolVersion, version)
	}
	if version < mcp.Revision2026_07_28 || m.Method == "" {
		return
	}
	h.Set(mcp.HeaderMethod, m.Method)
	name := ""
	switch m.Method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt:
		name = textOf(transport.Member(m.Params, "name"))
	case mcp.MethodReadResource:
		name = textOf(transport.Member(m.Params, "uri"))
	}
	plain := strings.TrimSpace(name) == name && !strings.HasPrefix(name, "=?base64?")
	for _, r := range name {
		plain = plain && ' ' <= r && r <= '~'
	}
	if !plain { // a header cannot have the name as it is
		name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
	}
	if name != "" {
		h.Set(mcp.HeaderName, name)
	}
}

// textOf returns the text of a JSON string, or "".
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}
