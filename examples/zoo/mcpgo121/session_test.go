package mcpgo121

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// The cases of inline_test.go again, but the server is the recorded one of the golden
// session: the live client hangs on what the session says, and nothing else.

func TestSessionNoQueue(t *testing.T) {
	playInline(t, "mcp-go inline, queue 0, session", 0, zoo.Want{Verdict: explore.Hang, Category: explore.BehindNotification,
		Says: []string{"notifications/progress", "holds", "response to tools/call", "session_test.go"}})
}

func TestSessionQueue(t *testing.T) {
	playInline(t, "mcp-go inline, queue 1, session", 1, zoo.Want{})
}

func playInline(t *testing.T, name string, queue int, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  client.NewClient,
		Plan: zoo.Played(t, "mcpgo-inline", fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
			seen := make(chan string, queue)
			called(t, conn, func(_ context.Context, _ *client.Client, n mcp.JSONRPCNotification) { seen <- n.Method })
			<-seen
		}),
		Want: map[string]zoo.Want{"v1.2.1": want},
	}.Run(t)
}

// TestSessionCallInHandler lists the tools from the handler.
func TestSessionCallInHandler(t *testing.T) {
	zoo.Case{
		Name: "mcp-go inline, call, session",
		SDK:  client.NewClient,
		Plan: zoo.Played(t, "mcpgo-handler-calls", fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
			called(t, conn, func(ctx context.Context, c *client.Client, _ mcp.JSONRPCNotification) {
				c.ListTools(ctx, mcp.ListToolsRequest{})
			})
		}),
		Want: map[string]zoo.Want{"v1.2.1": {Verdict: explore.Hang, Category: explore.BehindNotification,
			Says: []string{"notifications/progress", "holds", "tools/list", "SendRequest stdio.go"}}},
	}.Run(t)
}

// called is the SDK's client after a call of the tool; told has its notifications.
func called(t testing.TB, conn transport.Conn, told func(context.Context, *client.Client, mcp.JSONRPCNotification)) {
	t.Helper()
	ctx := t.Context()
	c, err := connect(ctx, conn, func(c *client.Client, n mcp.JSONRPCNotification) { told(ctx, c, n) })
	if err != nil {
		t.Fatal(err)
	}
	if err := callTool(ctx, c); err != nil {
		t.Error(err)
	}
}
