package httptap

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// OwnConnections gives each client connection of a server, which serves an [Tap.Proxy]
// without a Transport, connections of its own to the target. They end with the client's
// connection. Without it clients share connections, and one client may be cut off because the
// target closes a connection that another has used, as would not happen without the proxy.
// Call it before server serves: it wraps ConnContext and ConnState of server.
func OwnConnections(server *http.Server) {
	var all sync.Map // of *targetConns, by the client's net.Conn
	connContext, connState := server.ConnContext, server.ConnState
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		o := &targetConns{}
		all.Store(c, o)
		return context.WithValue(ctx, targetConnsKey{}, o)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			if o, ok := all.LoadAndDelete(c); ok {
				o.(*targetConns).close()
			}
		}
		if connState != nil {
			connState(c, state)
		}
	}
}

// targetConns makes the connections to the target for one client connection.
type targetConns struct {
	once      sync.Once // makes the transport, or decides that there will be none
	transport *http.Transport
}

type targetConnsKey struct{}

// close closes the idle connections. Those in use are closed when their requests end, as all
// do when the client's connection is closed.
func (o *targetConns) close() {
	o.once.Do(func() {})
	if o.transport != nil {
		o.transport.CloseIdleConnections()
	}
}

// perConnection sends a request over a connection of the client connection that it came from.
// Its own transport is the model of theirs, and serves requests without one.
type perConnection struct{ *http.Transport }

func newPerConnection() perConnection {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.DisableCompression = true // only the client may ask for it
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, 512
	tr.ReadBufferSize, tr.WriteBufferSize = 66<<10, 4<<10
	if tr.TLSClientConfig == nil {
		tr.TLSClientConfig = &tls.Config{}
	}
	// Clones share the cache: another connection to the same target needs no full handshake.
	tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	return perConnection{tr}
}

func (p perConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	if o, ok := r.Context().Value(targetConnsKey{}).(*targetConns); ok {
		o.once.Do(func() { o.transport = p.Clone() })
		if o.transport != nil {
			return o.transport.RoundTrip(r)
		} // else the client's connection is closed, and the context is over
	}
	return p.Transport.RoundTrip(r)
}

// behindProxy returns the body to pass on: the stream of an HTTP+SSE session is wrapped, so
// that its endpoint leads through the proxy, and loses its length.
func behindProxy(from *http.Request, resp *http.Response, body io.ReadCloser) io.Reader {
	if from.Method != http.MethodGet || from.Header.Get(mcp.HeaderSessionID) != "" || resp.Header.Get("Content-Encoding") != "" ||
		formOf(resp.Header.Get("Content-Type")) != formEvents {
		return body
	}
	client := url.URL{Scheme: "http", Host: from.Host, Path: from.URL.Path}
	if from.TLS != nil {
		client.Scheme = "https"
	}
	delete(resp.Header, "Content-Length")
	return &endpointBody{ReadCloser: body, target: resp.Request.URL, client: &client}
}

// endpointBody is the stream of a server of HTTP+SSE, whose first event names the URL for
// messages. A URL that leads past the proxy is replaced. After that event, or another one,
// bytes pass as they are.
type endpointBody struct {
	io.ReadCloser
	target *url.URL // the URL of the stream
	client *url.URL // the same as the client knows it
	held   []byte   // the beginning of an event
	ready  []byte   // bytes to pass on
	err    error
	done   bool // nothing is replaced any more
}

func (b *endpointBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && !b.done {
		n, err := b.ReadCloser.Read(p)
		b.held = append(b.held, p[:n]...)
		for b.event() {
		}
		if b.err = err; err != nil || len(b.held) > streamable.EventLimit {
			b.done = true
		}
		if b.done {
			b.ready, b.held = append(b.ready, b.held...), nil
		}
	}
	if len(b.ready) > 0 {
		n := copy(p, b.ready)
		b.ready = b.ready[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

// event makes one event ready if a whole one is held, and reports whether to look for another.
func (b *endpointBody) event() bool {
	size := eventSize(b.held)
	if size == 0 {
		return false
	}
	whole := b.held[:size]
	b.held = b.held[size:]
	info, comment := httpevent.SSE(whole, 0), true
	for text, end := range streamable.EventLines(whole) {
		comment = comment && (len(text) == 0 || text[0] == ':')
		if n := streamable.DataLine(text); n > 0 && info.Event == "endpoint" {
			text = append(text[:n:n], b.throughProxy(string(text[n:]))...)
		}
		b.ready = append(append(b.ready, text...), end...)
	}
	b.done = !comment
	return comment
}

// eventSize returns the length of the first event of b, or of a comment before it: that is not
// held back, for nothing else may come for a long time. It returns 0 if neither is whole.
func eventSize(b []byte) int {
	size := 0
	for text, end := range streamable.EventLines(b) {
		comment := size == 0 && len(end) > 0 && bytes.HasPrefix(text, []byte{':'})
		if size += len(text) + len(end); comment || len(text) == 0 {
			return size
		}
	}
	return 0
}

// throughProxy returns the endpoint as the client must know it.
func (b *endpointBody) throughProxy(endpoint string) string {
	ref, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	u := b.target.ResolveReference(ref)
	switch {
	case u.Scheme != b.target.Scheme || u.Host != b.target.Host:
		return endpoint
	case ref.Host != "":
		return b.client.Scheme + "://" + b.client.Host + u.RequestURI()
	case b.client.ResolveReference(ref).Path != u.Path:
		return u.RequestURI()
	}
	return endpoint
}
