package gosdk180

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestEOFDropsResponse is https://github.com/modelcontextprotocol/go-sdk/issues/1061: a
// client that closes its writing side behind its last request, as a shell's
// pipe does, ends the session of a server whose handler still works: the answer is
// thrown away. No release is without it.
func TestEOFDropsResponse(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1061 EOF drops response",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			serveWork(r)
			r.Op("pipe", func(ctx context.Context) error { return pipe(ctx, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Session: "gosdk-1061", Verdict: explore.Lost, Says: []string{`the server read tools/call "work" by pipe#1`, "closed its writing side alone"}},
		},
	}.Run(t)
}

// TestSessionEOF has the recorded client of the golden session, which says all that it
// has to say, closes its writing side, and reads to the end.
func TestSessionEOF(t *testing.T) {
	golden := zoo.Golden(t, "gosdk-1061")
	zoo.Case{
		Name: "go-sdk 1061 EOF, session",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			serveWork(r)
			r.Op("drive", func(ctx context.Context) error { return zoo.Drive(ctx, golden, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.Lost, Says: []string{`the server read tools/call "work"`, "closed its writing side alone"}},
		},
	}.Run(t)
}

func serveWork(r *explore.Run) {
	server := newServer()
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}}, work)
	if _, err := server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
		panic(err)
	}
}

func work(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	time.Sleep(time.Second)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// pipe is printf … | server with an eye for order: it writes, says that this is all,
// and reads to the end.
func pipe(ctx context.Context, conn transport.Conn) error {
	write := func(frame string) error { return conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}) }
	if err := write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"printf","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}`); err != nil {
		return err
	}
	if err := conn.(transport.HalfCloser).CloseWrite(); err != nil {
		return err
	}
	for {
		if _, err := conn.Read(ctx); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
