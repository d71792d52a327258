package gosdk_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/transport"
)

const steps = 3 // of progress, by the tool "count"

// frame is a text as a frame.
func frame(text string) transport.Frame { return transport.Frame{Bytes: []byte(text)} }

// newServer has one tool, which reports progress before its result.
func newServer() *mcp.Server { return newServerWith(nil) }

// newQuietServer is newServer without the SDK's notifications/tools/list_changed. The SDK sends it
// 10 ms after a tool was added, which may be when a session ends.
func newQuietServer() *mcp.Server {
	return newServerWith(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
}

func newServerWith(options *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, options)
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: map[string]any{"type": "object"}}, count)
	return server
}

func count(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for step := range steps {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(step + 1), Total: steps,
		}); err != nil {
			return nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done\nthere"}}}, nil
}

// onRequest makes the server do something before it handles a method.
func onRequest(server *mcp.Server, method string, do func(context.Context, mcp.Request) error) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
			if m == method {
				if err := do(ctx, req); err != nil {
					return nil, err
				}
			}
			return next(ctx, m, req)
		}
	})
}

func newClient(opts *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, opts)
}

// callCount calls the tool and expects its text, with a newline in it.
func callCount(ctx context.Context, session *mcp.ClientSession) error {
	// SetProgressToken forgets it up to v1.4.1 where there is no Meta yet.
	params := &mcp.CallToolParams{Name: "count", Meta: mcp.Meta{"progressToken": "count-1"}}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || !strings.Contains(text.Text, "\n") {
		return fmt.Errorf("call count: it said %+v", result.Content[0])
	}
	return nil
}

func listTools(ctx context.Context, session *mcp.ClientSession) error {
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	if len(list.Tools) != 1 || list.Tools[0].Name != "count" {
		return fmt.Errorf("list tools: %d tools", len(list.Tools))
	}
	return nil
}
