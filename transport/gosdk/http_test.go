package gosdk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// httpTap returns a tap, and what gives its frames after its end: each with its
// direction, in an order of their own, for exchanges have none among them.
func httpTap(t *testing.T) (*httptap.Tap, func() []string) {
	sessions := memstore.New()
	tap := httptap.New(httptap.Options{Open: func(h store.Header) *recorder.Recorder {
		rec, err := recorder.New(t.Context(), sessions, h)
		if err != nil {
			t.Error(err)
			return recorder.Unrecorded(err)
		}
		return rec
	}})
	return tap, func() (frames []string) {
		tap.Close()
		for s, err := range sessions.Sessions(context.Background(), store.Query{}) {
			if err != nil {
				t.Error(err)
			}
			for e := range sessions.Read(context.Background(), s.ID, 1, store.ReadOptions{}) {
				if e.Kind == store.Frame {
					frames = append(frames, fmt.Sprint(e.Dir, " ", strings.TrimSuffix(string(e.Payload), "\n")))
				}
			}
		}
		slices.Sort(frames)
		return frames
	}
}

// The SDK's client and server over HTTP, each with a tap of its own in its process:
// both saw the same.
func TestHTTPFaces(t *testing.T) {
	clientTap, clientSaw := httpTap(t)
	serverTap, serverSaw := httpTap(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	front := httptest.NewServer(serverTap.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL,
		HTTPClient: &http.Client{Transport: clientTap.RoundTripper(http.DefaultTransport)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: "count"}
	params.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	front.CloseClientConnections()
	front.Close()
	c, s := clientSaw(), serverSaw()
	if !slices.Equal(c, s) || len(c) < 8 {
		t.Errorf("the client's tap saw\n%s\n\nthe server's\n%s", strings.Join(c, "\n"), strings.Join(s, "\n"))
	}
}
