package mcpgo058

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/transport"
)

// logged is what the server writes to its stderr before it answers a call: far more
// than a pipe holds.
const logged = 4 << 20

// TestStderrFills is https://github.com/mark3labs/mcp-go/issues/956: the client gives
// the server a pipe for its stderr and does not read it. When it is full, the server
// waits in its log, and the client for the server. Since v1.0.0 it is read.
//
// Where the client hands out the pipe itself, this test reads it. All of the bytes
// come by that way, so nobody else was there to make room for them.
func TestStderrFills(t *testing.T) {
	zoo.Plain{
		Name: "mcp-go 956 stderr fills",
		SDK:  client.NewClient,
		Do:   func(t *testing.T) error { return call(t, t.Context()) },
		Want: map[string]string{"v0.58.0": "of stderr were read by the test alone", "v1.0.0": ""},
	}.Run(t)
}

func call(t *testing.T, ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewStdioMCPClient(self, []string{"ZOO_SERVER=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}
	read := make(chan int64, 1)
	stderr, _ := client.GetStderr(c)
	if pipe, ok := stderr.(*os.File); ok {
		go func() {
			n, _ := io.CopyN(io.Discard, pipe, logged)
			read <- n
		}()
	} else {
		read <- 0
	}
	request := mcp.CallToolRequest{}
	request.Params.Name = "work"
	if _, err := c.CallTool(ctx, request); err != nil {
		t.Fatal(err)
	}
	if n := <-read; n > 0 {
		return fmt.Errorf("all %d bytes of stderr were read by the test alone", n)
	}
	return nil
}

func TestMain(m *testing.M) {
	if os.Getenv("ZOO_SERVER") != "" {
		serve(transport.NewStreamConn(os.Stdin, os.Stdout))
		return
	}
	os.Exit(m.Run())
}

// serve is a server that logs a lot before it answers a call.
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
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"talking","version":"1"}}}`, m.ID)
		case "tools/call":
			os.Stderr.Write(bytes.Repeat([]byte("a line of a log\n"), logged/16))
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
	}
}

func write(ctx context.Context, conn transport.Conn, format string, args ...any) {
	conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}
