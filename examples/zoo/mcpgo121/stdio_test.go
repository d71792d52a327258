package mcpgo121

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// The stdio server runs tool calls on five workers. The reports of these three are in
// docs/bugs; no release is without them.

// TestNestedCalls: docs/bugs/mcpgo-nested-calls-exhaust-workers, found by mcprec. Five
// tools ask the client's model, which calls a sixth.
func TestNestedCalls(t *testing.T) {
	nested(t, "mcp-go five nested calls", 5, zoo.Want{Verdict: explore.Stall, Category: explore.Pool,
		Says: []string{`tools/call "lookup"`, "no handler has begun for it: the 5 that have", "RequestSampling", "<- cycle"}})
}

// TestFourNestedCalls is no bug, but the same with a worker left.
func TestFourNestedCalls(t *testing.T) { nested(t, "mcp-go four nested calls", 4, zoo.Want{}) }

func nested(t *testing.T, name string, calls int, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 6, Shrink: -1, Setup: func(r *explore.Run) {
			s := server.NewMCPServer("nested", "1", server.WithToolCapabilities(true))
			s.EnableSampling()
			s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
				return mcp.NewToolResultText("asked"), err
			})
			s.AddTool(mcp.NewTool("lookup"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("found"), nil
			})
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, server.NewStdioServer(s), r.Server()) })
			m := &model{}
			m.c = client.NewClient(mcpgo.Client(r.Client()), client.WithSamplingHandler(m))
			r.Op("connect", func(ctx context.Context) error {
				if err := m.c.Start(ctx); err != nil {
					return err
				}
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = "2025-11-25"
				_, err := m.c.Initialize(ctx, hello)
				return err
			})
			for i := range calls {
				r.Op(fmt.Sprint("call ", i), func(ctx context.Context) error { return m.call(ctx, "ask") }).After("connect")
			}
		}},
		Want: map[string]zoo.Want{"v1.2.1": want},
	}.Run(t)
}

// model is a client's model that calls a tool when it is asked.
type model struct{ c *client.Client }

func (m *model) CreateMessage(ctx context.Context, _ mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	if err := m.call(ctx, "lookup"); err != nil {
		return nil, err
	}
	return human{}.CreateMessage(ctx, mcp.CreateMessageRequest{})
}

func (m *model) call(ctx context.Context, name string) error {
	request := mcp.CallToolRequest{}
	request.Params.Name = name
	_, err := m.c.CallTool(ctx, request)
	return err
}

// TestCancelQueued: docs/bugs/mcpgo-cancel-of-queued-call. The only worker is busy, and
// the next call is cancelled before its turn. The ping is answered by a server that has
// read the cancellation, the last call by a worker that is done with the others.
func TestCancelQueued(t *testing.T) {
	zoo.Case{
		Name: "mcp-go cancelled in the queue",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 6, Shrink: -1, Setup: func(r *explore.Run) {
			release, deleted := make(chan bool), false
			s := server.NewMCPServer("queue", "1", server.WithToolCapabilities(true))
			s.AddTool(mcp.NewTool("slow"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-release
				return mcp.NewToolResultText("done"), nil
			})
			s.AddTool(mcp.NewTool("delete"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				deleted = true
				return mcp.NewToolResultText("deleted"), nil
			})
			stdio := server.NewStdioServer(s)
			server.WithWorkerPoolSize(1)(stdio)
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, stdio, r.Server()) })
			r.Op("client", func(ctx context.Context) error {
				c := &rawClient{ctx, r.Client()}
				c.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
				c.answerTo("1")
				c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`)
				c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"delete"}}`)
				c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
				c.say(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
				c.answerTo("4")
				close(release)
				c.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}`)
				c.answerTo("5")
				if deleted {
					return errors.New("the call was cancelled in the queue, and its tool ran")
				}
				return nil
			})
		}},
		Want: map[string]zoo.Want{"v1.2.1": {Verdict: explore.CheckFailed, Says: []string{"the call was cancelled in the queue, and its tool ran"}}},
	}.Run(t)
}

// TestUnasked: docs/bugs/mcpgo-stdio-ignores-subscriptions. A client of revision 2026-07-28
// has subscribed to prompts, and the server tells it of tools.
func TestUnasked(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	zoo.Case{
		Name: "mcp-go stdio tells unasked",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 6, Shrink: -1, Setup: func(r *explore.Run) {
			s := server.NewMCPServer("unasked", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true))
			r.Go(func(ctx context.Context) { mcpgo.Serve(ctx, server.NewStdioServer(s), r.Server()) })
			r.Op("client", func(ctx context.Context) error {
				c := &rawClient{ctx, r.Client()}
				c.say(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
				c.answerTo("1")
				c.say(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},` + meta + `}}`)
				c.notified("notifications/subscriptions/acknowledged")
				s.AddTool(mcp.NewTool("new"), nil)
				c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + meta + `}}`)
				c.answerTo("3")
				s.AddPrompt(mcp.NewPrompt("new"), nil)
				c.notified("notifications/prompts/list_changed")
				c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				return nil
			})
		}},
		Want: map[string]zoo.Want{"v1.2.1": {Verdict: explore.Illegal, Category: "P7", Says: []string{"notifications/tools/list_changed"}}},
	}.Run(t)
}

// rawClient is a client by hand. What goes wrong ends its operation as a panic.
type rawClient struct {
	ctx  context.Context
	conn transport.Conn
}

func (c *rawClient) say(frame string) {
	if err := c.conn.Write(c.ctx, transport.Frame{Bytes: []byte(frame)}); err != nil {
		panic(err)
	}
}

// answerTo reads to the response with the id.
func (c *rawClient) answerTo(id string) {
	for {
		f, err := c.conn.Read(c.ctx)
		if err != nil {
			panic(err)
		}
		if messages, err := f.Messages(); err == nil && messages[0].Method == "" && string(messages[0].ID) == id {
			return
		}
	}
}

// notified reads to the notification of the method.
func (c *rawClient) notified(method string) {
	for {
		f, err := c.conn.Read(c.ctx)
		if err != nil {
			panic(err)
		}
		if messages, err := f.Messages(); err == nil && messages[0].Method == method {
			return
		}
	}
}

// TestEOFDropsCalls: docs/bugs/mcpgo-eof-drops-calls. At the end of stdin a worker
// chooses between a call that waits and its own end, by chance: no token holds it.
func TestEOFDropsCalls(t *testing.T) {
	zoo.Plain{
		Name: "mcp-go EOF drops calls",
		SDK:  server.NewStdioServer,
		Do:   pipe,
		Want: map[string]string{"v1.2.1": "calls were never answered"},
	}.Run(t)
}

func pipe(t *testing.T) error {
	const rounds, calls = 200, 3
	input := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	for id := range calls {
		input += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","_meta":{}}}`+"\n", id+1)
	}
	s := working(func(context.Context, *server.MCPServer, mcp.ProgressToken) error { return nil })
	lost := 0
	for range rounds {
		out := &buffer{}
		if err := server.NewStdioServer(s).Listen(t.Context(), strings.NewReader(input), out); err != nil {
			return err
		}
		lost += calls - strings.Count(out.String(), `"text":"done"`) // no more comes when Listen has returned
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d calls were never answered", lost, rounds*calls)
	}
	return nil
}

// buffer is a stdout.
type buffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}
