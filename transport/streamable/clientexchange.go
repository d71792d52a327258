package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// clientExchange is a message of the client and the response, over all connections of the
// response.
type clientExchange struct {
	conn    *ClientConn
	number  uint64
	body    []byte
	session *clientSession
	ctx     context.Context
	cancel  context.CancelFunc

	unanswered    map[mcp.Key]bool // ids of requests without a response
	isInitialize  bool             // the message is initialize
	isInitialized bool             // the message is notifications/initialized
	first         transport.Message
	taken         chan struct{}
	take          func() // closes taken
	lastID        string
	retry         time.Duration
	retried       int // since the last event

	mayBreak bool          // see [Manner]
	patience time.Duration // see [Manner]

	response  io.Closer   // the stream being read; under the Conn's lock
	drop      atomic.Bool // the stream is to be cut
	resumable atomic.Bool // an event has told an id

	endpoint chan error // of HTTP+SSE: gets nil when the address is known
}

// newClientExchange returns an exchange that ends with the Conn, and has the values of a context.
func newClientExchange(c *ClientConn, values context.Context, number uint64, body []byte) *clientExchange {
	x := &clientExchange{conn: c, number: number, body: body, unanswered: map[mcp.Key]bool{}, taken: make(chan struct{})}
	x.take = sync.OnceFunc(func() { close(x.taken) })
	x.ctx, x.cancel = context.WithCancel(valued{c.ctx, values})
	messages, _ := transport.Frame{Bytes: body}.Messages()
	for i, m := range messages {
		if i == 0 {
			x.first = m
		}
		if m.Kind() == transport.Request {
			x.unanswered[mcp.KeyOf(m.ID)] = true
		}
		x.isInitialize = x.isInitialize || m.Method == mcp.MethodInitialize
		x.isInitialized = x.isInitialized || m.Method == mcp.NotificationInitialized
	}
	return x
}

// valued is a context with the values of another one.
type valued struct {
	context.Context
	values context.Context
}

func (v valued) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

// run makes the request and reads the response to the end.
func (x *clientExchange) run() {
	c := x.conn
	defer func() {
		x.take()
		x.cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, x.number)
	}()
	x.session = c.sessionOf(x.number)
	ctx := x.ctx
	isTakenEarly := len(x.unanswered) > 0 && !x.isInitialize // not only when the response is read
	if isTakenEarly {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
			if x.patience == 0 {
				x.take()
			}
		}})
	}
	r, err := x.request(ctx)
	if err == nil {
		if isTakenEarly && x.patience > 0 {
			defer time.AfterFunc(x.patience, x.take).Stop()
		}
		var resp *http.Response
		if resp, err = c.client.do(r); err == nil {
			if isTakenEarly {
				x.take()
			}
			x.read(resp)
			return
		}
	}
	cut := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if x.ctx.Err() == nil && !(x.mayBreak && cut) {
		c.fail(err)
	}
}

