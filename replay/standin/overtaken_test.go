package standin_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Two requests on two connections have no order, and a request that is only handed to a
// connection may be cancelled before it is sent. A client that is played makes sure that its
// request has arrived, where the recorded client saw as much or waited for a while.
func TestLateRequest(t *testing.T) {
	for _, c := range []struct{ name, late, lines string }{
		{"the last call of a session is refused by its status", "tools/call", `
1 POST a > {"jsonrpc":"2.0","id":0,"method":"initialize"}
1 POST a < {"jsonrpc":"2.0","id":0,"result":{}}
2 POST a > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gone"}}
2 POST a < 404`},
		{"a call is cancelled", "tools/call", `
1 POST a > {"jsonrpc":"2.0","id":0,"method":"initialize"}
1 POST a < {"jsonrpc":"2.0","id":0,"result":{}}
2 POST a > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
2 POST a < a stream
3 POST a > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
3 POST a < 202`},
		{"a subscription begins beside a call and is cancelled", "subscriptions/listen", `
1 POST - > {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}
1 POST - < a stream
2 POST - > {"jsonrpc":"2.0","id":2,"method":"tools/list"}
1 POST - < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
2 POST - < {"jsonrpc":"2.0","id":2,"result":{}}
3 POST - > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
3 POST - < 202
1 POST - > hangs up`},
		{"the client hangs up on a call that has no response", "tools/call", `
1 POST - > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
1 POST - > hangs up
2 POST - > {"jsonrpc":"2.0","id":2,"method":"ping"}
2 POST - < {"jsonrpc":"2.0","id":2,"result":{}}`},
		{"the session ends with a call that has no response", "tools/call", `
1 POST - > {"jsonrpc":"2.0","id":1,"method":"ping"}
1 POST - < {"jsonrpc":"2.0","id":1,"result":{}}
2 POST - > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}
- - - the end`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &memoryNetwork{late: []byte(c.late), accepted: make(chan net.Conn), closed: make(chan struct{})}
				for _, f := range overHTTP(t, recordedHTTP(t, c.lines), 1, network) {
					t.Error(f)
				}
			})
		})
	}
}

// memoryNetwork connects clients to one HTTP server without the operating system, so that both
// can be in a bubble.
type memoryNetwork struct {
	late     []byte // what a client writes with this in it is late, while other connections are not
	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
}

// Accept implements net.Listener.
func (n *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-n.accepted:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (n *memoryNetwork) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Close implements net.Listener.
func (n *memoryNetwork) Close() error {
	n.close.Do(func() { close(n.closed) })
	return nil
}

// dial implements http.Transport's DialContext.
func (n *memoryNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.accepted <- server:
		return lateConn{client, n.late}, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type lateConn struct {
	net.Conn
	late []byte
}

// Write implements net.Conn.
func (c lateConn) Write(data []byte) (int, error) {
	if bytes.Contains(data, c.late) {
		time.Sleep(100 * time.Millisecond) // of the bubble
	}
	return c.Conn.Write(data)
}
