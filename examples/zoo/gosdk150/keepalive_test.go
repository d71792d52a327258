package gosdk150

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// Both cases are https://github.com/modelcontextprotocol/go-sdk/issues/897: a server
// with KeepAlive pings its client while a call is under way, takes what it gets for
// death, and throws the result of the call away.

// TestKeepAliveRefused has a client that knows no ping and says so, which a dead one
// does not. Since v1.6.0 any answer is a sign of life.
func TestKeepAliveRefused(t *testing.T) {
	keepAlive(t, "go-sdk 897 ping refused", true, map[string]zoo.Want{
		"v1.5.0": {Session: "gosdk-897", Verdict: explore.CheckFailed, Says: []string{"the call was not answered", "ping"}},
		"v1.6.0": {},
	})
}

// TestKeepAliveSilent has a client that answers nothing while it waits for its result,
// as one with a single thread does. The SDK gives up after half of its interval, at
// both releases.
func TestKeepAliveSilent(t *testing.T) {
	dropped := zoo.Want{Verdict: explore.CheckFailed, Says: []string{"the call was not answered", "ping"}}
	keepAlive(t, "go-sdk 897 silent client", false, map[string]zoo.Want{"v1.5.0": dropped, "v1.6.0": dropped})
}

func keepAlive(t *testing.T, name string, refuses bool, want map[string]zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Schedules: 60, Setup: func(r *explore.Run) {
			serve(r, r.Server())
			r.Op("call", func(ctx context.Context) error { return call(ctx, r.Client(), refuses) })
		}},
		Want: want,
	}.Run(t)
}

// TestSessionKeepAlive has the recorded client of the golden session, which refuses the
// ping and reads on.
func TestSessionKeepAlive(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 897 ping refused, session",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Schedules: 60, Session: zoo.Golden(t, "gosdk-897").Events(), Setup: func(r *explore.Run) {
			serve(r, r.Server())
			r.RecordedClient()
		}},
		Want: map[string]zoo.Want{
			"v1.5.0": {Verdict: explore.CheckFailed, Says: []string{"the call was not answered", "ping"}},
			"v1.6.0": {},
		},
	}.Run(t)
}

// serve connects a slow server that looks after its client.
func serve(r *explore.Run, conn transport.Conn) {
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, &mcp.ServerOptions{KeepAlive: 200 * time.Millisecond})
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}}, work)
	if _, err := server.Connect(r.Context(), gosdk.Transport(conn), nil); err != nil {
		panic(err)
	}
}

func work(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	time.Sleep(time.Second)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// call is a client that calls the tool and reads until it has the answer.
func call(ctx context.Context, conn transport.Conn, refuses bool) error {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"simple","version":"1"}}}`
	if err := conn.Write(ctx, transport.Frame{Bytes: []byte(hello)}); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	for _, frame := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}`,
	} {
		if err := conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}); err != nil {
			return err
		}
	}
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the call was not answered: %w", err)
		}
		messages, err := f.Messages()
		if err != nil {
			return err
		}
		switch m := messages[0]; {
		case string(m.ID) == "2" && m.Result != nil:
			return nil
		case m.Method == "ping" && refuses:
			refusal := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
			if err := conn.Write(ctx, transport.Frame{Bytes: refusal}); err != nil {
				return fmt.Errorf("the call was not answered: %w", err)
			}
		}
	}
}
