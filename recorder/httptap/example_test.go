package httptap_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// A client records what it says to its server, and what comes back: the HTTP client is
// handed to an SDK.
func ExampleTap_RoundTripper() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n")
		_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}))
	defer server.Close()

	sessions := memstore.New()
	tap := httptap.New(httptap.Options{Path: "/mcp", Open: func(h store.Header) *recorder.Recorder {
		rec, err := recorder.New(context.Background(), sessions, h)
		if err != nil {
			return recorder.Unrecorded(err)
		}
		return rec
	}})
	client := &http.Client{Transport: tap.RoundTripper(http.DefaultTransport)}

	resp, err := client.Post(server.URL+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	tap.Close()

	for s := range sessions.Sessions(context.Background(), store.Query{}) {
		for e := range sessions.Read(context.Background(), s.ID, 1, store.ReadOptions{}) {
			if e.Kind == store.Frame {
				fmt.Printf("%d %v %s\n", e.Stream, e.Dir, e.Payload)
			}
		}
	}
	// Output:
	// 1 c2s {"jsonrpc":"2.0","id":1,"method":"tools/call"}
	// 1 s2c {"jsonrpc":"2.0","method":"notifications/progress"}
	// 1 s2c {"jsonrpc":"2.0","id":1,"result":{}}
}
