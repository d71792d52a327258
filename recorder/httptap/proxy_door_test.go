package httptap

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
)

// TestProxyDoor is the table of what the proxy passes on: to the MCP endpoint and to where its clients log
// in, from programs and from pages of this machine, and nothing that a page of another site asks.
func TestProxyDoor(t *testing.T) {
	page := func(site, mode string, more ...string) http.Header {
		h := http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	inspector := page("same-site", "cors", "Origin", "http://localhost:6274")
	const passed = http.StatusOK
	for _, c := range []struct {
		what, target, method, path string
		header                     http.Header
		want                       int
	}{
		{"a program", "/mcp", "POST", "/mcp", nil, passed},
		{"a program that opens a stream", "/mcp", "GET", "/mcp", http.Header{"Accept": {"text/event-stream"}}, passed},
		{"node's fetch", "/mcp", "POST", "/mcp", http.Header{"Sec-Fetch-Mode": {"cors"}}, passed},
		{"the inspector", "/mcp", "POST", "/mcp", inspector, passed},
		{"the inspector's stream", "/mcp", "GET", "/mcp", inspector, passed},
		{"the inspector at an address", "/mcp", "POST", "/mcp", page("cross-site", "cors", "Origin", "http://127.0.0.1:6274"), passed},
		{"the inspector asks whether it may", "/mcp", "OPTIONS", "/mcp", inspector, passed},
		{"the inspector looks for metadata", "/mcp", "GET", "/.well-known/oauth-protected-resource/mcp", inspector, passed},
		{"an allowed page", "/mcp", "POST", "/mcp", page("cross-site", "cors", "Origin", "https://app.example"), passed},
		{"a page of the target itself", "/", "GET", "/style.css", page("same-origin", "no-cors"), passed},
		{"an address that was typed", "/mcp", "GET", "/mcp", page("none", "navigate"), passed},
		{"an image of another site", "/mcp", "GET", "/admin/delete", page("cross-site", "no-cors"), 403},
		{"an image of another site, of the endpoint", "/mcp", "GET", "/mcp", page("cross-site", "no-cors"), 403},
		{"an image of another site, of any path", "/", "GET", "/admin/delete", page("cross-site", "no-cors"), 403},
		{"a frame of another port", "/mcp", "GET", "/mcp", page("same-site", "navigate"), 403},
		{"a link of another site", "/mcp", "GET", "/mcp", page("cross-site", "navigate"), 403},
		{"a look of another site", "/mcp", "HEAD", "/mcp", page("cross-site", "no-cors"), 403},
		{"a stream of another site", "/sse", "GET", "/sse", page("cross-site", "cors", "Origin", "https://evil.example"), 403},
		{"a site that has no name yet", "/mcp", "GET", "/mcp", page("future-site", "no-cors"), 403},
		{"below the endpoint", "/mcp", "GET", "/mcp/v2", nil, passed},
		{"the endpoint with a slash", "/mcp", "POST", "/mcp/", nil, passed},
		{"the endpoint without its slash", "/mcp/", "POST", "/mcp", nil, passed},
		{"the root", "/mcp", "POST", "/", nil, passed},
		{"a login", "/mcp", "POST", "/token", nil, passed},
		{"a web client leads to the login", "/mcp", "GET", "/authorize", page("cross-site", "navigate", "Sec-Fetch-Dest", "document"), passed},
		{"a page has the login in a frame", "/mcp", "GET", "/authorize", page("cross-site", "navigate", "Sec-Fetch-Dest", "iframe"), 403},
		{"a page has the login as an image", "/mcp", "GET", "/authorize", page("cross-site", "no-cors", "Sec-Fetch-Dest", "image"), 403},
		{"a web client leads elsewhere", "/mcp", "GET", "/mcp", page("cross-site", "navigate", "Sec-Fetch-Dest", "document"), 403},
		{"another path", "/mcp", "GET", "/admin", nil, 403},
		{"a path that begins like it", "/mcp", "GET", "/mcpadmin", nil, 403},
		{"a path above", "/a/mcp", "GET", "/a", nil, 403},
		{"another path of a target with all", "/", "GET", "/admin", nil, passed},
		{"another path of a target without any", "", "GET", "/admin", nil, passed},
		{"another host's path", "/mcp", "GET", "//evil.example/mcp", nil, 403},
		{"upwards", "/mcp", "GET", "/../../admin", nil, 403},
		{"upwards from the endpoint", "/mcp", "GET", "/mcp/../admin", nil, 403},
		{"upwards, encoded", "/mcp", "GET", "/mcp/%2e%2E/admin", nil, 403},
		{"upwards with an encoded slash", "/mcp", "GET", "/mcp/..%2fadmin", nil, 403},
		{"upwards with a backslash", "/mcp", "GET", "/mcp/..%5cadmin", nil, 403},
		{"upwards with a parameter", "/mcp", "GET", "/mcp/..;x=1/admin", nil, 403},
		{"upwards from metadata", "/mcp", "GET", "/.well-known/../admin", nil, 403},
		{"upwards at a target with all", "/", "GET", "/../admin", nil, 403},
		{"dots in a name", "/mcp", "GET", "/mcp/a..b/...", nil, passed},
		{"CONNECT", "/mcp", "CONNECT", "/mcp", nil, 501},
		{"TRACE", "/mcp", "TRACE", "/mcp", nil, 501},
	} {
		var reached bool
		tap := New(Options{Open: func(store.Header) *recorder.Recorder { return recorder.Unrecorded(nil) }})
		var told []Refusal
		p := tap.Proxy(ProxyOptions{Target: &url.URL{Scheme: "http", Host: "target.example", Path: c.target}, Origins: []string{"https://app.example"},
			Refused: func(r Refusal) { told = append(told, r) },
			Transport: answerer(func(r *http.Request) (*http.Response, error) {
				reached = true
				resp := answer("application/json", strings.NewReader("{}"))
				resp.Request = r
				return resp, nil
			})})
		r := httptest.NewRequest(c.method, "http://127.0.0.1:7000/", nil)
		var err error
		if r.URL, err = url.ParseRequestURI(c.path); err != nil {
			t.Fatal(err)
		}
		if c.header != nil {
			r.Header = c.header
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != c.want || reached != (c.want == passed) || (len(told) > 0) == reached {
			t.Errorf("%s: %d, want %d; reached the target: %t; told %v; %s", c.what, w.Code, c.want, reached, told, w.Body)
		}
		tap.Close()
	}
}

// TestProxyNamedPaths: a client goes where the server leads it, also when that is not below the target's
// path, and to no other place for it.
func TestProxyNamedPaths(t *testing.T) {
	zipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return b.String()
	}
	for _, c := range []struct {
		what  string
		leads func(w http.ResponseWriter)
		to    string
	}{
		{"an endpoint", func(w http.ResponseWriter) { sse(w, "event: endpoint\ndata: /message?id=7\n\n") }, "/message?id=7&more=1"},
		{"a compressed endpoint", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			sse(w, zipped("event: endpoint\ndata: /message?id=7\n\n"))
		}, "/message?id=7"},
		{"a redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "/v2/rpc")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "/v2/rpc"},
	} {
		tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp" {
				c.leads(w)
			}
		}, Options{})
		status := func(method, path string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, tt.proxy.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		if got := status("POST", c.to); got != http.StatusForbidden {
			t.Errorf("%s, before the server leads there: %d", c.what, got)
		}
		status("GET", "/mcp")
		if got := status("POST", c.to); got != http.StatusOK {
			t.Errorf("%s: %d", c.what, got)
		}
		if got := status("POST", "/admin"); got != http.StatusForbidden {
			t.Errorf("%s leads elsewhere as well: %d", c.what, got)
		}
	}
}