// request makes the request for the message.
func (x *clientExchange) request(ctx context.Context) (*http.Request, error) {
	c := x.conn
	r, err := c.request(ctx, http.MethodPost, x.body, x.session)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", mcp.MediaJSON)
	r.Header.Set("Accept", "application/json, text/event-stream")
	var m *Manner
	if c.client.Manner != nil {
		m = c.client.Manner(x.number)
	}
	if m != nil {
		x.mayBreak = m.MayBreak
		x.patience = m.Patience
		x.apply(ctx, r, m)
		return r, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !x.isInitialize {
		Route(r.Header, x.first, x.session.version)
	}
	return r, nil
}

// apply makes the request in another manner.
func (x *clientExchange) apply(ctx context.Context, r *http.Request, manner *Manner) {
	r.Header.Del(mcp.HeaderProtocolVersion)
	for _, h := range []http.Header{manner.Routing, manner.Header} {
		for name, values := range h {
			r.Header[name] = values
			if len(values) == 0 {
				delete(r.Header, name)
			}
		}
	}
	switch manner.Session {
	case SessionNone:
		r.Header.Del(mcp.HeaderSessionID)
	case SessionUnknown:
		r.Header.Set(mcp.HeaderSessionID, manner.ID)
	case SessionEnded:
		x.conn.leave(ctx, x.session)
	}
	if manner.Path != "" {
		r.URL.Path = manner.Path
		r.URL.RawPath = ""
	}
}

// Aside makes a request without a message, in the manner of an exchange, and returns the status
// of the response.
func (c *ClientConn) Aside(ctx context.Context, stream uint64, method string, body []byte) (status int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	x := &clientExchange{conn: c, number: stream, session: c.sessionOf(stream)}
	r, err := c.request(ctx, method, body, x.session)
	if err != nil {
		return 0, err
	}
	if c.client.Manner != nil {
		if m := c.client.Manner(stream); m != nil {
			x.apply(ctx, r, m)
		}
	}
	resp, err := c.client.do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// request makes a request of a session.
func (c *ClientConn) request(ctx context.Context, method string, body []byte, s *clientSession) (*http.Request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.url
	if c.endpoint != nil && method == http.MethodPost {
		target = c.endpoint
	}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, c.client.Header)
	if s.id != "" {
		r.Header.Set(mcp.HeaderSessionID, s.id)
	}
	if s.version != "" {
		r.Header.Set(mcp.HeaderProtocolVersion, s.version)
	}
	return r, nil
}

// read takes a response in.
func (x *clientExchange) read(resp *http.Response) {
	c := x.conn
	if id := resp.Header.Get(mcp.HeaderSessionID); id != "" && x.isInitialize {
		c.mu.Lock()
		x.session.id = id
		c.mu.Unlock()
	}
	if isEventStream(resp.Header) && resp.StatusCode == http.StatusOK {
		x.follow(resp)
		return
	}
	b, err := readBody(resp.Body, resp.ContentLength, "the body of the response")
	_ = resp.Body.Close()
	switch messages, bad := (transport.Frame{Bytes: b}).Messages(); {
	case bad == nil && (len(messages) != 1 || messages[0].Kind() != transport.Invalid):
		x.got(b)
	case resp.StatusCode >= 300:
		e := &StatusError{Method: resp.Request.Method, URL: resp.Request.URL.Redacted(), Status: resp.StatusCode,
			Body: strings.TrimSpace(string(b[:min(len(b), 300)]))}
		if c.client.Forgive == nil || !c.client.Forgive(x.number, e) {
			c.fail(e)
		}
	case err != nil && x.ctx.Err() == nil:
		c.fail(err)
	case x.isInitialized && c.client.Listen == ListenInitialized:
		x.listen()
	}
}

func isEventStream(header http.Header) bool {
	return strings.HasPrefix(header.Get("Content-Type"), mcp.MediaEventStream)
}

// got delivers a message.
func (x *clientExchange) got(data []byte) {
	f := transport.Frame{Bytes: data, Stream: x.number}
	messages, _ := f.Messages()
	for _, m := range messages {
		if m.Kind() != transport.Response {
			continue
		}
		delete(x.unanswered, mcp.KeyOf(m.ID))
		if version := transport.MemberText(m.Result, mcp.MemberProtocolVersion); x.isInitialize && version != "" {
			x.conn.mu.Lock()
			x.session.version = version
			x.conn.mu.Unlock()
			if x.conn.client.Listen == ListenAnswered {
				x.listen()
			}
		}
	}
	c := x.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inbox = append(c.inbox, f)
	notify(c.news)
}

// follow reads the stream of a response, and resumes a stream that is cut before the last
// response if its events have ids.
func (x *clientExchange) follow(resp *http.Response) {
	x.take()
	c := x.conn
	c.mu.Lock()
	c.followed[x.number] = x
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.followed, x.number)
	}()
	for resp != nil {
		c.mu.Lock()
		x.response = resp.Body
		c.mu.Unlock()
		x.readEvents(resp.Body)
		_ = resp.Body.Close()
		resp = nil
		if x.number == 0 || len(x.unanswered) > 0 {
			resp = x.resume()
		}
	}
}

// cut ends the response being read, after a call of Drop.
func (x *clientExchange) cut() {
	x.conn.mu.Lock()
	response := x.response
	x.conn.mu.Unlock()
	if x.drop.CompareAndSwap(true, false) {
		_ = response.Close()
	}
}

const (
	// retries is how often in a row a client tries to come back to a stream.
	retries = 10
	// conflictPause is the wait after a server has refused the rest of a stream because it still
	// writes to the first connection: it has not seen that the connection is cut.
	conflictPause = time.Second
)

