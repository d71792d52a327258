package gosdk031

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestHeaders is https://github.com/modelcontextprotocol/go-sdk/issues/410: the server
// accepts the GET of a client that listens, but its headers go out with the first
// event. A client that waits for them before it goes on waits for an event that only
// its next call would cause. Since v0.4.0 they go out at once.
//
// HTTP does not pass the gate: the engine sees no frame, and can name none.
func TestHeaders(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 410 headers of GET held",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := mcp.NewServer(&mcp.Implementation{Name: "listened to", Version: "1"}, nil)
			web := &web{url: "http://zoo/mcp"}
			web.client.Transport = zoo.Web{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
			r.Go(func(ctx context.Context) {
				<-ctx.Done()
				for session := range server.Sessions() {
					session.Close()
				}
			})
			r.Op("connect, listen", func(ctx context.Context) error {
				for _, frame := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				} {
					if err := web.do(ctx, http.MethodPost, frame); err != nil {
						return err
					}
				}
				return web.do(ctx, http.MethodGet, "")
			})
		}},
		Want: map[string]zoo.Want{
			"v0.3.1": {Verdict: explore.Hang, Category: explore.NeverSent, Says: []string{"operation connect, listen", "serveGET streamable.go"}},
			"v0.4.0": {},
		},
	}.Run(t)
}

// web is a client by hand. It is done with an answer when its headers are there.
type web struct {
	client  http.Client
	url     string
	session string
}

func (w *web) do(ctx context.Context, method, frame string) error {
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(frame))
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
		return fmt.Errorf("%s: status %d", method, got.StatusCode)
	}
	return nil
}
