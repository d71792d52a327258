package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Points is a middleware that calls point before each handler of a tool, under its context:
//
//	server.NewMCPServer("x", "1", server.WithToolHandlerMiddleware(mcpgo.Points(explore.Point)))
//
// The SDK handles calls side by side. In a plan of replay/explore, without Points, a handler runs
// up to its first wait before the next frame is given. With Points its start is a step of its
// own, "reach tools/call lookup", so it may begin later than the handler of the next call.
func Points(point func(ctx context.Context, name string)) server.ToolHandlerMiddleware {
	return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			point(ctx, "tools/call "+request.Params.Name)
			return next(ctx, request)
		}
	}
}
