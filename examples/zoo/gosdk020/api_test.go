//go:build !fixed

package gosdk020

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The API of v0.2.0.

func addTool(s *mcp.Server, name string, do func()) {
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.ServerSession, *mcp.CallToolParamsFor[struct{}]) (*mcp.CallToolResultFor[any], error) {
		do()
		return &mcp.CallToolResultFor[any]{}, nil
	})
}

func connect(ctx context.Context, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	a, b := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, a); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, b)
	if err != nil {
		panic(err)
	}
	return session
}
