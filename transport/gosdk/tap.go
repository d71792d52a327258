package gosdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// ErrHTTP is the cause when a transport over HTTP is to be tapped.
var ErrHTTP = errors.New("a transport over HTTP, whose connection the SDK must see itself: tap its http.RoundTripper or http.Handler")

// Tap returns t with a tap around it: sends is the direction in which the SDK that
// connects it writes. Tap one end of a session, not both, or each frame is recorded
// twice. The recorder stays the caller's: close it after the session.
//
// An [mcp.IOTransport] is recorded byte for byte. Any other transport, such as
// the in-memory pair or a command, shows the SDK's messages alone: what is
// recorded then is each message as the SDK encodes it, which is what its own
// transports write, and for what another program wrote the same message in
// perhaps other words. Where a command's exact bytes matter, connect a
// [transport.Command] and give [Transport] its [recorder.Recorder.Conn].
//
// A transport over HTTP is refused at Connect with [ErrHTTP].
func Tap(t mcp.Transport, r *recorder.Recorder, sends transport.Direction) mcp.Transport {
	if pair, ok := t.(*mcp.IOTransport); ok {
		bytewise := *pair
		bytewise.Reader = &tappedReader{pair.Reader, r.Tap(sends.Reverse())}
		bytewise.Writer = &tappedWriter{WriteCloser: pair.Writer, tap: r.Tap(sends)}
		return &bytewise
	}
	return &tapped{inner: t, recorder: r, sends: sends}
}

// tappedReader records what is read before the SDK has it. One goroutine of the
// SDK reads.
type tappedReader struct {
	io.ReadCloser
	tap *recorder.Tap
}

func (r *tappedReader) Read(data []byte) (int, error) {
	n, err := r.ReadCloser.Read(data)
	r.tap.Observe(data[:n])
	if err == io.EOF {
		r.tap.End(store.EOFInfo{By: "sender"})
	}
	return n, err
}

// tappedWriter records what the SDK writes before it is passed on.
type tappedWriter struct {
	io.WriteCloser
	mu  sync.Mutex // never held across a write
	tap *recorder.Tap
}

func (w *tappedWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	w.tap.Observe(data)
	w.mu.Unlock()
	return w.WriteCloser.Write(data)
}

// tapped is any other transport under a tap.
type tapped struct {
	inner    mcp.Transport
	recorder *recorder.Recorder
	sends    transport.Direction
}

// Connect implements [mcp.Transport].
func (t *tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	switch t.inner.(type) {
	case *mcp.StreamableClientTransport, *mcp.StreamableServerTransport, *mcp.SSEClientTransport, *mcp.SSEServerTransport:
		return nil, fmt.Errorf("tap transport: %w", ErrHTTP)
	}
	conn, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConnection{
		Connection: conn, in: t.recorder.Tap(t.sends.Reverse()), out: t.recorder.Tap(t.sends),
	}, nil
}

// tappedConnection records each message as the SDK encodes it.
type tappedConnection struct {
	mcp.Connection
	in  *recorder.Tap // of the SDK's one reader
	mu  sync.Mutex    // for out; never held across a write
	out *recorder.Tap
}

// Read implements [mcp.Connection].
func (c *tappedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	switch {
	case err == nil:
		observe(c.in, m)
	case errors.Is(err, io.EOF):
		c.in.End(store.EOFInfo{By: "sender"})
	}
	return m, err
}

// Write implements [mcp.Connection].
func (c *tappedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	c.mu.Lock()
	observe(c.out, m)
	c.mu.Unlock()
	return c.Connection.Write(ctx, m)
}

// observe records a message. One that cannot be encoded cannot be written either:
// the SDK says so itself.
func observe(tap *recorder.Tap, m jsonrpc.Message) {
	if b, err := jsonrpc.EncodeMessage(m); err == nil {
		tap.Observe(append(b, '\n'))
	}
}
