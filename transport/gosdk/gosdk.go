package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/transport"
)

// ErrBatch is the cause when a frame is refused because it is a batch.
var ErrBatch = errors.New("a batch (a JSON array), which this adapter does not take")

// errConnected is the cause of a second Connect.
var errConnected = errors.New("it was connected before, and a Conn carries one session")

// Transport returns conn as the SDK's transport, for a server or for a client. It
// connects once. The session owns conn from then on, and closes it.
func Transport(conn transport.Conn) mcp.Transport {
	return &once{conn: conn}
}

// once is a transport whose connection is already there.
type once struct {
	conn transport.Conn
	used atomic.Bool
}

// Connect implements [mcp.Transport].
func (t *once) Connect(context.Context) (mcp.Connection, error) {
	if t.used.Swap(true) {
		return nil, fmt.Errorf("connect transport: %w", errConnected)
	}
	return connection{t.conn}, nil
}

// connection is a Conn as the SDK's connection.
type connection struct{ conn transport.Conn }

// Read implements [mcp.Connection]. A close at this end is an end of the stream
// too: it is how the SDK's own connections end, and all that its Wait forgives.
func (c connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		f, err := c.conn.Read(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, transport.ErrClosed):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read message: %w", err)
		}
		if b := transport.TrimBlanks(f.Bytes); len(b) > 0 {
			return decode(b)
		}
	}
}

// decode reads one message; data is not blank.
func decode(data []byte) (jsonrpc.Message, error) {
	if data[0] == '[' {
		return nil, fmt.Errorf("decode message %s: %w", start(data), ErrBatch)
	}
	// The SDK's decoder stops at the end of the first value; what comes behind it
	// would be lost without a word.
	if !json.Valid(data) {
		return nil, fmt.Errorf("decode message %s: %w", start(data), transport.ErrNotJSON)
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, fmt.Errorf("decode message %s: %w", start(data), err)
	}
	return m, nil
}

// start quotes the first bytes of a frame: enough to know a stray log line by.
func start(data []byte) string {
	const most = 60
	if len(data) <= most {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%q…", data[:most])
}

// Write implements [mcp.Connection]. The SDK takes any error for a broken
// connection unless the context has ended.
func (c connection) Write(ctx context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	err = c.conn.Write(ctx, transport.Frame{Bytes: b})
	switch {
	case errors.Is(err, transport.ErrClosed):
		return fmt.Errorf("write message: %w", mcp.ErrConnectionClosed)
	case err != nil:
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// Close implements [mcp.Connection].
func (c connection) Close() error { return c.conn.Close() }

// SessionID implements [mcp.Connection]: only HTTP sessions have one.
func (c connection) SessionID() string { return "" }
