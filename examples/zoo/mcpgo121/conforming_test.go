package mcpgo121

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestConforming is no bug: two calls side by side, whose progress nobody waits for.
func TestConforming(t *testing.T) {
	zoo.Case{
		Name: "mcp-go conforming client",
		SDK:  client.NewClient,
		Plan: explore.Plan{Schedules: 1000, Setup: func(r *explore.Run) {
			r.Go(scripted(r.Server(), 2))
			var c *client.Client
			r.Op("connect", func(ctx context.Context) (err error) {
				c, err = connect(ctx, r.Client(), func(*client.Client, mcp.JSONRPCNotification) {})
				return err
			})
			r.Op("call", func(ctx context.Context) error { return callTool(ctx, c) }).After("connect")
			r.Op("list", func(ctx context.Context) error {
				_, err := c.ListTools(ctx, mcp.ListToolsRequest{})
				return err
			}).After("connect")
		}},
		Want: map[string]zoo.Want{"v1.2.1": {}},
	}.Run(t)
}
