package mcpgo121

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
)

// TestHTTPProgress: docs/bugs/mcpgo-http-drops-progress. Who writes a notification of a
// call over HTTP and who ends its stream race, and chance decides: no token holds it.
func TestHTTPProgress(t *testing.T) {
	zoo.Plain{
		Name: "mcp-go HTTP drops progress",
		SDK:  server.NewStreamableHTTPServer,
		Do:   progressOverHTTP,
		Want: map[string]string{"v1.2.1": "were never sent"},
	}.Run(t)
}

func progressOverHTTP(t *testing.T) error {
	const rounds, reports = 2000, 3
	s := working(func(ctx context.Context, s *server.MCPServer, token mcp.ProgressToken) error {
		for range reports {
			if err := reporting(ctx, s, token); err != nil {
				return err
			}
		}
		return nil
	})
	web := &http.Client{Transport: zoo.Web{Handler: server.NewStreamableHTTPServer(s)}}
	session := ""
	post := func(body string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://zoo/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		return string(text)
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for round := range rounds {
		came := strings.Count(post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":%d}}}`, round+1, round+1)), "notifications/progress")
		if came < reports {
			return fmt.Errorf("%d of the %d reports of call %d were never sent", reports-came, reports, round+1)
		}
	}
	return nil
}
