// Streamable HTTP: a stream that is resumed and ends again before another event has come
// is not resumed a second time: the client has forgotten the event that it was at.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	bad := false
	for _, closes := range []int{1, 2} {
		if err := call(closes); err != nil {
			fmt.Printf("the server lets the client come back %d times: CallTool FAILS: %v\n", closes, err)
			bad = true
			continue
		}
		fmt.Printf("the server lets the client come back %d times: done\n", closes)
	}
	if bad {
		os.Exit(1)
	}
}

// call calls a tool that works for some seconds. Meanwhile its server closes the stream
// so many times, as revision 2025-11-25 lets it, and asks the client to come back.
func call(closes int) error {
	ctx := context.Background()
	impl := &mcp.Implementation{Name: "repro", Version: "1"}
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for range closes {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 100 * time.Millisecond})
			time.Sleep(time.Second) // the client is back by then
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	gets := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Last-Event-ID"); id != "" {
			fmt.Println("  GET with Last-Event-ID", id[len(id)-2:])
		}
		handler.ServeHTTP(w, r)
	})
	web := httptest.NewServer(gets)
	defer web.Close()
	client := mcp.NewClient(impl, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "work"})
	return err
}
