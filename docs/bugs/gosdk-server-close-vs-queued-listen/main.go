// 2026-07-28: a subscriptions/listen that is still in the handler queue when
// ServerSession.Close looks for open ones parks for ever, and Close with it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	impl := &mcp.Implementation{Name: "repro", Version: "1"}
	busy := make(chan bool)
	server := mcp.NewServer(impl, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/cancelled" {
				close(busy)
				time.Sleep(300 * time.Millisecond) // it logs; notifications are handled one by one
			}
			return next(ctx, method, req)
		}
	})
	server.AddResource(&mcp.Resource{URI: "mem://a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	st, ct := mcp.NewInMemoryTransports()
	ss, err := server.Connect(ctx, st, nil)
	if err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(impl, nil).Connect(ctx, ct, nil)
	if err != nil {
		panic(err)
	}
	calling, stop := context.WithCancel(ctx)
	stop()
	session.ListResources(calling, nil) // the user has changed their mind
	<-busy
	session.Subscribe(ctx, &mcp.SubscribeParams{URI: "mem://a"}) // queued behind the notification
	time.Sleep(100 * time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- ss.Close() }()
	select {
	case err := <-closed:
		fmt.Println("ServerSession.Close returned:", err)
	case <-time.After(5 * time.Second):
		fmt.Println("ServerSession.Close HANGS")
		os.Exit(1)
	}
}
