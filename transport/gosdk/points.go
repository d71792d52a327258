package gosdk

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Points is a receiving middleware, of a server or a client, that calls point before each
// handler, under the handler's context:
//
//	server.AddReceivingMiddleware(gosdk.Points(explore.Point))
//
// The SDK handles requests side by side. In a plan of replay/explore, without Points, a handler
// runs up to its first wait before the next frame is given, unless the SDK still kept several
// requests in its queue: then their handlers start together, in an order that is in no token.
// With Points its start is a step of its own, "reach tools/call lookup", so it may begin later
// than the handler of the next request. The SDK handles notifications one after the other: a
// point holds up those behind it.
func Points(point func(ctx context.Context, name string)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			point(ctx, method+about(req))
			return next(ctx, method, req)
		}
	}
}

// about returns a space and the tool, prompt or resource that a request names; "" if it names none.
func about(req mcp.Request) string {
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		return " " + p.Name
	case *mcp.GetPromptParams:
		return " " + p.Name
	case *mcp.ReadResourceParams:
		return " " + p.URI
	}
	return ""
}
