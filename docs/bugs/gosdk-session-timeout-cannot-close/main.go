// Streamable HTTP: SessionTimeout does not end a session whose tool waits for a client
// that has gone, and every such session stays for good.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const timeout = 200 * time.Millisecond

func main() {
	idle := leave(false)
	asked := leave(true)
	fmt.Printf("%d timeouts after the clients went away: of 10 idle sessions %d are left, of 10 that had asked their user %d\n", 25, idle, asked)
	fmt.Println("goroutines in Elicit:", strings.Count(stacks(), "ServerSession).Elicit("))
	if idle+asked > 0 {
		os.Exit(1)
	}
}

// leave has ten clients connect, call a tool if asked to, and vanish. It returns how many
// of the sessions are left.
func leave(call bool) int {
	ctx := context.Background()
	network := &cable{}
	impl := &mcp.Implementation{Name: "repro", Version: "1"}
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Delete it?", RequestedSchema: map[string]any{"type": "object"}})
		return nil, nil, err
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{SessionTimeout: timeout}))
	for range 10 {
		asked := make(chan bool)
		client := mcp.NewClient(impl, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				select {} // the user is away
			},
		})
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: network}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			panic(err)
		}
		if call {
			go session.CallTool(ctx, &mcp.CallToolParams{Name: "ask"})
			<-asked
		}
	}
	network.cut.Store(true)
	web.CloseClientConnections() // all clients are gone, without a word
	time.Sleep(25 * timeout)
	left := 0
	for range server.Sessions() {
		left++
	}
	return left
}

// cable is the clients' network.
type cable struct{ cut atomic.Bool }

func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("no network")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
