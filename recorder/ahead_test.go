package recorder

import (
	"io"
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
			ask := func(name string, size int) int {
				r, _ := http.NewRequest(http.MethodPost, tt.url, strings.NewReader(`"`+strings.Repeat("x", size)+`"`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(name, "1")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				return resp.StatusCode
			}
			ask("X-First", lendFrom) // whose connection is used again
			if status := ask(header, lendFrom); status != http.StatusBadGateway || came.Load() != 1 {
				t.Errorf("it came %d times and got %d", came.Load(), status)
			}
			tt.close()
		})
	}
}
