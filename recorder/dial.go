package recorder

import (
	"context"
	"io"
	"net"
	"sync"
)

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
