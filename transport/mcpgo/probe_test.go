package mcpgo_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// The SDK's client runs the handlers of notifications on its reader: it is free as long as none of them
// asks the server.
func TestProbeClient(t *testing.T) {
	for _, tt := range []struct {
		name, model string
		asks        bool
	}{
		{"a handler that returns", "independent", false},
		{"a handler that asks", "blocking-handlers", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := fixtures.Probe(t, fixtures.AsServer, probe.Options{}, func(t testing.TB, conn transport.Conn) {
				c := client.NewClient(mcpgo.Client(conn))
				if err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.OnNotification(func(n mcp.JSONRPCNotification) {
					if tt.asks && n.Method == "notifications/tools/list_changed" {
						_, _ = c.ListTools(t.Context(), mcp.ListToolsRequest{})
					}
				})
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = "2025-06-18"
				hello.Params.ClientInfo = mcp.Implementation{Name: "client", Version: "1"}
				if _, err := c.Initialize(t.Context(), hello); err != nil {
					t.Fatal(err)
				}
				request := mcp.CallToolRequest{}
				request.Params.Name = "probe"
				request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
				if _, err := c.CallTool(t.Context(), request); err != nil {
					t.Error(err)
				}
			})
			if report.Word() != tt.model {
				t.Errorf("the client is %q, want %s", report.Word(), tt.model)
			}
		})
	}
}

func TestProbeServer(t *testing.T) {
	report := fixtures.Probe(t, fixtures.AsClient, probe.Options{Call: "ask", Notifications: 16}, func(t testing.TB, conn transport.Conn) {
		s := asking()
		s.AddNotificationHandler("notifications/roots/list_changed", func(ctx context.Context, _ mcp.JSONRPCNotification) {
			_, _ = s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
		})
		_ = mcpgo.Serve(t.Context(), server.NewStdioServer(s), conn)
	})
	if report.Word() != "blocking-handlers-except-tools" {
		t.Errorf("the server is %q", report.Word())
	}
}
