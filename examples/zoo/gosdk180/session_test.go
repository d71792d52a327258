package gosdk180

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

// connect returns the SDK's two ends of a run after a handshake of revision
// 2025-11-25, in which a server may ask. The handshake is not part of the run: each
// operation then begins at a step of its own, in a session that is there.
func connect(r *explore.Run, server *mcp.Server, client *mcp.Client) (*mcp.ClientSession, *mcp.ServerSession) {
	before, open := transport.NewPipe(transport.Unbounded, transport.Unbounded, nil), make(chan struct{})
	s, err := server.Connect(r.Context(), gosdk.Transport(&late{before.Server(), r.Server(), open}), nil)
	if err != nil {
		panic(err)
	}
	c, err := client.Connect(r.Context(), gosdk.Transport(&late{before.Client(), r.Client(), open}),
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		panic(err)
	}
	synctest.Wait() // until the server has all of it
	close(open)
	before.Client().Close()
	return c, s
}

// late is a Conn that begins on another one.
type late struct {
	before, conn transport.Conn
	open         chan struct{} // closed after the handshake
}

func (l *late) Read(ctx context.Context) (transport.Frame, error) {
	f, err := l.before.Read(ctx)
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
		return l.before.Write(ctx, f)
	}
}

func (l *late) Close() error { return l.conn.Close() }

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "greet", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil
		})
	return server
}

func newClient(opts *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, opts)
}