// TestProxyNamedPathsBounded: a server that leads to ever new paths fills no memory.
func TestProxyNamedPathsBounded(t *testing.T) {
	tap := New(Options{})
	defer tap.Close()
	for n := range 3 * maxNamed {
		tap.name("/" + strings.Repeat("x", n%7) + string(rune('a'+n)))
	}
	if len(tap.named) != maxNamed {
		t.Errorf("%d paths are remembered", len(tap.named))
	}
}

// TestProxyRefusalLine: what a refused request says forges no line.
func TestProxyRefusalLine(t *testing.T) {
	refused := make(chan string, 1)
	tt := tapServer(t, func(http.ResponseWriter, *http.Request) {}, Options{})
	tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, tt.server.URL+"/mcp"), Refused: func(r Refusal) { refused <- r.Why }})
	for _, head := range []string{
		"GET /a%0aFORGED HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil/" + strings.Repeat("x", 1000) + "\r\n\r\n",
		"GET /mcp HTTP/1.1\r\nHost: evil." + strings.Repeat("x", 1000) + "\r\n\r\n",
		"TRACE /" + strings.Repeat("x", 1000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /" + strings.Repeat("x", 1000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, head)
		why := <-refused
		_ = conn.Close()
		if strings.ContainsAny(why, "\n\r") || len(why) > 300 {
			t.Errorf("told %q", why)
		}
	}
}
