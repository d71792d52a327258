package gosdk_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestHTTPPair explores a client and a server of the SDK over Streamable HTTP: in every order in
// which requests, events and the ends of streams may arrive, each call reports its progress and
// returns.
func TestHTTPPair(t *testing.T) {
	fixtures.Explore(t, explore.Plan{
		HTTP: &explore.HTTP{},
		Setup: func(run *explore.Run) {
			server := mcp.NewServer(implementation, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
			run.Handle(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))

			seen := make(chan float64, 10)
			client := mcp.NewClient(implementation, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					seen <- req.Params.Progress
				},
			})
			var session *mcp.ClientSession
			run.Op("connect", func(ctx context.Context) (err error) {
				session, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://server/mcp", HTTPClient: run.HTTPClient()}, nil)
				return err
			})
			for _, name := range []string{"call", "another call"} {
				run.Op(name, func(ctx context.Context) error {
					params := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{}}
					params.SetProgressToken(name)
					result, err := session.CallTool(ctx, params)
					if err == nil && result.IsError {
						err = fmt.Errorf("call count: it failed: %+v", result.Content)
					}
					return err
				}).After("connect")
			}
			run.Op("close", func(context.Context) error { return session.Close() }).AfterAll()
		},
	})
}
