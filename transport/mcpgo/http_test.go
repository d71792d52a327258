package mcpgo_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/replay/explore"
)

// A client and a server of mcp-go over Streamable HTTP live in a bubble: no order of their
// exchanges keeps a call from its result.
func TestHTTPPair(t *testing.T) {
	explore.Explore(t, explore.Plan{HTTP: &explore.HTTP{}, Setup: func(r *explore.Run) {
		s := server.NewMCPServer("server", "1", server.WithToolCapabilities(true))
		s.AddTool(mcp.NewTool("work"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
		r.Handle(server.NewStreamableHTTPServer(s))
		c, err := client.NewStreamableHttpClient("http://server/mcp", transport.WithHTTPBasicClient(r.HTTPClient()))
		if err != nil {
			panic(err)
		}
		r.Op("connect", func(ctx context.Context) error {
			if err := c.Start(r.Context()); err != nil {
				return err
			}
			_, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: "2025-06-18"}})
			return err
		})
		for _, name := range []string{"call", "another call"} {
			r.Op(name, func(ctx context.Context) error {
				_, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "work"}})
				return err
			}).After("connect")
		}
		r.Op("close", func(context.Context) error { return c.Close() }).AfterAll()
	}})
}
