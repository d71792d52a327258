package gosdk_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

var implementation = &mcp.Implementation{Name: "example", Version: "1"}

const steps = 3

// count is a tool that reports progress before its result.
func count(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	for step := range steps {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(step + 1), Total: steps,
		}); err != nil {
			return nil, nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
}

// TestPair tests a client and a server in one process. At capacity 0 nothing is
// queued between them: each Write waits for a Read, as over an in-memory stream
// without a buffer. Whoever handles a notification in the way of its own receive
// loop is found.
func TestPair(t *testing.T) {
	fixtures.Explore(t, explore.Plan{Setup: func(r *explore.Run) {
		server := mcp.NewServer(implementation, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
		if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
			panic(err)
		}
		seen := make(chan float64)
		client := mcp.NewClient(implementation, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
				seen <- n.Params.Progress
			},
		})
		var session *mcp.ClientSession
		r.Op("connect", func(context.Context) (err error) {
			// The session lives longer than the operation.
			session, err = client.Connect(r.Context(), gosdk.Transport(r.Client()), nil)
			return err
		})
		r.Op("call", func(ctx context.Context) error { return call(ctx, session) }).After("connect")
		r.Op("list", func(ctx context.Context) error {
			_, err := session.ListTools(ctx, nil)
			return err
		}).After("connect")
		r.Op("watch", func(context.Context) error { return watch(seen) }).After("connect")
		r.Op("close", func(context.Context) error { return session.Close() }).After("call", "list", "watch")
	}})
}

func call(ctx context.Context, session *mcp.ClientSession) error {
	params := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{}}
	params.SetProgressToken("count-1")
	result, err := session.CallTool(ctx, params)
	if err == nil && result.IsError {
		err = fmt.Errorf("call count: it failed: %+v", result.Content)
	}
	return err
}

// watch expects all the progress, in its order.
func watch(seen <-chan float64) error {
	for want := range steps {
		if got := <-seen; got != float64(want+1) {
			return fmt.Errorf("progress %v came as number %d", got, want+1)
		}
	}
	return nil
}
