package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// dial serves a session of s in process and connects the SDK's client to it. ended
// has what ServeInProcess returned.
func dial(t *testing.T, s *server.MCPServer, capacity int) (c *client.Client, ended chan error) {
	t.Helper()
	pipe := transport.NewPipe(capacity, capacity, nil)
	ended = make(chan error, 1)
	go func() { ended <- mcpgo.ServeInProcess(t.Context(), s, pipe.Server()) }()
	c, err := greet(t.Context(), pipe.Client(), client.WithSamplingHandler(model{}))
	if err != nil {
		t.Fatal(err)
	}
	return c, ended
}

// greet is the SDK's client after the handshake.
func greet(ctx context.Context, conn transport.Conn, opts ...client.ClientOption) (*client.Client, error) {
	c := client.NewClient(mcpgo.Client(conn), opts...)
	return c, initialize(ctx, c)
}

func initialize(ctx context.Context, c *client.Client) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	_, err := c.Initialize(ctx, hello)
	return err
}

// TestInProcess: requests and notifications, both ways, then a close.
func TestInProcess(t *testing.T) {
	for _, capacity := range []int{0, 1, transport.Unbounded} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			c, ended := dial(t, asking(), capacity)
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

// TestInProcessSeveral: sessions of one server, side by side in a bubble, where the
// clock by which the SDK names its own stands still.
func TestInProcessSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := asking()
		a, endedA := dial(t, s, 0)
		b, endedB := dial(t, s, 0)
		for _, c := range []*client.Client{a, b, a} {
			if err := ask(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(a.Close(), b.Close(), <-endedA, <-endedB); err != nil {
			t.Error(err)
		}
	})
}

// TestInProcessCancel: a cancelled call ends by its context, and is not answered.
func TestInProcessCancel(t *testing.T) {
	begun, ended := make(chan bool), make(chan error, 1)
	s := server.NewMCPServer("slow", "1")
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	conn := handshaken(t, s)
	send(t, conn, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
	<-begun
	send(t, conn, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	send(t, conn, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if m := receive(t, conn); string(m.ID) != "3" {
		t.Errorf("after a cancelled call came %s", m.Raw)
	}
}

// question and reply are no types of the SDK's: early releases have none for this.
type (
	question struct {
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	}
	reply struct {
		Action string `json:"action"`
	}
)

// elicitor asks the user, as RequestElicitation of a server does.
func elicitor(ctx context.Context, q question) (*reply, error) {
	session, ok := server.ClientSessionFromContext(ctx).(interface {
		RequestElicitation(context.Context, question) (*reply, error)
	})
	if !ok {
		return nil, errors.New("the session cannot ask the user")
	}
	return session.RequestElicitation(ctx, q)
}

// TestInProcessAsks: what a server asks is a frame, and so is the answer.
func TestInProcessAsks(t *testing.T) {
	s := server.NewMCPServer("asker", "1")
	s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var q question
		q.Params.Message = "sure?"
		said, err := elicitor(ctx, q)
		if err != nil {
			return nil, err
		}
		roots := server.ClientSessionFromContext(ctx).(interface {
			ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error)
		})
		listed, err := roots.ListRoots(ctx, mcp.ListRootsRequest{})
		if err == nil {
			return nil, fmt.Errorf("a client without roots has %v", listed)
		}
		return mcp.NewToolResultText(said.Action), nil
	})
	conn := handshaken(t, s, mcpgo.WithElicitation(elicitor))
	send(t, conn, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)
	m := receive(t, conn)
	if got := string(transport.Member(m.Params, "message")); m.Method != "elicitation/create" || got != `"sure?"` {
		t.Errorf("the server asked %s", m.Raw)
	}
	send(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, m.ID))
	if m = receive(t, conn); m.Method != "roots/list" {
		t.Errorf("the server asked %s", m.Raw)
	}
	send(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no roots"}}`, m.ID))
	if m = receive(t, conn); string(transport.Member(m.Result, "content")) != `[{"type":"text","text":"accept"}]` {
		t.Errorf("the tool said %s", m.Raw)
	}
}

