package httptap

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// raw writes a request as it stands and returns what comes to the connection's end.
func raw(t *testing.T, tt *tapped, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, request)
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// What a server says before its answer passes, and is in the log.
func TestProxyInforms(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusNoContent)
	}, Options{})
	got := raw(t, tt, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	for i, want := range []string{"HTTP/1.1 103 ", "Link: </a>; rel=preload", "HTTP/1.1 102 ", "HTTP/1.1 204 "} {
		at := strings.Index(got, want)
		if at < 0 {
			t.Fatalf("%d: no %q in %q", i, want, got)
		}
		got = got[at:]
	}
	if strings.Contains(got, "Link") {
		t.Errorf("the hint's header is in the answer: %q", got)
	}
	tt.want(t, "1 c2s request GET /mcp\n1 s2c interim 103\n1 s2c interim 102\n1 s2c response 204\n1 s2c end\n")
}

// A change of the protocol is refused in words, and the log says so. One that is only
// offered, as of HTTP/2, is not taken up.
func TestProxyUpgrade(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			t.Error("the upgrade passed")
		}
		w.WriteHeader(http.StatusNoContent)
	}, Options{})
	got := raw(t, tt, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 501 ") || !strings.Contains(got, "mcprec: does not pass on an upgrade to websocket") {
		t.Errorf("websocket: %q", got)
	}
	got = raw(t, tt, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Errorf("h2c: %q", got)
	}
	tt.want(t, "1 c2s request GET /mcp\n1 s2c none because\n2 c2s request GET /mcp\n2 s2c response 204\n2 s2c end\n")
}

// A handler that takes the connection over has not answered.
func TestHandlerHijack(t *testing.T) {
	tt := tapHandler(t, func(w http.ResponseWriter, r *http.Request) {
		var conn net.Conn
		var err error
		if r.URL.Path == "/old" {
			conn, _, err = w.(http.Hijacker).Hijack()
		} else {
			conn, _, err = http.NewResponseController(w).Hijack()
		}
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nmine")
		_ = conn.Close()
	})
	for _, path := range []string{"/old", "/new"} {
		conn, err := net.Dial("tcp", tt.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("%s: %v, %v", path, resp, err)
		}
		_ = conn.Close()
	}
	tt.want(t, `
0  note {"text":"begins in the middle: the beginning of MCP session s was not seen"}
1 c2s request GET /old s
1 s2c none because
2 c2s request GET /new s
2 s2c none because
`)
}
