// Streamable HTTP: a client ends its session while a tool asks its user. The DELETE is not
// answered, and the session stays for good.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	idle := leave(false)
	asked := leave(true)
	if !idle || !asked {
		os.Exit(1)
	}
}

// leave has a client end its session, with a tool's question open if it called one.
func leave(call bool) bool {
	server := mcp.NewServer(&mcp.Implementation{Name: "repro", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Delete it?", RequestedSchema: map[string]any{"type": "object"}})
		return nil, nil, err
	})
	c := &client{url: httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)).URL}
	ctx := context.Background()
	c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	what := "an idle session"
	if call {
		what = "a session whose tool asks"
		resp, err := c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		if err != nil {
			panic(err)
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "elicitation/create"); {
		}
	}
	short, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	said := "not answered in 10 s"
	if resp, err := c.send(short, http.MethodDelete, ""); err == nil {
		said = "answered " + resp.Status
	}
	time.Sleep(time.Second)
	left := 0
	for range server.Sessions() {
		left++
	}
	fmt.Printf("the DELETE of %s is %s; %d of 1 session is left\n", what, said, left)
	return left == 0
}

// client is one that speaks HTTP by hand.
type client struct{ url, session string }

func (c *client) send(ctx context.Context, method, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil && c.session == "" {
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
	return resp, err
}
