package cli

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHalfSent: a request that stops anywhere is given up, whether the handler reads it or not, and its
// connection is closed. An answer that takes longer goes on.
func TestHalfSent(t *testing.T) {
	const head = "POST /%s HTTP/1.1\r\nHost: h\r\n"
	late := make(chan struct{})
	server := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.URL.Path == "/late" {
			select {
			case <-late:
			case <-r.Context().Done():
				t.Error("the wait for an answer ended the request")
			}
		}
		_, _ = w.Write(body)
	}), 50*time.Millisecond)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	say := func(text string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	whole := func(path, rest string) string { return strings.Replace(head, "%s", path, 1) + rest }
	first := say(whole("late", "Content-Length: 2\r\nConnection: close\r\n\r\nok"))
	for _, text := range []string{
		"", "POST /", whole("x", "X: "), whole("x", "Content-Length: 5\r\n\r\nab"),
		whole("x", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"), whole("refused", "Content-Length: 5\r\n\r\nab"),
		whole("x", "Content-Length: 2\r\n\r\nok") + "POST /",
	} {
		if _, err := io.Copy(io.Discard, say(text)); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q: %v", text, err)
		}
	}
	close(late)
	if answer, err := io.ReadAll(first); err != nil || !strings.HasSuffix(string(answer), "\r\n\r\nok") {
		t.Errorf("a late answer: %q, %v", answer, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}
