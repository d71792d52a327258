// The client of the official Go SDK, as its documentation shows it.
package main

import (
	"context"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/docs/bugs/hunt/clients/workload"
)

func main() { workload.Run(open) }

func open(ctx context.Context, command []string, url string) (*workload.Client, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "example-client", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			workload.PrintProgress(req.Params.Progress, req.Params.Total)
		},
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url}
	if url == "" {
		transport = &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	w := &workload.Client{Close: session.Close, Call: func(ctx context.Context, name string, arguments map[string]any) (string, error) {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken(name)
		result, err := session.CallTool(ctx, params)
		if err != nil {
			return "", err
		}
		return result.Content[0].(*mcp.TextContent).Text, nil
	}}
	for _, tool := range tools.Tools {
		w.Tools = append(w.Tools, tool.Name)
	}
	return w, nil
}
