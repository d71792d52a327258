package mcpgo045

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestCancelIgnored is https://github.com/mark3labs/mcp-go/issues/755: the server drops
// notifications/cancelled, and the handler runs on. Since v0.46.0 its context ends.
func TestCancelIgnored(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 755 cancel ignored",
		SDK:  server.NewMCPServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s, ended := slow()
			r.Go(func(ctx context.Context) { serve(ctx, s, r.Server()) })
			r.Op("call, cancel", func(ctx context.Context) error {
				if err := cancelled(ctx, r.Client()); err != nil {
					return err
				}
				return <-ended
			})
		}},
		Want: map[string]zoo.Want{
			"v0.45.0": {Session: "mcpgo-755", Verdict: explore.CheckFailed, Category: explore.TimerOnly, Says: []string{"ran to its end", `notifications/cancelled (tools/call "work"`}},
			"v0.46.0": {},
		},
	}.Run(t)
}

// TestSessionCancelIgnored is the same, but the client is the recorded one of the golden
// session, which cancels its call and waits for no answer.
func TestSessionCancelIgnored(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 755 cancel ignored, session",
		SDK:  server.NewMCPServer,
		Plan: zoo.Played(t, "mcpgo-755", fixtures.AsClient, func(t testing.TB, conn transport.Conn) {
			s, ended := slow()
			serve(t.Context(), s, conn)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}),
		Want: map[string]zoo.Want{
			"v0.45.0": {Verdict: explore.CheckFailed, Says: []string{"ran to its end", `notifications/cancelled (tools/call "work"`}},
			"v0.46.0": {},
		},
	}.Run(t)
}

// slow is a server whose tool takes an hour, or until its context ends; ended says
// which.
func slow() (s *server.MCPServer, ended chan error) {
	ended = make(chan error, 1)
	s = server.NewMCPServer("slow", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("work"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			ended <- nil
		case <-time.After(time.Hour):
			ended <- errors.New("the cancelled call ran to its end")
		}
		return mcp.NewToolResultText("done"), nil
	})
	return s, ended
}

// serve is what the SDK's stdio server does, without the session that it keeps in a
// package variable, outside of every bubble.
func serve(ctx context.Context, s *server.MCPServer, conn transport.Conn) {
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		go func() {
			if answer := s.HandleMessage(ctx, f.Bytes); answer != nil {
				if b, err := json.Marshal(answer); err == nil {
					conn.Write(ctx, transport.Frame{Bytes: b})
				}
			}
		}()
	}
}

// cancelled is a client that cancels its call at once.
func cancelled(ctx context.Context, conn transport.Conn) error {
	write := func(frame string) error { return conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}) }
	if err := write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	return errors.Join(
		write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}`),
		write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`),
	)
}
