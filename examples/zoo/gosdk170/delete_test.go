package gosdk170

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestCloseDelete is https://github.com/modelcontextprotocol/go-sdk/issues/1183: Close
// of a client over HTTP asks the server to delete the session and waits for the
// answer, with no limit. This server has taken the request and keeps silent. Since
// v1.8.0 Close waits five seconds.
//
// HTTP does not pass the gate: the engine sees no frame, and can name none.
func TestCloseDelete(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1183 close waits for DELETE",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			web := http.Client{Transport: zoo.Web{Handler: silent(r.Context())}}
			client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil)
			r.Op("connect, close", func(ctx context.Context) error {
				session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://zoo/mcp", HTTPClient: &web}, nil)
				if err != nil {
					return err
				}
				session.Close() // it may say that nobody answered
				return nil
			})
		}},
		Want: map[string]zoo.Want{
			"v1.7.0": {Verdict: explore.Hang, Category: explore.NeverSent, Says: []string{
				"operation connect, close", "mcp.(*ClientSession).Close client.go"}},
			"v1.8.0": {},
		},
	}.Run(t)
}

// silent is a server that answers the handshake, and no DELETE while the run lasts.
func silent(run context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case http.MethodDelete:
			select {
			case <-run.Done():
			case <-r.Context().Done():
			}
			return
		}
		body, _ := io.ReadAll(r.Body)
		messages, err := transport.Frame{Bytes: body}.Messages()
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m := messages[0]; {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "1")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"silent","version":"1"}}}`, m.ID)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		}
	})
}
