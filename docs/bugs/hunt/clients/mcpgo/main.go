// The client of mcp-go, as its documentation shows it.
package main

import (
	"context"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/docs/bugs/hunt/clients/workload"
)

func main() { workload.Run(open) }

func open(ctx context.Context, command []string, url string) (*workload.Client, error) {
	c, err := connect(ctx, command, url)
	if err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "example-client", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	w := &workload.Client{Close: c.Close, Call: func(ctx context.Context, name string, arguments map[string]any) (string, error) {
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = name, arguments
		req.Params.Meta = &mcp.Meta{ProgressToken: name}
		result, err := c.CallTool(ctx, req)
		if err != nil {
			return "", err
		}
		return mcp.GetTextFromContent(result.Content[0]), nil
	}}
	for _, tool := range tools.Tools {
		w.Tools = append(w.Tools, tool.Name)
	}
	return w, nil
}

func connect(ctx context.Context, command []string, url string) (*client.Client, error) {
	if url == "" {
		return client.NewStdioMCPClient(command[0], nil, command[1:]...)
	}
	c, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}
