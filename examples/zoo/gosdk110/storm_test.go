package gosdk110

import (
	"context"
	"fmt"
	"io"
	"log"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// Both cases are https://github.com/modelcontextprotocol/go-sdk/issues/649: each
// AddTool after the handshake writes a list_changed of its own to every session,
// before it returns. Since v1.2.0 one notification follows 10 ms after the last.

const added = 3 // tools

// TestStormHoldsAddTool has a client that does not read while the tools are added.
// AddTool then waits for room for its notification, and only the 10 s that the SDK
// gives a notification end it: no hang, but an operation that a timer alone ended.
// A transport that holds all of the notifications hides it.
func TestStormHoldsAddTool(t *testing.T) {
	log.SetOutput(io.Discard) // where the SDK says that it gave up
	zoo.Case{
		Name: "go-sdk 649 storm holds AddTool",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{
			Capacities: []explore.Capacity{{C2S: 0, S2C: 0}, {C2S: 0, S2C: added - 1}, {C2S: 0, S2C: added}},
			Setup: func(r *explore.Run) {
				server := newServer(r)
				r.Op("shake hands, add tools", func(ctx context.Context) error {
					if err := greet(ctx, r.Client()); err != nil {
						return err
					}
					start := time.Now()
					addTools(server)
					if took := time.Since(start); took > 0 {
						return fmt.Errorf("AddTool was held for %v", took)
					}
					return nil
				})
			},
		},
		Want: map[string]zoo.Want{
			"v1.1.0": {Verdict: explore.CheckFailed, Category: explore.TimerOnly, Says: []string{
				"AddTool was held for 30s"}, Hidden: []explore.Capacity{{C2S: 0, S2C: added}}},
			"v1.2.0": {},
		},
	}.Run(t)
}

// TestStorm has a client that reads, and counts.
func TestStorm(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 649 storm",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{
			Setup: func(r *explore.Run) {
				var seen atomic.Int32
				r.Data = &seen
				server := newServer(r)
				client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { seen.Add(1) },
				})
				r.Op("connect, add tools", func(ctx context.Context) error {
					if _, err := client.Connect(ctx, gosdk.Transport(r.Client()), nil); err != nil {
						return err
					}
					addTools(server)
					return nil
				})
			},
			Check: func(r *explore.Run) error {
				if n := r.Data.(*atomic.Int32).Load(); n > 1 {
					return fmt.Errorf("%d tools were added, and the client was told %d times", added, n)
				}
				return nil
			},
		},
		Want: map[string]zoo.Want{
			"v1.1.0": {Session: "gosdk-649", Verdict: explore.CheckFailed, Says: []string{"3 tools were added, and the client was told"}},
			"v1.2.0": {},
		},
	}.Run(t)
}

// TestSessionStorm has the recorded client of the golden session, and a server that adds
// its tools when that client is ready: how often it is told is then the session's doing
// and the server's alone.
func TestSessionStorm(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 649 storm, session",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{
			Session: zoo.Golden(t, "gosdk-649").Events(),
			Setup: func(r *explore.Run) {
				counted := &changes{Conn: r.Server()}
				r.Data = counted
				ready := make(chan struct{})
				server := mcp.NewServer(&mcp.Implementation{Name: "growing", Version: "1"}, &mcp.ServerOptions{
					HasTools: true, InitializedHandler: func(context.Context, *mcp.InitializedRequest) { close(ready) },
				})
				if _, err := server.Connect(r.Context(), gosdk.Transport(counted), nil); err != nil {
					panic(err)
				}
				r.RecordedClient()
				r.Op("add tools", func(context.Context) error { <-ready; addTools(server); return nil })
			},
			Check: func(r *explore.Run) error {
				if n := r.Data.(*changes).n.Load(); n > 1 {
					return fmt.Errorf("%d tools were added, and the client was told %d times", added, n)
				}
				return r.Failures()
			},
		},
		Want: map[string]zoo.Want{
			"v1.1.0": {Verdict: explore.CheckFailed, Says: []string{"3 tools were added, and the client was told 3 times"}},
			"v1.2.0": {},
		},
	}.Run(t)
}

// changes is a server's Conn that counts what it says of its tools.
type changes struct {
	transport.Conn
	n atomic.Int32
}

func (c *changes) Write(ctx context.Context, f transport.Frame) error {
	if messages, err := f.Messages(); err == nil && messages[0].Method == "notifications/tools/list_changed" {
		c.n.Add(1)
	}
	return c.Conn.Write(ctx, f)
}

// newServer returns a server with tools to come, connected to the run.
func newServer(r *explore.Run) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "growing", Version: "1"}, &mcp.ServerOptions{HasTools: true})
	if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
		panic(err)
	}
	return server
}

func addTools(server *mcp.Server) {
	for i := range added {
		server.AddTool(&mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	}
}

// greet is a client's side of the handshake.
func greet(ctx context.Context, conn transport.Conn) error {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`
	if err := conn.Write(ctx, transport.Frame{Bytes: []byte(hello)}); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	return conn.Write(ctx, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)})
}
