package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client"
	sdk "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// long does not fit the buffers of the SDK's readers.
var long = strings.Repeat("long ", 10_000)

func newServer() *server.StdioServer { return server.NewStdioServer(asking()) }

// asking has one tool: it reports progress, asks the client's model, and answers
// the name of that.
func asking() *server.MCPServer {
	s := server.NewMCPServer("asker", "1")
	s.EnableSampling()
	s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1}); err != nil {
			return nil, err
		}
		said, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(said.Model), nil
	})
	return s
}

// model is the client's.
type model struct{}

func (model) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: long, SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: "hello"},
	}}, nil
}

// session serves one end of the pipe and connects the SDK's client to the other. ended
// has what Serve returned.
func session(t *testing.T, pipe *transport.Pipe) (c *client.Client, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- mcpgo.Serve(t.Context(), newServer(), pipe.Server()) }()
	c = client.NewClient(mcpgo.Client(pipe.Client()), client.WithSamplingHandler(model{}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return c, ended
}

// ask calls the tool.
func ask(ctx context.Context, c *client.Client) error {
	request := mcp.CallToolRequest{}
	request.Params.Name = "ask"
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return err
	}
	if text, ok := result.Content[0].(mcp.TextContent); !ok || text.Text != long {
		return fmt.Errorf("call ask: it said %.100v", result.Content[0])
	}
	return nil
}

// TestSession: requests and notifications, both ways, then a close.
func TestSession(t *testing.T) {
	for _, capacity := range []int{0, 1, transport.Unbounded} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			c, ended := session(t, transport.NewPipe(capacity, capacity, nil))
			progress := make(chan string, 1)
			c.OnNotification(func(n mcp.JSONRPCNotification) { progress <- n.Method })
			if err := ask(t.Context(), c); err != nil {
				t.Error(err)
			}
			if got := <-progress; got != "notifications/progress" {
				t.Errorf("the client was told %s", got)
			}
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := <-ended; err != nil {
				t.Errorf("serve: %v", err)
			}
		})
	}
}

// TestServerCloses: the end of the server's stream ends a call of the client.
func TestServerCloses(t *testing.T) {
	pipe := transport.NewPipe(0, 0, nil)
	c, ended := session(t, pipe)
	pipe.Server().Close()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := ask(t.Context(), c); err == nil {
		t.Error("a call after the server's close was answered")
	}
	c.Close()
}

// TestDeadlineInTurn: a request that waits for another message to be written is written after
// it, though its context ends meanwhile, as it does where it waits for the SDK's mutex.
func TestDeadlineInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := transport.NewPipe(0, 0, nil)
		c := client.NewClient(mcpgo.Client(pipe.Client()))
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		request := func(ctx context.Context, id int64) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := c.GetTransport().SendRequest(ctx, sdk.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: "ping"})
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := request(ctx, 1)
		second := request(ctx, 2)
		cancel()
		third := request(ctx, 3)
		for id := range 2 {
			if got := string(receive(t, pipe.Server()).ID); got != fmt.Sprint(id+1) {
				t.Errorf("message %d written has the id %s", id+1, got)
			}
		}
		for _, ended := range []<-chan error{first, second, third} {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// TestServeClosesConn: a Serve whose context ends leaves no reader behind.
func TestServeClosesConn(t *testing.T) {
	pipe := transport.NewPipe(0, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mcpgo.Serve(ctx, newServer(), pipe.Server())
	if _, err := pipe.Server().Read(t.Context()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("read: %v, want %v", err, transport.ErrClosed)
	}
}

type key struct{}

// signed notes what the contexts of Writes say.
type signed struct {
	transport.Conn
	seen chan string
}

func (s signed) Write(ctx context.Context, f transport.Frame) error {
	messages, err := f.Messages()
	if err != nil {
		return err
	}
	name, _ := ctx.Value(key{}).(string)
	s.seen <- messages[0].Method + " " + name
	return s.Conn.Write(ctx, f)
}

// TestServeEndsItsContext: the SDK's goroutine for notifications ends by its context
// alone, and there is one queue of them in a process.
func TestServeEndsItsContext(t *testing.T) {
	pipe := transport.NewPipe(0, 0, nil)
	var given context.Context
	s := newServer()
	s.SetContextFunc(func(ctx context.Context) context.Context {
		given = ctx
		return ctx
	})
	pipe.Client().Close()
	if err := mcpgo.Serve(t.Context(), s, pipe.Server()); err != nil {
		t.Fatal(err)
	}
	if given.Err() == nil {
		t.Error("what the session has left running goes on")
	}
}

// TestSigned: a Write has the values of its call's context.
func TestSigned(t *testing.T) {
	pipe, seen := transport.NewPipe(0, 0, nil), make(chan string, 1)
	go mcpgo.Serve(t.Context(), newServer(), pipe.Server())
	c := client.NewClient(mcpgo.Client(signed{pipe.Client(), seen}))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.WithValue(t.Context(), key{}, "by me")
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	go c.Initialize(ctx, hello)
	for _, want := range []string{"initialize by me", "notifications/initialized by me"} {
		if got := <-seen; got != want {
			t.Errorf("written: %q, want %q", got, want)
		}
	}
}
