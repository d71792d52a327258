package httptap

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// OwnConnections gives each client connection of a server, which serves a [Tap.Proxy]
// without a Transport, connections of its own to the target, which end with the client's
// connection. If clients shared connections, one client could be cut off because the target
// closes a connection after another client's request, which cannot happen without the proxy.
// Call OwnConnections before server serves: ConnContext and ConnState are wrapped.
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
				// Connections in use are closed when their requests end, as all do when the
				// client's connection is closed.
				conns := o.(*targetConns)
				conns.once.Do(func() {})
				if conns.transport != nil {
					conns.transport.CloseIdleConnections()
				}
			}
		}
		if connState != nil {
			connState(c, state)
		}
	}
}

// targetConns makes the connections to the target for one client connection.
type targetConns struct {
	once      sync.Once // makes the transport, or prevents it
	transport *http.Transport
}

type targetConnsKey struct{}

// perConnection sends a request over a target connection of the request's client connection. The
// embedded transport is the model for cloning, and serves requests without a client connection.
type perConnection struct{ *http.Transport }

func newPerConnection() perConnection {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.DisableCompression = true // only the client may ask for it
	tr.MaxIdleConns = 0
	tr.MaxIdleConnsPerHost = 512
	tr.ReadBufferSize = 66 << 10
	tr.WriteBufferSize = 4 << 10
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
