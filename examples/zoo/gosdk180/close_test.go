package gosdk180

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestDoubleClose was found by exploring this session, and is in no published
// issue: a call each way, and both ends close. Each end refuses the other's request because it
// is closing, cannot say so because it is closing, and waits for the answer to its
// own.
//
// Both requests were read and nobody is left to answer them; no capacity changes
// that.
func TestDoubleClose(t *testing.T) {
	zoo.Case{
		Name: "go-sdk double Close",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s := connect(r, newServer(), newClient(nil))
			// Who calls may find the session closed, and must be told.
			r.Op("call", func(ctx context.Context) error {
				s.client.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
				return nil
			}).After("connect")
			r.Op("ping", func(ctx context.Context) error { s.server.Ping(ctx, nil); return nil }).After("connect")
			r.Op("close client", func(context.Context) error { s.client.Close(); return nil }).After("connect")
			r.Op("close server", func(context.Context) error { s.server.Close(); return nil }).After("connect")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Session: "gosdk-double-close", Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				`tools/call "greet"`, "ping", "operation close client", "operation close server",
				"in mcp.(*ClientSession).Close", "in mcp.(*ServerSession).Close"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}
