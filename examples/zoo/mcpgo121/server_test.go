package mcpgo121

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// scripted is an ordinary server: it answers each request on a goroutine of its own,
// tools/call after so many progress notifications. (The SDK's own keeps its session in
// a package variable and cannot live in a bubble.)
func scripted(conn transport.Conn, progress int) func(context.Context) {
	return func(ctx context.Context) {
		for {
			f, err := conn.Read(ctx)
			if err != nil {
				return
			}
			messages, err := f.Messages()
			if err != nil {
				return
			}
			go answer(ctx, conn, messages[0], progress)
		}
	}
}

func answer(ctx context.Context, conn transport.Conn, m transport.Message, progress int) {
	switch m.Method {
	case "initialize":
		write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}}`, m.ID)
	case "tools/list":
		write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
	case "tools/call":
		for i := range progress {
			write(ctx, conn, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ProgressToken(), i+1)
		}
		write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
	}
}

func write(ctx context.Context, conn transport.Conn, format string, args ...any) error {
	return conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}

// connect is the SDK's client after its handshake; told has its notifications.
func connect(ctx context.Context, conn transport.Conn, told func(*client.Client, mcp.JSONRPCNotification)) (*client.Client, error) {
	c := client.NewClient(mcpgo.Client(conn))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	c.OnNotification(func(n mcp.JSONRPCNotification) { told(c, n) })
	return c, nil
}

func callTool(ctx context.Context, c *client.Client) error {
	request := mcp.CallToolRequest{}
	request.Params.Name = "work"
	request.Params.Meta = &mcp.Meta{ProgressToken: "work"}
	_, err := c.CallTool(ctx, request)
	return err
}
