// Streamable HTTP with an event store that takes time: a cancellation overtakes its call, which
// then runs for ever, and so does the session.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	quick := call(0)
	slow := call(100 * time.Millisecond)
	if !quick || !slow {
		os.Exit(1)
	}
}

// call has 20 calls cancelled after 50 ms each. It reports whether all ended, and their session.
func call(latency time.Duration) bool {
	ctx := context.Background()
	var began, ended atomic.Int32
	impl := &mcp.Implementation{Name: "repro", Version: "1"}
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		began.Add(1)
		<-ctx.Done() // it works until it is cancelled
		ended.Add(1)
		return nil, nil, ctx.Err()
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: &store{mcp.NewMemoryEventStore(nil), latency}}))
	client := mcp.NewClient(impl, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		panic(err)
	}
	for range 20 {
		short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		session.CallTool(short, &mcp.CallToolParams{Name: "work"})
		stop()
	}
	time.Sleep(time.Second)
	atWork := began.Load() - ended.Load()
	start := time.Now()
	err = session.Close()
	took := time.Since(start).Round(time.Second)
	time.Sleep(time.Second)
	left := 0
	for range server.Sessions() {
		left++
	}
	fmt.Printf("the store takes %v: of 20 cancelled calls %d are at work; Close took %v (%v), and %d session is left\n", latency, atWork, took, err, left)
	return atWork == 0 && left == 0
}

// store is an event store as a database is.
type store struct {
	mcp.EventStore
	latency time.Duration
}

func (s *store) Append(ctx context.Context, session, stream string, data []byte) error {
	time.Sleep(s.latency)
	return s.EventStore.Append(ctx, session, stream, data)
}
