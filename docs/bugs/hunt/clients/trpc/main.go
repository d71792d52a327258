// The client of trpc-mcp-go, as its documentation shows it.
package main

import (
	"context"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"

	"github.com/mcprec/mcprec/docs/bugs/hunt/clients/workload"
)

func main() { workload.Run(open) }

func open(ctx context.Context, command []string, url string) (*workload.Client, error) {
	c, err := connect(command, url)
	if err != nil {
		return nil, err
	}
	if _, err := c.Initialize(ctx, &mcp.InitializeRequest{}); err != nil {
		return nil, err
	}
	tools, err := c.ListTools(ctx, &mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	w := &workload.Client{Close: c.Close, Call: func(ctx context.Context, name string, arguments map[string]any) (string, error) {
		result, err := c.CallTool(ctx, &mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: arguments}})
		if err != nil {
			return "", err
		}
		return result.Content[0].(mcp.TextContent).Text, nil
	}}
	for _, tool := range tools.Tools {
		w.Tools = append(w.Tools, tool.Name)
	}
	return w, nil
}

func connect(command []string, url string) (mcp.Connector, error) {
	info := mcp.Implementation{Name: "example-client", Version: "1.0.0"}
	if url != "" {
		return mcp.NewClient(url, info)
	}
	config := mcp.StdioTransportConfig{ServerParams: mcp.StdioServerParameters{Command: command[0], Args: command[1:]}, Timeout: time.Minute}
	return mcp.NewStdioClient(config, info)
}
