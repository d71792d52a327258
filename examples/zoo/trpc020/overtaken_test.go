package trpc020

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestOvertaken is in no published issue: the stdio client starts a goroutine for
// each notification, so that nothing keeps their order, nor that of the last one and
// the response. Left alone, 123 of 200 calls saw notifications out of order, and 140 had
// returned before all were handled. No release is without it.
//
// Here the handler of the first notification is held, and is over only when that of
// the second has begun and the call has returned.
func TestOvertaken(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go overtaken",
		SDK:  mcp.NewStdioClient,
		Do:   func(t *testing.T) error { return call(t, t.Context(), "by hand") },
		Want: map[string]string{"v0.0.20": "the second notification was handled, and the call had returned, before the first was"},
	}.Run(t)
}

// TestSessionOvertaken is the same with the recorded server of the golden session.
func TestSessionOvertaken(t *testing.T) {
	zoo.Plain{
		Name: "trpc-mcp-go overtaken, session",
		SDK:  mcp.NewStdioClient,
		Do:   func(t *testing.T) error { return call(t, t.Context(), "recorded") },
		Want: map[string]string{"v0.0.20": "the second notification was handled, and the call had returned, before the first was"},
	}.Run(t)
}

// serverVariable is the environment variable that makes this program a server, and
// says which.
const serverVariable = "ZOO_SERVER"

func call(t *testing.T, ctx context.Context, which string) error {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(serverVariable, which)
	c, err := mcp.NewStdioClient(mcp.StdioTransportConfig{ServerParams: mcp.StdioServerParameters{Command: self}, Timeout: time.Minute},
		mcp.Implementation{Name: "caller", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(ctx, &mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	second, returned, first := make(chan bool), make(chan bool), make(chan bool)
	c.RegisterNotificationHandler("notifications/message", func(n *mcp.JSONRPCNotification) error {
		if n.Params.AdditionalFields["data"] == "two" {
			close(second)
			return nil
		}
		<-second
		<-returned
		close(first)
		return nil
	})
	request := &mcp.CallToolRequest{}
	request.Params.Name = "work"
	if _, err := c.CallTool(ctx, request); err != nil {
		t.Fatal(err)
	}
	close(returned)
	<-first
	return errors.New("the second notification was handled, and the call had returned, before the first was")
}

func TestMain(m *testing.M) {
	conn := transport.NewStreamConn(os.Stdin, os.Stdout)
	switch os.Getenv(serverVariable) {
	case "by hand":
		serve(conn)
	case "long", "chatty":
		quick(conn, os.Getenv(serverVariable))
	case "the SDK's":
		echo()
	case "recorded":
		if err := play(conn); err != nil {
			log.Fatal(err)
		}
	default:
		os.Exit(m.Run())
	}
}

// play is the server of the golden session.
func play(conn transport.Conn) error {
	events, err := jsonl.ReadFile(zoo.GoldenPath("trpc-overtaken"))
	if err != nil {
		return err
	}
	return zoo.Serve(context.Background(), events, conn)
}

// serve is a server that says two words before it answers.
func serve(conn transport.Conn) {
	ctx := context.Background()
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		messages, err := f.Messages()
		if err != nil {
			return
		}
		switch m := messages[0]; m.Method {
		case "initialize":
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26","capabilities":{"logging":{},"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}}`, m.ID)
		case "tools/call":
			write(ctx, conn, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"one"}}`)
			write(ctx, conn, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"two"}}`)
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
	}
}

func write(ctx context.Context, conn transport.Conn, format string, args ...any) {
	conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}
