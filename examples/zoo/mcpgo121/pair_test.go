package mcpgo121

import (
	"context"
	"io"
	"log"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// Both ends of these cases are the SDK's. Its stdio server keeps its session in a
// package variable, outside of every bubble, so the engine is the one that settles.

// TestLateProgress was found by exploring this session, and is in no published issue:
// the server hands notifications to a queue, which another goroutine writes from, so
// that the result of a tool overtakes the progress that it reported before: without
// an engine, over io.Pipe, in 990 of 1,000 calls. The
// specification has progress stop when the request is answered; a client that has
// forgotten the token by then drops it, or the connection.
func TestLateProgress(t *testing.T) {
	pair(t, "mcp-go progress after the result", reporting, zoo.Want{Session: "mcpgo-late-progress", Verdict: explore.Illegal, Category: "P3", Says: []string{`notifications/progress (tools/call "work" by call#1)#1`}})
}

// TestSessionLateProgress has the recorded client of the golden session, which calls and
// lists side by side.
func TestSessionLateProgress(t *testing.T) {
	zoo.Case{
		Name: "mcp-go late progress, session",
		SDK:  client.NewClient,
		Plan: explore.Plan{
			Engine: explore.Settle, Schedules: 60, Session: zoo.Golden(t, "mcpgo-late-progress").Events(),
			Setup: func(r *explore.Run) {
				serve(r, reporting)
				r.RecordedClient()
			},
		},
		Want: map[string]zoo.Want{"v1.2.1": {Verdict: explore.Illegal, Category: "P3", Says: []string{`notifications/progress (tools/call "work"#1)#1`}}},
	}.Run(t)
}

// reporting is a tool's work that tells its progress.
func reporting(ctx context.Context, s *server.MCPServer, token mcp.ProgressToken) error {
	return s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": token, "progress": 1})
}

// TestConformingPair is no bug: the tool reports nothing.
func TestConformingPair(t *testing.T) {
	pair(t, "mcp-go conforming pair", func(context.Context, *server.MCPServer, mcp.ProgressToken) error { return nil }, zoo.Want{})
}

func pair(t *testing.T, name string, report func(context.Context, *server.MCPServer, mcp.ProgressToken) error, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  client.NewClient,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 60, Setup: func(r *explore.Run) {
			serve(r, report)
			var c *client.Client
			r.Op("connect", func(ctx context.Context) (err error) {
				c, err = connect(ctx, r.Client(), func(*client.Client, mcp.JSONRPCNotification) {})
				return err
			})
			r.Op("call", func(ctx context.Context) error { return callTool(ctx, c) }).After("connect")
			r.Op("list", func(ctx context.Context) error {
				_, err := c.ListTools(ctx, mcp.ListToolsRequest{})
				return err
			}).After("connect")
		}},
		Want: map[string]zoo.Want{"v1.2.1": want},
	}.Run(t)
}

// serve is the SDK's stdio server with one tool.
func serve(r *explore.Run, report func(context.Context, *server.MCPServer, mcp.ProgressToken) error) {
	stdio := server.NewStdioServer(working(report))
	stdio.SetErrorLogger(log.New(io.Discard, "", 0)) // it would say that a run is over
	r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, stdio, r.Server()) })
}

// working is a server with one tool.
func working(report func(context.Context, *server.MCPServer, mcp.ProgressToken) error) *server.MCPServer {
	s := server.NewMCPServer("working", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("work"), func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), report(ctx, s, request.Params.Meta.ProgressToken)
	})
	return s
}
