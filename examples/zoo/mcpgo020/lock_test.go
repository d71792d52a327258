package mcpgo020

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestListThenAdd is https://github.com/mark3labs/mcp-go/issues/138: tools/list leaves
// the server's one lock read-locked. The next AddTool waits for it for ever. Since
// v0.20.1 it is given back.
//
// Who left the lock is gone from the stacks, so that nothing tells whether somebody
// outside of the run might give it back: the verdict is a stall, which is seen and not proved.
func TestListThenAdd(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 138 list, then add",
		SDK:  server.NewMCPServer,
		Plan: explore.Plan{Patience: time.Second, Setup: func(r *explore.Run) {
			s := server.NewMCPServer("growing", "1", server.WithToolCapabilities(true))
			s.AddTool(mcp.NewTool("first"), tool)
			r.Go(func(ctx context.Context) { serve(ctx, s, r.Server()) })
			r.Op("list", func(ctx context.Context) error { return list(ctx, r.Client()) })
			r.Op("add", func(context.Context) error { s.AddTool(mcp.NewTool("second"), tool); return nil })
		}},
		Want: map[string]zoo.Want{
			"v0.20.0": {Verdict: explore.Stall, Category: explore.NeverSent, Says: []string{"waits for a mutex", "AddTools server.go"}},
			"v0.20.1": {},
		},
	}.Run(t)
}

func tool(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("done"), nil
}

// serve is what the SDK's stdio server does, without the session that it keeps in a
// package variable, outside of every bubble.
func serve(ctx context.Context, s *server.MCPServer, conn transport.Conn) {
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if answer := s.HandleMessage(ctx, f.Bytes); answer != nil {
			if b, err := json.Marshal(answer); err == nil {
				conn.Write(ctx, transport.Frame{Bytes: b})
			}
		}
	}
}

// list is a client that lists the tools.
func list(ctx context.Context, conn transport.Conn) error {
	write := func(frame string) error { return conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}) }
	if err := write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); err != nil {
		return err
	}
	_, err := conn.Read(ctx)
	return err
}
