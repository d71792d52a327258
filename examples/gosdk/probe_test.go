package gosdk_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestProbe measures how a client of the SDK reads and writes. Its handlers are the program's own: one
// that asks the server shows whether the reader waits for a handler.
func TestProbe(t *testing.T) {
	report := fixtures.Probe(t, fixtures.AsServer, probe.Options{}, func(t testing.TB, conn transport.Conn) {
		client := mcp.NewClient(implementation, &mcp.ClientOptions{
			ToolListChangedHandler: func(ctx context.Context, request *mcp.ToolListChangedRequest) {
				_, _ = request.Session.ListTools(ctx, nil)
			},
		})
		session, err := client.Connect(t.Context(), gosdk.Transport(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		params := &mcp.CallToolParams{Name: "probe"}
		params.SetProgressToken("p")
		if _, err := session.CallTool(t.Context(), params); err != nil {
			t.Error(err)
		}
	})
	if report.Word() != "independent" {
		t.Errorf("the client is %q", report.Word())
	}
}

// TestProbeServer measures a server of the SDK, which asks for the roots when they have changed.
func TestProbeServer(t *testing.T) {
	report := fixtures.Probe(t, fixtures.AsClient, probe.Options{}, func(t testing.TB, conn transport.Conn) {
		server := mcp.NewServer(implementation, &mcp.ServerOptions{
			//lint:ignore SA1019 servers of today's revisions ask for roots
			RootsListChangedHandler: func(ctx context.Context, request *mcp.RootsListChangedRequest) {
				_, _ = request.Session.ListRoots(ctx, nil) //lint:ignore SA1019 the same
			},
		})
		mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
			return nil, in, nil
		})
		_ = server.Run(t.Context(), gosdk.Transport(conn))
	})
	if report.Word() != "independent" {
		t.Errorf("the server is %q", report.Word())
	}
}
