package streamable_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// TestBreak holds what is left of a response that the server cuts in front of an answer or within
// it, and that a client that can resume the stream gets the answer then.
func TestBreak(t *testing.T) {
	const progress, answer = `{"method":"notifications/progress"}`, `{"id":1,"result":{}}`
	for _, row := range []struct {
		name      string
		said      bool // progress goes out before
		half      bool
		want      string // of the body; "" and no response
		resumable bool
	}{
		{"nothing was sent", false, false, "", false},
		{"half of the body", false, true, answer[:10], false},
		{"behind an event", true, false, "event: message\nid: 1_0\ndata: " + progress + "\n\n", true},
		{"within an event", true, true, "event: message\nid: 1_0\ndata: " + progress + "\n\nevent: message\ndata: " + answer[:10], true},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := streamable.NewServer(streamable.ServerOptions{})
			web := httptest.NewServer(server)
			defer web.Close()
			defer server.Close()
			served := make(chan error, 1)
			go func() {
				conn, err := server.Accept(t.Context())
				if err != nil {
					served <- err
					return
				}
				request, err := conn.Read(t.Context())
				if err == nil {
					conn.Answer(request.Stream, streamable.Answer{Form: map[bool]streamable.AnswerForm{true: streamable.StreamForm}[row.said], IDs: true})
				}
				if err == nil && row.said {
					err = conn.Write(t.Context(), transport.Frame{Bytes: []byte(progress), Stream: request.Stream})
				}
				conn.Break(transport.Frame{Bytes: []byte(answer), Stream: request.Stream}, row.half, false)
				if err == nil { // behind the cut: lost, and on no other stream
					err = conn.Write(t.Context(), transport.Frame{Bytes: []byte(`{"id":1,"result":"again"}`), Stream: request.Stream})
				}
				served <- err
			}()
			resp := do(t, web.URL, http.MethodPost, `{"id":1,"method":"initialize"}`, "", "")
			body := ""
			session := ""
			if resp != nil {
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil {
					t.Error("the response ends well")
				}
				body = string(b)
				session = resp.Header.Get(mcp.HeaderSessionID)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if body != row.want {
				t.Errorf("got %q, want %q", body, row.want)
			}
			if !row.resumable {
				return
			}
			resumed := do(t, web.URL, http.MethodGet, "", session, "1_0")
			if resumed == nil {
				t.Fatal("the stream cannot be resumed")
			}
			defer resumed.Body.Close()
			rest := make([]byte, len("event: message\nid: 1_1\ndata: "+answer))
			if _, err := io.ReadFull(resumed.Body, rest); err != nil || !strings.HasSuffix(string(rest), "data: "+answer) {
				t.Errorf("resumed: %q, %v", rest, err)
			}
		})
	}
}

// do makes a request and returns the response; nil if the connection is cut before.
func do(t *testing.T, url, method, body, session, last string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set(mcp.HeaderSessionID, session)
		r.Header.Set(mcp.HeaderLastEventID, last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	return resp
}
