package streamable

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestTooLong holds that a message which is, or is said to be, too long for memory is given up with an error that
// says so, at both ends.
func TestTooLong(t *testing.T) {
	block := []byte(strings.Repeat("A", 1<<20))
	endless := func(w io.Writer) {
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2147483000")
			_, _ = w.Write(block[:1])
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the client has given it up
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) { endless(w) },
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			endless(packed)
		},
		"an event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			endless(w)
		},
		"a field of an event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "x: ")
			endless(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(answer)
			defer web.Close()
			client := dial(t, Client{URL: web.URL})
			defer client.Close()
			say(t, client, 0, request(1, "ping"))
			if frame, err := client.Read(t.Context()); !errors.Is(err, transport.ErrTooLong) {
				t.Errorf("%d bytes, %v", len(frame.Bytes), err)
			}
		})
	}
	site := newSite(t, ServerOptions{})
	address := strings.TrimSuffix(strings.TrimPrefix(site.url, "http://"), "/mcp")
	for name, head := range map[string]string{"announced": "Content-Length: 2147483000", "endless": "Transfer-Encoding: chunked"} {
		t.Run("request "+name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", address, head)
			if name == "endless" {
				go func() { // until the connection is closed
					for {
						if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(block), block); err != nil {
							return
						}
					}
				}()
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			said, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(said), "256 MiB") {
				t.Errorf("%s: %q", resp.Status, said)
			}
		})
	}
}
