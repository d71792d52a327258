package streamable

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Client opens sessions with a server over HTTP. URL must be set; the rest may be zero.
type Client struct {
	URL string
	// Client makes the requests; nil: a client that follows no redirect, for a redirect
	// must not take credentials elsewhere.
	Client *http.Client
	// Header goes with every request: Authorization.
	Header http.Header
	// Legacy is the HTTP+SSE transport of 2024-11-05.
	Legacy bool
	// Listen says when the standalone stream is asked for.
	Listen ListenTime
	// DeleteTimeout is how long Close waits for the answer to the DELETE of a session: 0 is 2
	// seconds, below 0 is no limit.
	DeleteTimeout time.Duration
	// Session returns the session of an exchange, where one Conn stands for several
	// clients. If Session is nil, there is one session.
	Session func(stream uint64) string
	// Manner returns the manner of an exchange's request. If Manner is nil or returns nil,
	// the request is made as the specification says.
	Manner func(stream uint64) *Manner
	// Forgive is asked about a response without a message and without success. If Forgive is
	// nil or returns false, the response is an error of Read.
	Forgive func(stream uint64, e *StatusError) bool
}

// do makes a request. The text of its error is one line: a server has a part in it, as by the names in its
// certificate.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(r)
	if err != nil {
		return nil, lineError{err}
	}
	return resp, nil
}

// lineError is an error with its text on one line.
type lineError struct{ error }

// Error returns the text.
func (e lineError) Error() string { return phrase.OneLine(e.error.Error()) }

// Unwrap returns the error.
func (e lineError) Unwrap() error { return e.error }

// Manner changes how a client makes the request of an exchange.
type Manner struct {
	// Routing are the headers that route the request, instead of the headers of the
	// specification. Header replaces others; a header without values is left out.
	Routing, Header http.Header
	// Session is how the request names its session. A session that has ended is deleted
	// first.
	Session SessionState
	// ID is the session id of SessionUnknown.
	ID string
	// Path is the path of the request; "": the endpoint's.
	Path string
	// MayBreak allows the connection to break before there is a response.
	MayBreak bool
	// Patience is how long the Write of a request waits for the response to begin or the
	// connection to break. Otherwise the server may hear a later request first, on another
	// connection, and a request that is cancelled at once may never leave.
	Patience time.Duration
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

// StatusError is an HTTP response without a message and without success.
type StatusError struct {
	Method string
	URL    string
	Status int
	Body   string // the beginning of the body
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
	c := &ClientConn{client: t, url: u, used: map[uint64]bool{}, sessions: map[string]*clientSession{}, news: make(chan struct{}, 1),
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

// clientSession is a session as the client knows it.
type clientSession struct {
	id      string
	left    bool   // the client has deleted the session
	version string // the protocol's
}

// ClientConn is a client's end of MCP over HTTP. A written frame goes out as a request of its
// own, an exchange. The number of the exchange is the frame's Stream if it is free, and the next
// free number otherwise. Frames of the response have the number as Stream, over all connections
// of the response; frames of the standalone stream have 0.
//
// A Write of a request waits until the request is written to a connection, or longer, see
// [Manner]. A Write of any other message, and of initialize, waits until the response begins.
// The requests of an exchange have the values of the Write's context.
type ClientConn struct {
	client Client
	url    *url.URL
	ctx    context.Context // ends with the Conn
	cancel context.CancelFunc
	work   sync.WaitGroup
	close  sync.Once
	closed chan struct{}

	mu       sync.Mutex // never held across I/O
	inbox    []transport.Frame
	err      error // of Read, once the inbox is empty
	news     chan struct{}
	used     map[uint64]bool
	last     uint64
	sessions map[string]*clientSession
	streams  map[uint64]context.CancelFunc // open exchanges
	followed map[uint64]*clientExchange    // exchanges whose response is a stream
	endpoint *url.URL                      // of HTTP+SSE
}

// Read implements Conn. An error tells how a request failed, unless the context has ended.
func (c *ClientConn) Read(ctx context.Context) (transport.Frame, error) {
	return await(ctx, c.news, c.closed, func() (frame transport.Frame, found bool, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case isClosed(c.closed):
			return frame, false, transport.ErrClosed
		case len(c.inbox) > 0:
			frame = c.inbox[0]
			c.inbox = c.inbox[1:]
			return frame, true, nil
		}
		return frame, false, c.err
	})
}

// Write implements Conn.
func (c *ClientConn) Write(ctx context.Context, frame transport.Frame) error {
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
	number := frame.Stream
	for number == 0 || c.used[number] {
		c.last++
		number = c.last
	}
	c.used[number] = true
	x := newClientExchange(c, ctx, number, frame.Bytes)
	c.streams[number] = x.cancel
	c.work.Go(x.run)
	c.mu.Unlock()
	select {
	case <-x.taken:
		return nil
	case <-c.closed:
		return transport.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// HangUp ends an exchange from the client's side: in revision 2026-07-28 this is the
// cancellation.
func (c *ClientConn) HangUp(stream uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.streams[stream]; cancel != nil {
		cancel()
	}
}

// Drop cuts the stream of an exchange, 0: the standalone stream, to resume it with Last-Event-ID:
// as soon as an event has an id. A stream without ids is not cut.
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

const defaultDeleteTimeout = 2 * time.Second

// Close implements Conn: it ends the sessions by DELETE, and hangs up on open exchanges.
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
		ctx := context.Background()
		if timeout := cmp.Or(c.client.DeleteTimeout, defaultDeleteTimeout); timeout > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, timeout)
			defer stop()
		}
		for _, s := range sessions {
			c.leave(ctx, s)
		}
		c.cancel()
		c.work.Wait()
	})
	return nil
}

// leave deletes a session, and ignores the server's answer.
func (c *ClientConn) leave(ctx context.Context, session *clientSession) {
	c.mu.Lock()
	left := session.left
	session.left = true
	c.mu.Unlock()
	if left {
		return
	}
	if r, err := c.request(ctx, http.MethodDelete, nil, session); err == nil {
		if resp, err := c.client.do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// fail makes err the last result of Read.
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
	if c.client.Session != nil {
		key = c.client.Session(stream)
	}
	if c.sessions[key] == nil {
		c.sessions[key] = &clientSession{}
	}
	return c.sessions[key]
}

// Route sets the headers by which a message is routed in a session of the revision
// (basic transports, standard request headers); "": the revision in the message.
func Route(header http.Header, message transport.Message, version string) {
	if own := transport.MemberText(message.Params, mcp.MemberMeta, mcp.MetaProtocolVersion); own != "" {
		version = own
	}
	if version != "" {
		header.Set(mcp.HeaderProtocolVersion, version)
	}
	if !mcp.Stateless.Has(version) || message.Method == "" {
		return
	}
	header.Set(mcp.HeaderMethod, message.Method)
	name := ""
	switch message.Method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt:
		name = transport.MemberText(message.Params, "name")
	case mcp.MethodReadResource:
		name = transport.MemberText(message.Params, "uri")
	}
	plain := strings.TrimSpace(name) == name && !strings.HasPrefix(name, "=?base64?")
	for _, r := range name {
		plain = plain && ' ' <= r && r <= '~'
	}
	if !plain { // not allowed in a header
		name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
	}
	if name != "" {
		header.Set(mcp.HeaderName, name)
	}
}
