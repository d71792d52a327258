package mcpgo110

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// Both cases are https://github.com/mark3labs/mcp-go/issues/976: the stdio server
// handles every request but tools/call on the goroutine that reads. While one lasts
// nothing is read, neither the answer nor the cancellation that would end it. No
// capacity of the transport changes that. Since v1.1.1 each has a goroutine.
//
// The server keeps its session in a package variable, outside of every bubble, so the
// engine is the one that settles, and what it finds a standstill and no proof.

// TestResourceAsksRoots has a resource that wants the client's roots. Both ends are
// the SDK's.
func TestResourceAsksRoots(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 976 resource asks for roots",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 30, Setup: func(r *explore.Run) {
			s := rooted()
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, quiet(s), r.Server()) })
			r.Op("read resource", func(ctx context.Context) error {
				c := client.NewClient(mcpgo.Client(r.Client()), client.WithRootsHandler(roots{}))
				if err := c.Start(ctx); err != nil {
					return err
				}
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = "2025-06-18"
				if _, err := c.Initialize(ctx, hello); err != nil {
					return err
				}
				request := mcp.ReadResourceRequest{}
				request.Params.URI = "zoo://roots"
				_, err := c.ReadResource(ctx, request)
				return err
			})
		}},
		Want: map[string]zoo.Want{
			"v1.1.0": {Session: "mcpgo-976-roots", Verdict: explore.Stall, Category: explore.BehindRequest, Says: []string{
				`resources/read "zoo://roots"`, "roots/list", "server reader (c2s)", "ListRoots stdio.go"}},
			"v1.1.1": {},
		},
	}.Run(t)
}

// rooted is a server with a resource that wants the client's roots.
func rooted() *server.MCPServer {
	s := server.NewMCPServer("rooted", "1", server.WithResourceCapabilities(true, true), server.WithRoots())
	s.AddResource(mcp.NewResource("zoo://roots", "roots"), func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		roots, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "zoo://roots", Text: fmt.Sprint(len(roots.Roots))}}, nil
	})
	return s
}

// quiet is the SDK's stdio server, which would say that a run is over.
func quiet(s *server.MCPServer) *server.StdioServer {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the client's
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(io.Discard, "", 0))
	return stdio
}

type roots struct{}

func (roots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///home"}}}, nil
}

// TestListen has a client that subscribes, as revision 2026-07-28 has it, and then
// lists the tools.
func TestListen(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 976 list behind listen",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 30, Setup: func(r *explore.Run) {
			s := server.NewMCPServer("listened to", "1", server.WithToolCapabilities(true))
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, quiet(s), r.Server()) })
			r.Op("listen, list", func(ctx context.Context) error { return listenAndList(ctx, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v1.1.0": {Session: "mcpgo-976-listen", Verdict: explore.Stall, Category: explore.BehindRequest, Says: []string{
				"subscriptions/listen", "tools/list", "server reader (c2s)", "handleSubscriptionsListen subscriptions.go"}},
			"v1.1.1": {},
		},
	}.Run(t)
}

func listenAndList(ctx context.Context, conn transport.Conn) error {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"scripted","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, request := range []string{
		`"id":1,"method":"subscriptions/listen","params":{` + meta + `,"notifications":{"toolsListChanged":true}}`,
		`"id":2,"method":"tools/list","params":{` + meta + `}`,
	} {
		if err := conn.Write(ctx, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0",` + request + `}`)}); err != nil {
			return err
		}
		if _, err := conn.Read(ctx); err != nil { // the acknowledgement; the tools
			return err
		}
	}
	return nil
}

// The same servers, but the client is the recorded one of the golden session.

func TestSessionRoots(t *testing.T) {
	played(t, "mcp-go 976 resource, session", "mcpgo-976-roots", rooted, zoo.Want{
		Verdict: explore.Stall, Category: explore.BehindRequest, Says: []string{
			`resources/read "zoo://roots"`, "roots/list", "server reader (c2s)", "ListRoots stdio.go"}})
}

func TestSessionListen(t *testing.T) {
	played(t, "mcp-go 976 listen, session", "mcpgo-976-listen", func() *server.MCPServer {
		return server.NewMCPServer("listened to", "1", server.WithToolCapabilities(true))
	}, zoo.Want{
		Verdict: explore.Stall, Category: explore.BehindRequest, Says: []string{
			"subscriptions/listen", "tools/list", "server reader (c2s)", "handleSubscriptionsListen subscriptions.go"}})
}

func played(t *testing.T, name, session string, newServer func() *server.MCPServer, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Patience: 2 * time.Second, Schedules: 30, Shrink: -1, Session: zoo.Golden(t, session).Events(), Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, quiet(newServer()), r.Server()) })
			r.RecordedClient()
		}},
		Want: map[string]zoo.Want{"v1.1.0": want, "v1.1.1": {}},
	}.Run(t)
}
