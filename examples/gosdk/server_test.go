package gosdk_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestServer pins a server's behaviour: a recorded client plays to it, and it must
// answer as the server that was recorded did, in whatever order frames come.
func TestServer(t *testing.T) {
	fx := fixtures.Load(t, "testdata/count.jsonl")
	fx.Explore(t, fixtures.AsClient, func(t testing.TB, conn transport.Conn) {
		server := mcp.NewServer(implementation, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Count"}, count)
		if err := server.Run(t.Context(), gosdk.Transport(conn)); err != nil {
			t.Error(err)
		}
	})
}