// TestInProcessBad: what is no request of this protocol is answered by the SDK, or
// passed over, and ends nothing.
func TestInProcessBad(t *testing.T) {
	conn := handshaken(t, asking())
	for _, frame := range []string{"", "  ", `{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`} {
		send(t, conn, frame)
	}
	for _, frame := range []string{"stray log line", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`} {
		send(t, conn, frame)
		if m := receive(t, conn); string(transport.Member(m.Error, "code")) != "-32700" {
			t.Errorf("to %q the server said %s", frame, m.Raw)
		}
	}
	send(t, conn, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	if m := receive(t, conn); string(m.ID) != "3" {
		t.Errorf("at last came %s", m.Raw)
	}
}

// handshaken is the client's end of a session after the handshake.
func handshaken(t *testing.T, s *server.MCPServer, opts ...mcpgo.InProcessOption) transport.Conn {
	t.Helper()
	pipe, ended := transport.NewPipe(0, 0, nil), make(chan error, 1)
	go func() { ended <- mcpgo.ServeInProcess(t.Context(), s, pipe.Server(), opts...) }()
	t.Cleanup(func() {
		pipe.Client().Close()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
	})
	send(t, pipe.Client(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`)
	receive(t, pipe.Client())
	send(t, pipe.Client(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return pipe.Client()
}

func send(t *testing.T, conn transport.Conn, frame string) {
	t.Helper()
	if err := conn.Write(t.Context(), transport.Frame{Bytes: []byte(frame)}); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn transport.Conn) transport.Message {
	t.Helper()
	f, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages, err := f.Messages()
	if err != nil {
		t.Fatal(err)
	}
	return messages[0]
}

// counting has a tool that reports its progress three times.
func counting() *server.MCPServer {
	s := server.NewMCPServer("counting", "1")
	s.AddTool(mcp.NewTool("count"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": i + 1}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	return s
}

// orders is the plan of a client that calls the tool and sees all of its progress.
func orders(lawless bool) explore.Plan {
	return explore.Plan{
		Lawless: lawless,
		Setup: func(r *explore.Run) {
			var seen []any
			r.Data = &seen
			r.Go(func(ctx context.Context) { mcpgo.ServeInProcess(ctx, counting(), r.Server()) })
			r.Op("count", func(ctx context.Context) error {
				c, err := greet(ctx, r.Client())
				if err != nil {
					return err
				}
				defer c.Close()
				progress := make(chan any, 3)
				c.OnNotification(func(n mcp.JSONRPCNotification) { progress <- n.Params.AdditionalFields["progress"] })
				request := mcp.CallToolRequest{}
				request.Params.Name = "count"
				request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
				if _, err := c.CallTool(ctx, request); err != nil {
					return err
				}
				for range cap(progress) {
					seen = append(seen, <-progress)
				}
				return nil
			})
		},
		Check: func(r *explore.Run) error {
			if seen := *r.Data.(*[]any); !slices.Equal(seen, []any{1.0, 2.0, 3.0}) {
				return fmt.Errorf("the progress came as %v", seen)
			}
			return r.Failures()
		},
	}
}

// TestInProcessOrder pins the order of notifications in process: it is theirs under
// every order of delivery. It is a proof, as all of it is in a bubble.
func TestInProcessOrder(t *testing.T) {
	notes := strings.Join(explore.Explore(t, orders(true)).Notes, "\n")
	for _, helper := range []string{"ByteStream", "mcpgo.Client", "mcpgo.ServeInProcess"} {
		if !strings.Contains(notes, helper+" ") {
			t.Errorf("no note says what %s hides:\n%s", helper, notes)
		}
	}
}

// TestInProcessOvertaken: but the result is written by another goroutine of the SDK's,
// and may come first, which the specification forbids.
func TestInProcessOvertaken(t *testing.T) {
	r := explore.Search(t, orders(false))
	if r.Verdict != explore.Illegal || r.Category != "P3" {
		t.Errorf("want illegal P3, got\n%s", r.Text())
	}
}

// TestInProcessAsSDK: a handler sees what it sees in the SDK's own in-process transport:
// of a notification no session, of a call its error.
func TestInProcessAsSDK(t *testing.T) {
	s := server.NewMCPServer("seen", "1")
	seen := make(chan bool, 1)
	s.AddNotificationHandler("notifications/look", func(ctx context.Context, _ mcp.JSONRPCNotification) {
		seen <- server.ClientSessionFromContext(ctx) != nil
	})
	s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("failed as it should")
	})
	own, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := initialize(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	ours, _ := dial(t, s, 0)
	var said [2]string
	for i, c := range []*client.Client{own, ours} {
		n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: "notifications/look"}}
		if err := c.GetTransport().SendNotification(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		request := mcp.CallToolRequest{}
		request.Params.Name = "fail"
		session := <-seen
		_, failed := c.CallTool(t.Context(), request)
		said[i] = fmt.Sprintf("session %v, call %v", session, failed)
		c.Close()
	}
	if said[0] != said[1] {
		t.Errorf("in process there is %s; over a Conn, %s", said[0], said[1])
	}
}
