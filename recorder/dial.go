package recorder

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
)

// OwnConnections has each connection of server's clients use connections to the target of
// its own, where server serves an [HTTPTap.Proxy] without a Transport. They end with the
// client's connection. Otherwise the clients share them, and one may be cut off because the
// target closes a connection that another has used, which it would not see without the
// proxy. It sets ConnContext and ConnState of server, and calls those that are set: call it
// before server serves.
func OwnConnections(server *http.Server) {
	var all sync.Map // *onward, by the client's net.Conn
	connContext, connState := server.ConnContext, server.ConnState
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		o := &onward{}
		all.Store(c, o)
		return context.WithValue(ctx, onwardKey{}, o)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			if o, ok := all.LoadAndDelete(c); ok {
				o.(*onward).close()
			}
		}
		if connState != nil {
			connState(c, state)
		}
	}
}

// onward makes the connections to targets that one client's connection uses.
type onward struct {
	once      sync.Once // for the transport, or for that there will be none
	transport *http.Transport
}

type onwardKey struct{}

// close closes the connections: one that is in use when its request ends, as all do whose
// client's connection is closed.
func (o *onward) close() {
	o.once.Do(func() {})
	if o.transport != nil {
		o.transport.CloseIdleConnections()
	}
}

// perConnection sends a request over a connection that belongs to its client's.
type perConnection struct{ *http.Transport } // what they are like, and for clients that share

func newPerConnection() perConnection {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.DisableCompression = true // only the client may ask for compression
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, 512
	tr.ReadBufferSize, tr.WriteBufferSize = 66<<10, 4<<10
	tr.DialContext = pooled(tr.DialContext)
	if tr.TLSClientConfig == nil {
		tr.TLSClientConfig = &tls.Config{}
	}
	// Clones share it: another connection to the same target needs no full handshake.
	tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	return perConnection{tr}
}

func (p perConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	if o, ok := r.Context().Value(onwardKey{}).(*onward); ok {
		o.once.Do(func() { o.transport = p.Clone() })
		if o.transport != nil {
			return o.transport.RoundTrip(r)
		} // or the client's connection is closed, and the context is over
	}
	return p.Transport.RoundTrip(r)
}

// dialFunc is what a transport makes connections with.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// pooled has the connections of a transport share the memory with which they send what a
// reader gives: net's own ask for 32 KB each time.
func pooled(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return pooledConn{c}, nil
	}
}

type pooledConn struct{ net.Conn }

var sending = sync.Pool{New: func() any { return newBuffer() }}

// ReadFrom sends what r gives.
func (c pooledConn) ReadFrom(r io.Reader) (int64, error) {
	buf := sending.Get().(*[]byte)
	defer sending.Put(buf)
	return io.CopyBuffer(writerOnly{c.Conn}, r, *buf)
}

// writerOnly hides what else a writer can.
type writerOnly struct{ io.Writer }
