//go:build fixed

package gosdk020

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The API of v0.3.0.

func addTool(s *mcp.Server, name string, do func()) {
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		do()
		return &mcp.CallToolResult{}, nil, nil
	})
}

func connect(ctx context.Context, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	a, b := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, a, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, b, nil)
	if err != nil {
		panic(err)
	}
	return session
}
