package gosdk020

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestCallsSerialised is https://github.com/modelcontextprotocol/go-sdk/issues/26: the
// calls of a session are handled one after the other, so that a call which waits for
// the effect of a later one waits for ever. Since v0.3.0 they run side by side.
//
// A transport of one's own cannot make a message of v0.2.0 from bytes, so both ends
// have the SDK's in-memory pair: the engine orders the operations alone, sees no
// frame, and can name none.
func TestCallsSerialised(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 26 calls serialised",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			opened := make(chan struct{})
			server := mcp.NewServer(&mcp.Implementation{Name: "door", Version: "1"}, nil)
			addTool(server, "wait", func() { <-opened })
			addTool(server, "open", func() { close(opened) })
			session := connect(r.Context(), server, mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil))
			r.Go(func(ctx context.Context) { <-ctx.Done(); session.Close() })
			for _, tool := range []string{"wait", "open"} {
				r.Op(tool, func(ctx context.Context) error {
					_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
					return err
				})
			}
		}},
		Want: map[string]zoo.Want{
			"v0.2.0": {Verdict: explore.Hang, Category: explore.NeverSent, Says: []string{"operation wait", "operation open"}},
			"v0.3.0": {},
		},
	}.Run(t)
}
