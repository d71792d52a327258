package gosdk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestDeadline tests what a client does after a call whose deadline has passed. With Timers
// the deadline may fire while the request or the response is on its way, so that the response
// comes late: the next call must not get it.
func TestDeadline(t *testing.T) {
	r := fixtures.Explore(t, explore.Plan{Timers: 2, Setup: func(r *explore.Run) {
		server := mcp.NewServer(implementation, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
		if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
			panic(err)
		}
		client := mcp.NewClient(implementation, nil)
		var session *mcp.ClientSession
		r.Op("connect", func(context.Context) (err error) {
			session, err = client.Connect(r.Context(), gosdk.Transport(r.Client()), nil)
			return err
		})
		r.Op("call", func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, 5*time.Second)
			defer stop()
			if err := call(ctx, session); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil // that is the schedule's right
		}).After("connect")
		r.Op("list", func(ctx context.Context) error {
			_, err := session.ListTools(ctx, nil)
			return err
		}).After("call")
		r.Op("close", func(context.Context) error { return session.Close() }).AfterAll()
	}})
	if r.Coverage.Fired == 0 {
		t.Error("the deadline passed in no order while a message waited")
	}
}
