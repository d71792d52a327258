package mcpgo043

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// TestServerDeath is https://github.com/mark3labs/mcp-go/pull/714: when the server is
// gone the client's reader returns and tells nobody. The call in flight waits for a
// response that no one is left to read. Since v0.44.0 it gets an error.
func TestServerDeath(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 714 server death",
		SDK:  client.NewClient,
		Plan: explore.Plan{
			Setup: func(r *explore.Run) {
				r.Go(func(ctx context.Context) { dying(ctx, r.Server()) })
				r.Op("call", func(ctx context.Context) error { return call(ctx, r.Client()) })
			},
			// The server is gone: any error is right.
			Check: func(r *explore.Run) error { return nil },
		},
		Want: map[string]zoo.Want{
			"v0.43.2": {Session: "mcpgo-714", Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{"operation call", `the server owes the response to tools/call "work" by call#1, and has closed`, "learnt at step"}},
			"v0.44.0": {},
		},
	}.Run(t)
}

// TestSessionServerDeath has the recorded server of the golden session, which reads the
// call and closes.
func TestSessionServerDeath(t *testing.T) {
	golden := zoo.Golden(t, "mcpgo-714")
	zoo.Case{
		Name: "mcp-go 714 server death, session",
		SDK:  client.NewClient,
		Plan: explore.Plan{
			Setup: func(r *explore.Run) {
				r.Go(func(ctx context.Context) { zoo.LimitedServer(ctx, golden, r.Server()) })
				r.Op("call", func(ctx context.Context) error { return call(ctx, r.Client()) })
			},
			Check: func(r *explore.Run) error { return nil },
		},
		Want: map[string]zoo.Want{
			"v0.43.2": {Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{"operation call", `the server owes the response to tools/call "work" by call#1, and has closed`, "learnt at step"}},
			"v0.44.0": {},
		},
	}.Run(t)
}

// dying is a server that ends at its first call.
func dying(ctx context.Context, conn transport.Conn) {
	defer conn.Close()
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		messages, err := f.Messages()
		if err != nil || messages[0].Method == "tools/call" {
			return
		}
		if m := messages[0]; m.Method == "initialize" {
			hello := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"dying","version":"1"}}}`
			conn.Write(ctx, transport.Frame{Bytes: []byte(hello)})
		}
	}
}

func call(ctx context.Context, conn transport.Conn) error {
	c := client.NewClient(mcpgo.Client(conn))
	if err := c.Start(ctx); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	if _, err := c.Initialize(ctx, hello); err != nil {
		return err
	}
	request := mcp.CallToolRequest{}
	request.Params.Name = "work"
	_, err := c.CallTool(ctx, request)
	return err
}
