package gosdk_test

//lint:file-ignore SA1019 the recorded server asks the client's model, as servers of today's revisions do

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
)

// webHandler serves the tools of testdata/web.jsonl, which was recorded over HTTP.
func webHandler(wait mcp.ToolHandlerFor[struct{}, any]) http.Handler {
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "Ask"}, ask)
	mcp.AddTool(server, &mcp.Tool{Name: "wait", Description: "Wait"}, wait)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
}

// ask is a tool that asks the client's model.
func ask(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	params := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What now?"}}}}
	answer, err := req.Session.CreateMessage(ctx, params)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{answer.Content}}, nil, nil
}

// wait is a tool that works until the call is cancelled.
func wait(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// TestHTTPServer pins a server's behaviour over HTTP: a recorded client plays to its handler, and must
// get the recorded answers in whatever order requests and events come, also when the connections of
// responses are cut and the client goes on with Last-Event-ID.
func TestHTTPServer(t *testing.T) {
	fx := fixtures.Load(t, "testdata/web.jsonl")
	plan := fx.HTTPServerPlan(t, func(testing.TB) http.Handler { return webHandler(wait) })
	plan.HTTP.Cuts = 2
	fixtures.Explore(t, plan)
}

// TestHTTPClient tests a client over HTTP: the recorded server answers its calls, asks its model, and
// loses a connection.
func TestHTTPClient(t *testing.T) {
	fx := fixtures.Load(t, "testdata/web.jsonl").AllowUnused()
	plan := fx.HTTPClientPlan(t, func(t testing.TB, requests *http.Client) {
		client := mcp.NewClient(implementation, &mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "Go on."}}, nil
			},
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://server/mcp", HTTPClient: requests}, nil)
		if err != nil {
			t.Fatal(err)
		}
		call := func(ctx context.Context, name string) error {
			params := &mcp.CallToolParams{Name: name, Arguments: map[string]any{}}
			params.SetProgressToken(name)
			_, err := session.CallTool(ctx, params)
			return err
		}
		done := make(chan error)
		for _, name := range []string{"count", "ask"} {
			go func() { done <- call(t.Context(), name) }()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			fixtures.Step(ctx, "give up")
			stop()
		}()
		if err := call(ctx, "wait"); !errors.Is(err, context.Canceled) {
			t.Errorf("wait: %v, want that it is cancelled", err)
		}
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	plan.HTTP.Cuts = 1
	fixtures.Explore(t, plan)
}
