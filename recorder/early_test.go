package recorder

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A server that answers before it has the request's body: the answer is not held back
// for a body that does not come.
func TestProxyEarlyAnswer(t *testing.T) {
	for _, c := range []struct{ name, head, body, length, log string }{
		{"half a body", "", `{"id":1`, "2", "1 c2s cut {\"id\":1\n"},
		{"nothing of a body", "", "", "2", ""},
		{"half a body, and an answer of unknown length", "", `{"id":1`, "", "1 c2s cut {\"id\":1\n"},
		{"a client that waits for a word", "Expect: 100-continue\r\n", "", "2", ""},
		{"an answer of unknown length", "Expect: 100-continue\r\n", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tt := tapServer(t, refuseEarly(c.length), HTTPOptions{})
			conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n%s\r\n%s", c.head, c.body)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusUnauthorized || string(b) != "no" || err != nil {
				t.Errorf("%d %q, %v", resp.StatusCode, b, err)
			}
			_ = conn.Close()
			tt.want(t, "1 c2s request POST /mcp application/json\n"+c.log+"1 s2c response 401\n1 s2c body \"no\"\n1 s2c end\n")
		})
	}
}

// refuseEarly answers without reading the request's body. net/http's own server does
// that only when it is told to.
func refuseEarly(length string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.Header()["Content-Type"] = nil
		w.Header().Set("Connection", "close")
		if length != "" {
			w.Header().Set("Content-Length", length)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
		_ = c.Flush()
	}
}
