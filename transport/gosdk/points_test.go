package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// openThenUse calls two tools in this order, without waiting for the first answer. The server
// takes the order of the calls for the order of its handlers.
func openThenUse(points bool) func(*explore.Run) {
	return func(r *explore.Run) {
		opened := false
		server := mcp.NewServer(&mcp.Implementation{Name: "drawer", Version: "1"}, nil)
		tool := func(name string, do func() error) {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, do()
				})
		}
		tool("open", func() error { opened = true; return nil })
		tool("use", func() error {
			if !opened {
				r.Fail(errors.New("used before it was opened"))
			}
			return nil
		})
		if points {
			server.AddReceivingMiddleware(gosdk.Points(explore.Point))
		}
		if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
			panic(err)
		}
		r.Op("calls", func(ctx context.Context) error { return calls(ctx, r.Client(), "open", "use") })
	}
}

// calls is a client that makes the calls one after the other, and then reads the answers. The
// ping before them finds the server independent: until its answer to initialize is written, the server
// keeps what it reads in a queue, and it would then start both calls at the same moment.
func calls(ctx context.Context, conn transport.Conn, tools ...string) error {
	defer conn.Close()
	if err := conn.Write(ctx, frame(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	if err := conn.Write(ctx, frame(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return err
	}
	if err := conn.Write(ctx, frame(`{"jsonrpc":"2.0","id":"free","method":"ping"}`)); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	for i, tool := range tools {
		if err := conn.Write(ctx, frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, i+1, tool))); err != nil {
			return err
		}
	}
	for answered := 0; answered < len(tools); {
		f, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		messages, err := f.Messages()
		if err != nil {
			return err
		}
		if messages[0].Kind() == transport.Response {
			answered++
		}
	}
	return nil
}

// A server that takes the order of its calls for that of its handlers is found with Points, and
// the token holds. Without them each handler runs when its frame is given.
func TestPoints(t *testing.T) {
	if r := explore.Search(t, explore.Plan{Setup: openThenUse(false), Schedules: 100}); r.Verdict != explore.Pass {
		t.Error(r.Text())
	}
	r := explore.Search(t, explore.Plan{Setup: openThenUse(true)})
	if r.Verdict != explore.CheckFailed || r.Shrunk.Held != r.Shrunk.Verified || r.Shrunk.Verified < 20 || !strings.Contains(r.Text(), "explore.Point «tools/call open#1»") {
		t.Error(r.Text())
	}
}
