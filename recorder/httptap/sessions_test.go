package httptap

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bubble is a tapped handler without a network, for tests that move the clock.
type bubble struct {
	*tapped
	handler http.Handler
}

func newBubble(t *testing.T, h http.HandlerFunc) *bubble {
	tt := &tapped{}
	tt.tap = New(Options{Open: tt.open(t), Done: tt.done, Path: "/mcp"})
	return &bubble{tapped: tt, handler: tt.tap.Handler(h)}
}

// do makes a request and returns when it is answered.
func (b *bubble) do(method, path, session, body string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	b.handler.ServeHTTP(httptest.NewRecorder(), r)
}

// ended returns how many recordings have ended.
func (b *bubble) ended() int {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sums)
}

const tailLog = `
1 c2s request POST /mcp application/json
1 c2s {"id":1,"method":"initialize"}
1 s2c response 200 s1 application/json
1 s2c {"id":1}
1 s2c end
2 c2s request GET /mcp s1
2 s2c response 200 text/event-stream
3 c2s request POST /mcp s1 application/json
3 c2s {"id":2,"method":"slow"}
4 c2s request DELETE /mcp s1
4 s2c response 200
4 s2c end
3 s2c response 200 application/json
3 s2c {"id":2}
3 s2c end
2 s2c {"method":"bye"}
2 s2c end
5 c2s request POST /mcp s1 application/json
5 c2s {"id":9,"result":{}}
5 s2c response 404 text/plain; charset=utf-8
5 s2c body "gone\n"
5 s2c end
6 c2s request GET /mcp s1
6 s2c response 404 text/plain; charset=utf-8
6 s2c body "gone\n"
6 s2c end
--
0  note {"text":"begins in the middle: the beginning of MCP session s1 is in recording ID"}
1 c2s request POST /mcp s1 application/json
1 c2s {"id":3,"method":"ping"}
1 s2c response 404 text/plain; charset=utf-8
1 s2c body "gone\n"
1 s2c end
`

// What comes just after the client has ended its session is of that session: answers on
// their way, a late message, a stream that is asked for again. When nothing has come for a
// while the recording ends.
func TestSessionTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted, listened := make(chan bool), make(chan bool)
		ended := false
		serve := sessions()
		b := newBubble(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			switch {
			case r.Method == http.MethodDelete:
				ended = true
			case ended:
				http.Error(w, "gone", http.StatusNotFound)
			case r.Method == http.MethodGet:
				sse(w, "")
				<-listened
				sse(w, "event: message\ndata: {\"method\":\"bye\"}\n\n")
			case strings.Contains(string(body), "slow"):
				<-deleted
				serve(w, r)
			default:
				serve(w, r)
			}
		})
		b.do("POST", "/mcp", "", `{"id":1,"method":"initialize"}`)
		var open sync.WaitGroup
		open.Go(func() { b.do("GET", "/mcp", "s1", "") })
		synctest.Wait()
		open.Go(func() { b.do("POST", "/mcp", "s1", `{"id":2,"method":"slow"}`) })
		synctest.Wait()
		b.do("DELETE", "/mcp", "s1", "")
		time.Sleep(2 * linger) // what is open is not over
		deleted <- true
		synctest.Wait()
		listened <- true
		open.Wait()
		time.Sleep(linger - time.Millisecond)
		b.do("POST", "/mcp", "s1", `{"id":9,"result":{}}`)
		time.Sleep(linger - time.Millisecond)
		b.do("GET", "/mcp", "s1", "")
		if n := b.ended(); n != 0 {
			t.Errorf("%d recordings have ended too soon", n)
		}
		time.Sleep(linger)
		if n := b.ended(); n != 1 {
			t.Errorf("%d recordings have ended", n)
		}
		b.do("POST", "/mcp", "s1", `{"id":3,"method":"ping"}`)
		b.tap.Close()
		if got := strings.ReplaceAll(b.text(t), string(b.sums[0].ID), "ID"); got != strings.TrimLeft(tailLog, "\n") {
			t.Errorf("logs:\n%swant:\n%s", got, tailLog)
		}
	})
}

// A server that gives the next session the id, or the endpoint, of the one that has just
// ended: each session is a recording.
func TestSessionTailReused(t *testing.T) {
	t.Run("id", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Mcp-Session-Id", "same")
			})
			for range 2 {
				b.do("POST", "/mcp", "", `{"id":1,"method":"initialize"}`)
				b.do("POST", "/mcp", "same", `{"id":2,"method":"ping"}`)
				b.do("DELETE", "/mcp", "same", "")
			}
			b.tap.Close()
			first, second, _ := strings.Cut(b.text(t), "--\n")
			if first != second || strings.Count(first, "request") != 3 {
				t.Errorf("logs:\n%s--\n%s", first, second)
			}
		})
	})
	t.Run("endpoint", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			hungUp := make(chan bool)
			b := newBubble(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.Method == http.MethodGet {
					sse(w, "event: endpoint\ndata: /mcp\n\n")
					<-hungUp
				}
			})
			for range 2 {
				var open sync.WaitGroup
				open.Go(func() { b.do("GET", "/mcp", "", "") })
				time.Sleep(linger) // the recording of the one before ends
				b.do("POST", "/mcp", "", `{"id":1,"method":"initialize"}`)
				hungUp <- true
				open.Wait()
				b.do("POST", "/mcp", "", `{"method":"late"}`)
			}
			time.Sleep(linger)
			if n := b.ended(); n != 2 {
				t.Errorf("%d recordings have ended", n)
			}
			b.tap.Close()
			first, second, _ := strings.Cut(b.text(t), "--\n")
			if first != second || strings.Count(first, "request") != 3 {
				t.Errorf("logs:\n%s--\n%s", first, second)
			}
		})
	})
}
