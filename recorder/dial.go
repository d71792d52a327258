package recorder

import (
	"context"
	"crypto/tls"
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
