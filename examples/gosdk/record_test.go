package gosdk_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestRecord records its session on the first run and plays it on later ones.
func TestRecord(t *testing.T) {
	conn := fixtures.Record(t, "testdata/count.jsonl", fixtures.Once, fixtures.ServerFunc(serve))
	client := mcp.NewClient(implementation, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
	})
	session, err := client.Connect(t.Context(), gosdk.Transport(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := call(t.Context(), session); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

func serve(ctx context.Context, conn transport.Conn) error {
	server := mcp.NewServer(implementation, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
	return server.Run(ctx, gosdk.Transport(conn))
}
