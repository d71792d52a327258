package mcpgo_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	sdk "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/replay/explore"
)

// overHTTP is a conforming pair over Streamable HTTP, in which each call has a deadline.
func overHTTP(r *explore.Run) {
	s := server.NewMCPServer("server", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("work"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	})
	r.Handle(server.NewStreamableHTTPServer(s))
	c, err := client.NewStreamableHttpClient("http://server/mcp", sdk.WithHTTPBasicClient(r.HTTPClient()))
	if err != nil {
		panic(err)
	}
	r.Op("connect", func(context.Context) error { return initialize(r.Context(), c) })
	use(r, s, c)
}

// TestExploreHTTP: a client and a server of the SDK over Streamable HTTP are right in any order of
// their exchanges, also where deadlines pass while they are on their way.
func TestExploreHTTP(t *testing.T) {
	plan := explore.Plan{HTTP: &explore.HTTP{}, Setup: overHTTP, Schedules: scale(100, 100_000)}
	passes(t, plan)
	plan.Timers = 3
	if r := passes(t, plan); r.Coverage.Fired == 0 {
		t.Error("no timer fired while exchanges were on their way")
	}
}

// TestExploreHTTPTokens: a schedule of HTTP is the same again by its token.
func TestExploreHTTPTokens(t *testing.T) {
	sameAgain(t, explore.Plan{HTTP: &explore.HTTP{}, Setup: overHTTP, Timers: 3}, scale(20, 2000))
}
