package mcpgo_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	sdk "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
)

// overHTTP is a conforming pair over Streamable HTTP, in which each call has a deadline and the server's tools change.
func overHTTP(r *explore.Run) { change(r, callsOverHTTP(r)) }

// callsOverHTTP is overHTTP without the change, and returns the server.
func callsOverHTTP(r *explore.Run) *server.MCPServer {
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
	use(r, c)
	return s
}

// TestExploreHTTP: a client and a server of the SDK over Streamable HTTP are right in any order of
// their exchanges, also where deadlines pass while they are on their way.
func TestExploreHTTP(t *testing.T) {
	plan := explore.Plan{HTTP: &explore.HTTP{}, Setup: overHTTP, Schedules: scale(100, 100_000)}
	passes(t, plan)
	plan.Timers = 3
	if fired := passes(t, plan); fired == 0 {
		t.Error("no timer fired while exchanges were on their way")
	}
}

// TestExploreHTTPTokens: a schedule of HTTP is the same again by its token. The server's tools do not change here:
// whether the notice of a change that comes with the end of a response is sent is up to two goroutines of the SDK
// (docs/bugs, mcpgo-http-drops-progress), and no token can repeat that.
func TestExploreHTTPTokens(t *testing.T) {
	setup := func(r *explore.Run) { callsOverHTTP(r) }
	sameAgain(t, explore.Plan{HTTP: &explore.HTTP{}, Setup: setup, Timers: 3}, scale(20, 2000))
}

// The recorded client of testdata/web.jsonl, which was recorded over HTTP, gets the recorded answers
// from a server of mcp-go, in every order.
func TestHTTPServer(t *testing.T) {
	fx := fixtures.Load(t, "testdata/web.jsonl")
	plan := fx.HTTPServerPlan(t, func(testing.TB) http.Handler {
		s := server.NewMCPServer("server", "1", server.WithToolCapabilities(true))
		for name, answer := range map[string]string{"work": "done", "ping": "pong"} {
			s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(answer), nil
			})
		}
		return server.NewStreamableHTTPServer(s)
	})
	plan.Level = explore.SendingOrder // also in the order of the client's calls
	fixtures.Explore(t, plan)
}

// A client of mcp-go gets the answers of the recorded server.
func TestHTTPClient(t *testing.T) {
	fx := fixtures.Load(t, "testdata/web.jsonl")
	fx.ExploreHTTPClient(t, func(t testing.TB, requests *http.Client) {
		c, err := client.NewStreamableHttpClient("http://server/mcp", sdk.WithHTTPBasicClient(requests))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: "2025-11-25"}}); err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for name, want := range map[string]string{"work": "done", "ping": "pong"} {
			calls.Go(func() {
				result, err := c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name}})
				if err != nil {
					t.Error(err)
					return
				}
				if got := result.Content[0].(mcp.TextContent).Text; got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			})
		}
		calls.Wait()
	})
}
