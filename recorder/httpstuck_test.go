package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// memoryServer answers without a network, which no bubble can wait for: every other time
// by an event stream.
type memoryServer struct{ asked int }

func (s *memoryServer) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kind, body := "application/json", fmt.Sprintf(`"re: %s"`, bytes.Trim(b, `"`))
	if s.asked++; s.asked%2 == 0 {
		kind, body = "text/event-stream", "id: 1\ndata: "+body+"\n\n"
	}
	resp := answer(kind, io.NopCloser(strings.NewReader(body)))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return resp, nil
}

// byHTTP connects a client and a server by what sends a request through a tap.
func byHTTP(t *testing.T, r *Recorder, through func(*HTTPTap) func(*http.Request) (string, error)) *peers {
	tap := NewHTTP(HTTPOptions{Path: "/mcp", Together: true, Open: func(store.Header) *Recorder { return r }})
	send := through(tap)
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		req := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(fmt.Sprintf(`"ask %d"`, i)))
		req.Header.Set("Content-Type", "application/json")
		got, err := send(req)
		if want := fmt.Sprintf(`"re: ask %d"`, i); err != nil || !strings.Contains(got, want) {
			t.Fatalf("ask %d: got %q, %v", i, got, err)
		}
		return time.Since(start)
	}, tap.Close}
}

// byProxy connects them through the reverse proxy.
func byProxy(t *testing.T, r *Recorder) *peers {
	return byHTTP(t, r, func(tap *HTTPTap) func(*http.Request) (string, error) {
		target := &url.URL{Scheme: "http", Host: "server.invalid", Path: "/mcp"}
		proxy := tap.Proxy(ProxyOptions{Target: target, Transport: &memoryServer{}})
		return func(req *http.Request) (string, error) {
			w := httptest.NewRecorder()
			proxy.ServeHTTP(w, req)
			return w.Body.String(), nil
		}
	})
}

// byRoundTrip connects them through the client's transport.
func byRoundTrip(t *testing.T, r *Recorder) *peers {
	return byHTTP(t, r, func(tap *HTTPTap) func(*http.Request) (string, error) {
		rt := tap.RoundTripper(&memoryServer{})
		return func(req *http.Request) (string, error) {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				return "", err
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			return string(b), err
		}
	})
}
