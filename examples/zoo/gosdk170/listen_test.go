package gosdk170

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestCloseWithListen is https://github.com/modelcontextprotocol/go-sdk/issues/1160:
// ServerSession.Close waits until the requests in flight are done, and
// subscriptions/listen, which a client of revision 2026-07-28 with a list_changed
// handler opens by itself, is done when the session ends. Both ends are the SDK's.
//
// The listen was read and nothing will answer it; no capacity changes that. Since
// v1.8.0 Close ends the listens first.
func TestCloseWithListen(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1160 close with listen",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := mcp.NewServer(&mcp.Implementation{Name: "listened to", Version: "1"}, &mcp.ServerOptions{
				Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
			})
			session, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil)
			if err != nil {
				panic(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "listener", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
			})
			r.Op("connect", func(ctx context.Context) error {
				session, err := client.Connect(ctx, gosdk.Transport(r.Client()), nil)
				if err == nil {
					r.Go(func(ctx context.Context) { <-ctx.Done(); session.Close() })
				}
				return err
			})
			r.Op("close server", func(context.Context) error { return session.Close() }).After("connect")
		}},
		Want: map[string]zoo.Want{
			"v1.7.0": {Session: "gosdk-1160", Verdict: explore.Hang, Category: explore.BlockedHandler, Says: []string{
				"operation close server", "the server owes the response to subscriptions/listen#1", "in mcp.(*ServerSession).Close"}},
			"v1.8.0": {},
		},
	}.Run(t)
}
