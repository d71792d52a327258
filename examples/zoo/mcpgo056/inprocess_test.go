package mcpgo056

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestInProcessNotification is https://github.com/mark3labs/mcp-go/pull/919: the SDK's
// in-process transport has no way for notifications, so that a program which waits for
// the progress of its call waits for ever. There is no frame to see: both ends are
// function calls of the SDK's. Since v0.57.0 they arrive.
func TestInProcessNotification(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 919 in-process notification",
		SDK:  client.NewClient,
		Plan: explore.Plan{Schedules: 3, Setup: func(r *explore.Run) {
			s := server.NewMCPServer("working", "1", server.WithToolCapabilities(true))
			s.AddTool(mcp.NewTool("work"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": 1})
				return mcp.NewToolResultText("done"), nil
			})
			r.Op("call, wait for progress", func(ctx context.Context) error {
				c, err := client.NewInProcessClient(s)
				if err != nil {
					return err
				}
				defer c.Close()
				if err := c.Start(ctx); err != nil {
					return err
				}
				seen := make(chan string, 1)
				c.OnNotification(func(n mcp.JSONRPCNotification) { seen <- n.Method })
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = "2025-06-18"
				if _, err := c.Initialize(ctx, hello); err != nil {
					return err
				}
				request := mcp.CallToolRequest{}
				request.Params.Name = "work"
				if _, err := c.CallTool(ctx, request); err != nil {
					return err
				}
				<-seen
				return nil
			})
		}},
		Want: map[string]zoo.Want{
			"v0.56.0": {Verdict: explore.Hang, Category: explore.NeverSent, Says: []string{"operation call, wait for progress"}},
			"v0.57.0": {},
		},
	}.Run(t)
}
