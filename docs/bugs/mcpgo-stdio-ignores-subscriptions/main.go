// 2026-07-28, stdio: a client that has subscribed to prompts alone hears of tools, too, as
// does one that has subscribed to nothing; and no notification says of which subscription
// it is.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func main() {
	bad := false
	for _, filter := range []string{"", `{"promptsListChanged":true}`, `{"toolsListChanged":true}`} {
		s := server.NewMCPServer("repro", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true))
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ctx, stop := context.WithCancel(context.Background())
		go server.NewStdioServer(s).Listen(ctx, in, out)
		lines := make(chan string, 9)
		go func() {
			for in := bufio.NewScanner(fromServer); in.Scan(); {
				lines <- in.Text()
			}
		}()
		fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`+"\n", meta)
		fmt.Println("the client speaks 2026-07-28:", strings.Contains(<-lines, `"2026-07-28"`), "- it subscribes to", filter)
		if filter != "" {
			fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":%s,%s}}`+"\n", filter, meta)
			fmt.Println("  ", <-lines)
		}
		s.AddTool(mcp.NewTool("new"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
		select {
		case line := <-lines:
			fmt.Println("  ", line)
			bad = bad || !strings.Contains(filter, "tools") || !strings.Contains(line, `subscriptionId":2`)
		case <-time.After(time.Second):
			fmt.Println("   and no word of tools")
		}
		stop()
	}
	if bad {
		os.Exit(1)
	}
}
