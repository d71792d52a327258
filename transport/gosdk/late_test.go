package gosdk_test

import (
	"context"
	"errors"
	"io"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// late is one end of a run whose handshake was made over a pipe, before the engine
// looks. So every operation starts in a session that is there, at a step of its
// own: operations that all wait for one handshake wake together, and which of a
// call and a Close comes first would be up to the Go scheduler, not to the token.
type late struct {
	early, conn transport.Conn
	open        chan struct{} // closed after the handshake
}

func (l *late) Read(ctx context.Context) (transport.Frame, error) {
	f, err := l.early.Read(ctx)
	if errors.Is(err, io.EOF) || errors.Is(err, transport.ErrClosed) {
		return l.conn.Read(ctx)
	}
	return f, err
}

func (l *late) Write(ctx context.Context, f transport.Frame) error {
	select {
	case <-l.open:
		return l.conn.Write(ctx, f)
	default:
		return l.early.Write(ctx, f)
	}
}

func (l *late) Close() error { return l.conn.Close() }

// connected returns both SDK ends of a run after their handshake.
func connected(r *explore.Run, server *mcp.Server, client *mcp.Client) (*mcp.ClientSession, *mcp.ServerSession) {
	pipe := transport.NewPipe(transport.Unbounded, transport.Unbounded, nil)
	open := make(chan struct{})
	s, err := server.Connect(r.Context(), gosdk.Transport(&late{pipe.Server(), r.Server(), open}), nil)
	if err != nil {
		panic(err)
	}
	c, err := client.Connect(r.Context(), gosdk.Transport(&late{pipe.Client(), r.Client(), open}),
		&mcp.ClientSessionOptions{ProtocolVersion: handshake})
	if err != nil {
		panic(err)
	}
	synctest.Wait() // the server has all of it
	close(open)
	pipe.Client().Close()
	return c, s
}
