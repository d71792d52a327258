package mcpgo057

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestElicit is https://github.com/mark3labs/mcp-go/pull/933: over HTTP a tool's
// question to the user goes to the stream of the client's GET alone. A client that
// has none never sees it: the tool waits for the answer, the client for the tool.
// Since v0.58.0 it comes on the stream of the call.
//
// HTTP does not pass the gate: the engine sees no frame, and can name none.
func TestElicit(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the server tells of each answer
	zoo.Case{
		Name: "mcp-go 933 question without GET",
		SDK:  server.NewMCPServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s := server.NewMCPServer("asking", "1", server.WithToolCapabilities(true), server.WithElicitation())
			s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
					Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}})
				return mcp.NewToolResultText("done"), err
			})
			w := &web{}
			w.client.Transport = zoo.Web{Handler: server.NewStreamableHTTPServer(s)}
			r.Op("call", func(ctx context.Context) error {
				for _, frame := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"scripted","version":"1"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`,
				} {
					if err := w.post(ctx, frame); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		Want: map[string]zoo.Want{
			"v0.57.0": {Verdict: explore.Hang, Category: explore.NeverSent, Says: []string{
				"operation call", "RequestElicitation elicitation.go"}},
			"v0.58.0": {},
		},
	}.Run(t)
}

// web is a client by hand, without a GET. It says yes to what it is asked.
type web struct {
	client  http.Client
	session string
}

// post sends a frame and reads the whole answer.
func (w *web) post(ctx context.Context, frame string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://zoo/mcp", strings.NewReader(frame))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	got, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if id := got.Header.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
	if got.StatusCode >= 300 {
		return fmt.Errorf("POST: status %d", got.StatusCode)
	}
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		messages, err := transport.Frame{Bytes: []byte(data)}.Messages()
		if err != nil {
			return err
		}
		if m := messages[0]; m.Method == "elicitation/create" {
			if err := w.post(ctx, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"action":"accept","content":{}}}`); err != nil {
				return err
			}
		}
	}
	return nil
}
