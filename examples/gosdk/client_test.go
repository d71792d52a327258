package gosdk_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestClient tests a client against a recorded server, here server-memory as a
// TypeScript client once called it. No process is started, no port is opened. What
// the recorded client asked and this one does not is allowed: it is another client.
func TestClient(t *testing.T) {
	fx := fixtures.Load(t, "testdata/memory.jsonl").AllowUnused()
	fx.Explore(t, fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
		client := mcp.NewClient(implementation, nil)
		session, err := client.Connect(t.Context(), gosdk.Transport(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 9 {
			t.Errorf("%d tools", len(list.Tools))
		}
	})
}
