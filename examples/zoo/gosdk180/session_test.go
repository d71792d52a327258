package gosdk180

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// session is the SDK's two ends of a run.
type session struct {
	client *mcp.ClientSession // from the operation "connect" on
	server *mcp.ServerSession
}

// connect adds the operation "connect", with a handshake of revision 2025-11-25: in
// the newest a server asks nothing on its own.
func connect(r *explore.Run, server *mcp.Server, client *mcp.Client) *session {
	s := &session{}
	var err error
	if s.server, err = server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
		panic(err)
	}
	r.Op("connect", func(ctx context.Context) (err error) {
		s.client, err = client.Connect(ctx, gosdk.Transport(r.Client()), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		return err
	})
	return s
}

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
