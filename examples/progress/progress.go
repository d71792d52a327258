// Package progress is the seed's session with the official Go SDK: a server
// whose one tool reports progress before its result, and a client that calls
// it. mcprec demo runs each in a process of its own, with a recorder between.
//
// The order on the wire (progress, progress, result) is what any conforming
// server may send. python-sdk issue 594 is a client that hangs on it.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Steps is how many progress notifications the tool sends before its result.
const Steps = 2

type countArgs struct {
	Text string `json:"text" jsonschema:"the text whose letters are counted"`
}

// Serve serves MCP on standard input and output until the input ends.
func Serve(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count letters, in steps"}, count)
	return server.Run(ctx, &mcp.StdioTransport{})
}

func count(ctx context.Context, req *mcp.CallToolRequest, args countArgs) (*mcp.CallToolResult, any, error) {
	for step := 1; step <= Steps; step++ {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(),
			Message:       fmt.Sprintf("step %d of %d", step, Steps),
			Progress:      float64(step),
			Total:         Steps,
		}); err != nil {
			return nil, nil, err
		}
	}
	text := fmt.Sprintf("%d letters", len([]rune(args.Text)))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// Call starts the server command, calls the tool once with a progress token,
// and says on w what it saw.
func Call(ctx context.Context, w io.Writer, command []string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "demo client", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			fmt.Fprintf(w, "client: progress %v of %v\n", n.Params.Progress, n.Params.Total)
		},
	})
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	// The last revision with a handshake: the clients that hang speak it.
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", command[0], err)
	}
	params := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"text": "hello, world"}}
	params.SetProgressToken("count-1")
	result, err := session.CallTool(ctx, params)
	if err != nil {
		session.Close()
		return fmt.Errorf("call the tool: %w", err)
	}
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Fprintf(w, "client: the tool said %q\n", text.Text)
		}
	}
	return session.Close()
}