// resume asks for the rest of the stream; nil: there is no way.
func (x *clientExchange) resume() *http.Response {
	pause := x.retry
	for x.lastID != "" && x.retried < retries {
		x.retried++
		if pause > 0 {
			wait := time.NewTimer(pause)
			select {
			case <-wait.C:
			case <-x.ctx.Done():
				wait.Stop()
				return nil
			}
		}
		resp, err := x.conn.get(x.ctx, x.session, x.lastID)
		if err != nil {
			continue
		}
		if resp.StatusCode == http.StatusOK && isEventStream(resp.Header) {
			return resp
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusConflict {
			return nil
		}
		pause = max(x.retry, conflictPause)
	}
	return nil
}

// get asks for a stream.
func (c *ClientConn) get(ctx context.Context, session *clientSession, after string) (*http.Response, error) {
	r, err := c.request(ctx, http.MethodGet, nil, session)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", mcp.MediaEventStream)
	if after != "" {
		r.Header.Set(mcp.HeaderLastEventID, after)
	}
	return c.client.do(r)
}

// listenTimeout is how long the standalone stream may take to begin. Some servers send the head
// of the response only together with the first event.
const listenTimeout = 500 * time.Millisecond

// listen asks for the standalone stream, and waits until the stream has begun: otherwise messages
// that the server sends there soon could be lost.
func (x *clientExchange) listen() {
	c := x.conn
	begun := make(chan struct{})
	c.work.Go(func() {
		alone := newClientExchange(c, c.ctx, 0, nil)
		defer alone.cancel()
		alone.session = x.session
		resp, err := c.get(alone.ctx, x.session, "")
		close(begun)
		switch {
		case err != nil: // a server need not have the stream
		case resp.StatusCode == http.StatusOK && isEventStream(resp.Header):
			alone.follow(resp)
		default:
			b, _ := readBody(resp.Body, resp.ContentLength, "the body of the response")
			_ = resp.Body.Close()
			if messages, err := (transport.Frame{Bytes: b}).Messages(); err == nil && len(messages) == 1 && messages[0].Kind() != transport.Invalid {
				alone.got(b) // an error in place of the stream
			}
		}
	})
	patience := time.NewTimer(listenTimeout)
	defer patience.Stop()
	select {
	case <-begun:
	case <-patience.C:
	case <-x.ctx.Done():
	}
}

// dialLegacy begins a session of HTTP+SSE, whose stream names the endpoint for messages.
func (c *ClientConn) dialLegacy(ctx context.Context) error {
	x := newClientExchange(c, c.ctx, 0, nil)
	found := make(chan error, 1)
	x.session = c.sessionOf(0)
	x.endpoint = found
	defer context.AfterFunc(ctx, x.cancel)()
	resp, err := c.get(x.ctx, x.session, "")
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !isEventStream(resp.Header) {
		_ = resp.Body.Close()
		return &StatusError{Method: http.MethodGet, URL: c.url.Redacted(), Status: resp.StatusCode}
	}
	c.work.Go(func() {
		defer x.cancel()
		x.readEvents(resp.Body)
		_ = resp.Body.Close()
		x.setEndpoint(errors.New("the stream does not begin with the endpoint event of HTTP+SSE"))
		c.fail(io.EOF)
	})
	return <-found
}

// setEndpoint ends the search for the endpoint, if it has not ended.
func (x *clientExchange) setEndpoint(err error) {
	if x.endpoint != nil {
		x.endpoint <- err
		x.endpoint = nil
	}
}

// readEvents delivers the messages of a stream until the end.
func (x *clientExchange) readEvents(body io.Reader) {
	var s EventScanner
	var data []byte
	take := func(found []StreamEvent) {
		for _, ev := range found {
			data = append(data, ev.Data...)
			if ev.More {
				continue
			}
			x.event(ev.Fields(), data)
			data = nil
		}
	}
	chunk := make([]byte, 16<<10)
	for {
		n, err := body.Read(chunk)
		take(s.Scan(chunk[:n]))
		if len(data) > transport.MaxMessage || s.Held() > transport.MaxMessage {
			x.conn.fail(transport.TooLong("an event of the stream"))
			return
		}
		if err != nil {
			found, _ := s.End() // a last CR may be a line end of its own
			take(found)
			return
		}
	}
}

// event takes an event in, and keeps its data.
func (x *clientExchange) event(fields EventFields, data []byte) {
	if fields.HasID {
		x.lastID = fields.ID
	}
	if pause, isAsked := fields.Pause(); isAsked {
		x.retry = pause
	}
	x.retried = 0
	if fields.Event == "endpoint" && x.endpoint != nil {
		u, err := x.conn.url.Parse(string(data))
		if err == nil && u.Host != x.conn.url.Host {
			err = fmt.Errorf("the endpoint %s is on another host", data)
		}
		x.conn.mu.Lock()
		x.conn.endpoint = u
		x.conn.mu.Unlock()
		x.setEndpoint(err)
	}
	if len(data) > 0 && fields.IsMessage() {
		x.got(data)
	}
	if x.lastID != "" {
		x.resumable.Store(true)
		x.cut()
	}
}
