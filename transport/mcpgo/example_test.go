package mcpgo_test

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// A client and a server in one process. At capacity 0 each Write waits for its reader,
// and nothing is lost on the way: the notifications of a call come in the order in
// which its tool sent them. Their order to the result is not certain, so the caller
// waits for all it was promised.
//
// The same server in [github.com/mcprec/mcprec/replay/explore] proves it for every
// order of delivery; TestInProcessOrder beside this is the test to copy.
func ExampleServeInProcess() {
	s := server.NewMCPServer("counting", "1")
	s.AddTool(mcp.NewTool("count"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": i + 1})
		}
		return mcp.NewToolResultText("done"), nil
	})

	ctx, pipe := context.Background(), transport.NewPipe(0, 0, nil)
	served := make(chan error, 1)
	go func() { served <- mcpgo.ServeInProcess(ctx, s, pipe.Server()) }()

	c := client.NewClient(mcpgo.Client(pipe.Client()))
	c.Start(ctx)
	progress := make(chan any, 3)
	c.OnNotification(func(n mcp.JSONRPCNotification) { progress <- n.Params.AdditionalFields["progress"] })
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-06-18"
	c.Initialize(ctx, hello)

	request := mcp.CallToolRequest{}
	request.Params.Name = "count"
	request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
	c.CallTool(ctx, request)
	fmt.Println(<-progress, <-progress, <-progress)

	c.Close()
	fmt.Println("served:", <-served)
	// Output:
	// 1 2 3
	// served: <nil>
}
