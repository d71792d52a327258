package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// openThenUse calls two tools in this order, without waiting for the first answer. The server
// takes the order of the calls for the order of its handlers.
func openThenUse(opts ...server.ServerOption) func(*explore.Run) {
	return func(r *explore.Run) {
		opened := false
		s := server.NewMCPServer("drawer", "1", opts...)
		tool := func(name string, do func()) {
			s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				do()
				return mcp.NewToolResultText("done"), nil
			})
		}
		tool("open", func() { opened = true })
		tool("use", func() {
			if !opened {
				r.Fail(errors.New("used before it was opened"))
			}
		})
		r.Go(func(ctx context.Context) { _ = mcpgo.ServeInProcess(ctx, s, r.Server()) })
		r.Op("calls", func(ctx context.Context) error { return callBoth(ctx, r.Client(), "open", "use") })
	}
}

// callBoth is a client that makes the calls one after the other, and then reads the answers.
func callBoth(ctx context.Context, conn transport.Conn, tools ...string) error {
	defer conn.Close()
	write := func(format string, args ...any) error {
		return conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
	}
	if err := write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	for i, tool := range tools {
		if err := write(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, i+1, tool); err != nil {
			return err
		}
	}
	for range tools {
		if _, err := conn.Read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestPoints: a server that takes the order of its calls for that of its handlers is found
// with Points. Without them each handler runs when its frame is given.
func TestPoints(t *testing.T) {
	if r := explore.Search(t, explore.Plan{Setup: openThenUse(), Schedules: 100}); r.Verdict != explore.Pass {
		t.Error(r.Text())
	}
	r := explore.Search(t, explore.Plan{Setup: openThenUse(server.WithToolHandlerMiddleware(mcpgo.Points(explore.Point)))})
	if r.Verdict != explore.CheckFailed || r.Shrunk.Held != r.Shrunk.Verified || r.Shrunk.Verified < 20 || !strings.Contains(r.Text(), "explore.Point «tools/call open#1»") {
		t.Error(r.Text())
	}
}
