package httptap

import (
	"bufio"
	"fmt"
	"github.com/mcprec/mcprec/recorder"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/store"
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
			}, Options{})
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
			tt := tapServer(t, refuseEarly(c.length), Options{})
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

// complaints are what net/http's server logs.
type complaints struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

// A client that has the whole answer before it has sent its whole request, sends the
// rest, and asks again: net/http must not take the rest for a request, nor panic because
// it finds the request's end behind the handler's (go.dev/issue/68560).
func TestProxyRestAfterAnswer(t *testing.T) {
	for _, c := range []struct{ name, head, first, rest string }{
		{"half", "Content-Length: 9\r\n", `{"id":1`, ` }`},
		{"none", "Content-Length: 9\r\n", "", `{"id": 1}`},
		{"chunked", "Transfer-Encoding: chunked\r\n", "7\r\n{\"id\":1\r\n", "1\r\n}\r\n0\r\n\r\n"},
		{"only the end is missing", "Transfer-Encoding: chunked\r\n", "8\r\n{\"id\":1}\r\n", "0\r\n\r\n"},
		{"long", "Content-Length: 100000\r\n", "{", strings.Repeat(" ", 99998) + "}"},
	} {
		for _, length := range []string{"2", ""} {
			t.Run(c.name+length, func(t *testing.T) {
				tt := tapServer(t, refuseEarly(length), Options{})
				said := &complaints{}
				tt.proxy.Config.ErrorLog = log.New(said, "", 0)
				conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				r := bufio.NewReader(conn)
				fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n%s", c.head, c.first)
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusUnauthorized || string(b) != "no" || err != nil {
					t.Errorf("%d %q, %v", resp.StatusCode, b, err)
				}
				fmt.Fprint(conn, c.rest)
				if !resp.Close {
					fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
					if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusUnauthorized {
						t.Errorf("again: %v, %v", resp, err)
					}
				} else if b, _ := io.ReadAll(r); len(b) > 0 { // the connection ends, also by a reset
					t.Errorf("behind the answer: %q", b)
				}
				conn.Close()
				tt.close()
				if said.text.Len() > 0 {
					t.Error(said.text.String())
				}
			})
		}
	}
}

// A server that dies in its answer, before it has the request: the client sees that at
// once, and need not send the rest first.
func TestProxyBrokenBeforeRest(t *testing.T) {
	for _, head := range []string{"Content-Length: 9", "Transfer-Encoding: chunked", "Content-Length: 100000"} {
		t.Run(head, func(t *testing.T) {
			target, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			go func() {
				if conn, err := target.Accept(); err == nil {
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: {}\r\n")
					conn.Close()
				}
			}()
			tt := tapServer(t, nil, Options{})
			u, _ := url.Parse("http://" + target.Addr().String() + "/mcp")
			tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: u})
			conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n\r\n2\r\n{}\r\n", head)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); string(b) != "data: {}" || err == nil {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// When the proxy's handler returns nobody reads the request any more: net/http may wait for
// ever for such a read.
func TestProxyReadsNoMore(t *testing.T) {
	for name, head := range map[string]string{"no length": "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1}\r\n", "long": "Content-Length: 100000\r\n\r\n{"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(refuseEarly("2"))
			defer server.Close()
			target, _ := url.Parse(server.URL + "/mcp")
			tap := New(Options{Open: func(store.Header) *recorder.Recorder { return recorder.Unrecorded(nil) }})
			defer tap.Close()
			proxy, left := tap.Proxy(ProxyOptions{Target: target}), make(chan int32, 1)
			near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := &countedReads{ReadCloser: r.Body}
				r.Body = body
				proxy.ServeHTTP(w, r)
				left <- body.reading.Load()
			}))
			defer near.Close()
			conn, err := net.Dial("tcp", near.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s", head)
			if n := <-left; n != 0 {
				t.Errorf("%d reads go on behind the handler", n)
			}
		})
	}
}

// countedReads counts the reads that are under way.
type countedReads struct {
	io.ReadCloser
	reading atomic.Int32
}

func (c *countedReads) Read(p []byte) (int, error) {
	c.reading.Add(1)
	defer c.reading.Add(-1)
	return c.ReadCloser.Read(p)
}
