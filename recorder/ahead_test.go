package recorder

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A request that the server has read, and has not answered, is not sent again, whatever
// its client says of it: the client knows of one.
func TestProxySendsOnce(t *testing.T) {
	for _, header := range []string{"X-Plain", "Idempotency-Key", "X-Idempotency-Key"} {
		t.Run(header, func(t *testing.T) {
			var came atomic.Int32
			tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.Header.Get(header) == "" {
					return
				}
				came.Add(1)
				panic(http.ErrAbortHandler) // which closes the connection
			}, HTTPOptions{})
			conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			from := bufio.NewReader(conn)
			ask := func(name string, size int) error { // a client of net/http would ask again itself
				r, _ := http.NewRequest(http.MethodPost, tt.url, strings.NewReader(`"`+strings.Repeat("x", size)+`"`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(name, "1")
				if err := r.Write(conn); err != nil {
					return err
				}
				resp, err := http.ReadResponse(from, r)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close()
			}
			if err := ask("X-First", 4<<10); err != nil { // the connection to the server is used again
				t.Fatal(err)
			}
			if err := ask(header, 4<<10); err == nil || came.Load() != 1 {
				t.Errorf("it came %d times and got %v", came.Load(), err)
			}
			tt.close()
		})
	}
}
