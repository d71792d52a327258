package gosdk180

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

// TestCloseDuringSampling: docs/bugs/gosdk-client-close-during-sampling, found by mcprec. A
// tool asks the client's model, and the client closes: it may not answer any more, and
// waits for the answer to its call.
func TestCloseDuringSampling(t *testing.T) {
	zoo.Case{
		Name: "go-sdk Close during sampling",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := newServer()
			server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					_, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
					return &mcp.CallToolResult{}, err
				})
			s := connect(r, server, newClient(&mcp.ClientOptions{
				CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "yes"}}, nil
				},
			}))
			r.Op("call", func(ctx context.Context) error {
				s.client.CallTool(ctx, &mcp.CallToolParams{Name: "ask"})
				return nil
			}).After("connect")
			r.Op("close", func(context.Context) error { s.client.Close(); return nil }).After("connect")
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				`tools/call "ask"`, "sampling/createMessage", "in mcp.(*ClientSession).Close"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// TestKeepAliveCannotClose: docs/bugs/gosdk-keepalive-cannot-close, found by mcprec. The
// server falls silent; keepalive sees it, and waits for the call like everybody else.
func TestKeepAliveCannotClose(t *testing.T) {
	zoo.Case{
		Name: "go-sdk KeepAlive cannot close",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) {
				answer(ctx, r.Server(), `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"silent","version":"1"}}`)
				for {
					if _, err := r.Server().Read(ctx); err != nil {
						return
					}
				}
			})
			r.Op("call", func(ctx context.Context) error {
				client := newClient(&mcp.ClientOptions{KeepAlive: time.Minute})
				session, err := client.Connect(ctx, gosdk.Transport(r.Client()), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					return err
				}
				session.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
				return nil
			})
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				`tools/call "greet"`, "mcp.startKeepalive"}},
			"v1.8.0+fix": {},
		},
	}.Run(t)
}

// answer reads one request and answers it with the result.
func answer(ctx context.Context, conn transport.Conn, result string) {
	f, err := conn.Read(ctx)
	if err != nil {
		return
	}
	messages, err := f.Messages()
	if err != nil {
		panic(err)
	}
	conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, messages[0].ID, result)})
}
