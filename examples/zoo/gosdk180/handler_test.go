package gosdk180

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestHandlerCalls is by design, and follows from the rule of
// https://github.com/modelcontextprotocol/go-sdk/issues/26: notifications are handled
// one at a time, on the queue that requests pass too. This client lists the tools
// again when they have changed, as clients do; this server asks whether its client
// is alive before it lists. The ping waits behind the handler, the handler for the
// list, the list for the ping. No capacity changes that.
func TestHandlerCalls(t *testing.T) {
	zoo.Case{
		Name: "go-sdk call in notification handler",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := newServer()
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						if err := req.GetSession().(*mcp.ServerSession).Ping(ctx, nil); err != nil {
							return nil, err
						}
					}
					return next(ctx, method, req)
				}
			})
			listed := make(chan error, 1)
			connect(r, server, newClient(&mcp.ClientOptions{
				ToolListChangedHandler: func(ctx context.Context, req *mcp.ToolListChangedRequest) {
					_, err := req.Session.ListTools(ctx, nil)
					listed <- err
				},
			}))
			r.Op("change tools", func(context.Context) error { server.RemoveTools("greet"); return nil }).After("connect")
			r.Op("refresh", func(context.Context) error { return <-listed }).After("connect")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Session: "gosdk-handler-calls", Verdict: explore.Hang, Category: explore.MutualWait, Says: []string{
				"operation refresh", "the server read tools/list by connect#1", "has asked ping#1 since", "<- cycle",
				"in mcp.(*ServerSession).Ping", "in mcp.(*ClientSession).ListTools", "notifications/tools/list_changed"}},
		},
	}.Run(t)
}
