package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestExplored: calls at once, a resource and a prompt come to their ends in any order of frames
// and at any capacity.
func TestExplored(t *testing.T) {
	l := newLibrary(t)
	fixture := l.addFixture(t, "../../../../fixtures/seed.jsonl")
	hung := l.addHung(t)
	// The store's decoder is shared by all that read. Its channel must not belong to the bubble of a
	// schedule.
	ask(t, l.connect(t), "get_event", map[string]any{"session": fixture, "seq": 5})
	explore.Explore(t, explore.Plan{Schedules: 300, Workers: runtime.GOMAXPROCS(0), Setup: func(r *explore.Run) {
		db, err := session.OpenReadOnly(t.Context(), session.Home{Place: l.dir})
		if err != nil {
			panic(err)
		}
		if _, err := New(db, "test").Connect(r.Context(), gosdk.Transport(r.Server())); err != nil {
			panic(err)
		}
		var client *sdk.ClientSession
		r.Op("connect", func(context.Context) (err error) {
			client, err = sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(r.Context(), gosdk.Transport(r.Client()), nil)
			return err
		})
		op := func(name string, do func(context.Context) error) {
			r.Op(name, func(ctx context.Context) error {
				if client == nil {
					return errors.New("not connected")
				}
				return do(ctx)
			}).After("connect")
		}
		call := func(tool string, args map[string]any, want string) {
			op(tool, func(ctx context.Context) error {
				result, err := client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					return err
				}
				if text := result.Content[0].(*sdk.TextContent).Text; result.IsError || !strings.Contains(text, want) {
					return fmt.Errorf("%s says %s", tool, text)
				}
				return nil
			})
		}
		call("why_stuck", nil, string(hung))
		call("list_sessions", nil, string(fixture))
		call("get_event", map[string]any{"session": fixture, "seq": 5}, "count-1")
		call("explain_hang", map[string]any{"session": fixture, "client_model": "notification-queue=0"}, "HANG (proved)")
		op("resource", func(ctx context.Context) error {
			_, err := client.ReadResource(ctx, &sdk.ReadResourceParams{URI: resourceURI(fixture)})
			return err
		})
		op("prompt", func(ctx context.Context) error {
			_, err := client.GetPrompt(ctx, &sdk.GetPromptParams{Name: "my_mcp_call_hangs"})
			return err
		})
	}})
}
