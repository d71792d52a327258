package mcpgo121

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// The client runs notification handlers on the goroutine that reads, with a lock
// held: the Go form of https://github.com/modelcontextprotocol/python-sdk/issues/594.
// The response is behind a notification whose handler has not come back. No capacity
// of the transport changes that; a queue of the handler's own does, if it holds all
// notifications that come before the response. No release is without it.

// progressBar is a caller that looks at its progress when the call is done; the handler
// hands it over through a queue.
func progressBar(t *testing.T, name string, queue, progress int, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  client.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			r.Go(scripted(r.Server(), progress))
			r.Op("call", func(ctx context.Context) error {
				seen := make(chan string, queue)
				c, err := connect(ctx, r.Client(), func(_ *client.Client, n mcp.JSONRPCNotification) { seen <- n.Method })
				if err != nil {
					return err
				}
				if err := callTool(ctx, c); err != nil {
					return err
				}
				for range progress {
					<-seen
				}
				return nil
			})
		}},
		Want: map[string]zoo.Want{"v1.2.1": want},
	}.Run(t)
}

func TestNoQueue(t *testing.T) {
	progressBar(t, "mcp-go inline, queue 0", 0, 1, zoo.Want{Session: "mcpgo-inline", Verdict: explore.Hang, Category: explore.BehindNotification,
		Says: []string{"notifications/progress", "holds", "response to tools/call", "inline_test.go"}})
}

func TestQueue(t *testing.T) {
	progressBar(t, "mcp-go inline, queue 1", 1, 1, zoo.Want{})
}

func TestQueueTooSmall(t *testing.T) {
	progressBar(t, "mcp-go inline, queue 1 of 2", 1, 2, zoo.Want{Verdict: explore.Hang, Category: explore.BehindNotification,
		Says: []string{"notifications/progress", "holds", "response to tools/call", "inline_test.go"}})
}

// TestCallInHandler has a handler that lists the tools: it waits for a response that
// only the reader, which runs it, can read.
func TestCallInHandler(t *testing.T) {
	zoo.Case{
		Name: "mcp-go inline, call in handler",
		SDK:  client.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			r.Go(scripted(r.Server(), 1))
			r.Op("call", func(ctx context.Context) error {
				c, err := connect(ctx, r.Client(), func(c *client.Client, _ mcp.JSONRPCNotification) {
					c.ListTools(ctx, mcp.ListToolsRequest{})
				})
				if err != nil {
					return err
				}
				return callTool(ctx, c)
			})
		}},
		Want: map[string]zoo.Want{"v1.2.1": {Session: "mcpgo-handler-calls", Verdict: explore.Hang, Category: explore.BehindNotification,
			Says: []string{"notifications/progress", "holds", "tools/list", "SendRequest stdio.go"}}},
	}.Run(t)
}
