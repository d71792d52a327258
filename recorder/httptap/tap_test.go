package httptap

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store/storetest"

	"github.com/mcprec/mcprec/store"
)

// tapped is a server behind a proxy, with the logs of its recordings in the order in
// which they were opened.
type tapped struct {
	tap    *Tap
	url    string // of the endpoint, through the proxy
	server *httptest.Server
	proxy  *httptest.Server

	mu   sync.Mutex
	logs []*storetest.Log
	sums []recorder.Summary
}

// tapServer puts a proxy in front of the handler, which serves /mcp and all else.
func tapServer(t *testing.T, h http.HandlerFunc, o Options) *tapped {
	t.Helper()
	tt := &tapped{server: httptest.NewServer(h)}
	o.Open, o.Done, o.Path = tt.open(t), tt.done, "/mcp"
	tt.tap = New(o)
	target, _ := url.Parse(tt.server.URL + "/mcp")
	tt.proxy = httptest.NewUnstartedServer(tt.tap.Proxy(ProxyOptions{Target: target}))
	OwnConnections(tt.proxy.Config)
	tt.proxy.Config.Protocols = new(http.Protocols)
	tt.proxy.Config.Protocols.SetHTTP1(true)
	tt.proxy.Config.Protocols.SetUnencryptedHTTP2(true)
	tt.proxy.Start()
	tt.url = tt.proxy.URL + "/mcp"
	t.Cleanup(tt.close)
	return tt
}

func (tt *tapped) open(t *testing.T, options ...recorder.Option) func(store.Header) *recorder.Recorder {
	return func(h store.Header) *recorder.Recorder {
		s := &storetest.Log{}
		r := opening(t, s, options...)(h)
		tt.mu.Lock()
		defer tt.mu.Unlock()
		tt.logs = append(tt.logs, s)
		return r
	}
}

func (tt *tapped) done(sum recorder.Summary) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.sums = append(tt.sums, sum)
}

func (tt *tapped) close() {
	if tt.proxy != nil {
		tt.proxy.CloseClientConnections()
		tt.proxy.Close()
		tt.server.Close()
		tt.tap.Close()
		tt.proxy = nil
	}
}

// text ends the tap and returns the logs: an event a line, without times and closed.
func (tt *tapped) text(t *testing.T) string {
	t.Helper()
	tt.close()
	var b strings.Builder
	for i, s := range tt.logs {
		if i > 0 {
			b.WriteString("--\n")
		}
		for _, e := range s.Events[1:] {
			b.WriteString(line(t, e))
		}
	}
	return b.String()
}

// line tells an event of a log in short.
func line(t *testing.T, e store.Event) string {
	switch e.Kind {
	case store.Closed, store.Delivered: // the machine decides how long a write takes
		return ""
	case store.Frame:
		cut := ""
		if e.Unterminated {
			cut = " cut"
		}
		return fmt.Sprintf("%d %v%s %s\n", e.Stream, e.Dir, cut, strings.TrimSuffix(string(e.Payload), "\n"))
	case store.HTTP:
		info, err := store.DecodePayload[store.HTTPInfo](e)
		if err != nil {
			t.Error(err)
		}
		delete(info.Header, "Accept-Encoding")
		text := fmt.Sprintf("%d %v %s", e.Stream, e.Dir, info.What)
		for _, part := range []string{info.Method, info.Path} {
			if part != "" {
				text += " " + part
			}
		}
		if info.Status != 0 {
			text += fmt.Sprint(" ", info.Status)
		}
		for _, name := range []string{"Mcp-Session-Id", "Content-Type", "Last-Event-Id"} {
			if v := info.Header[name]; v != nil {
				text += " " + strings.Join(v, ",")
			}
		}
		if info.SSE != nil {
			text += fmt.Sprintf(" %q", info.SSE.Lines)
		}
		if info.Body != "" {
			text += fmt.Sprintf(" %q", info.Body)
		}
		if info.Other {
			text += " other"
		}
		if info.Error != "" {
			text += " because"
		}
		return text + "\n"
	}
	return fmt.Sprintf("%d %v %s %s\n", e.Stream, e.Dir, e.Kind, e.Payload)
}

// want compares the logs.
func (tt *tapped) want(t *testing.T, want string) {
	t.Helper()
	if got := tt.text(t); got != strings.TrimLeft(want, "\n") {
		t.Errorf("logs:\n%swant:\n%s", got, want)
	}
}

// do makes a request as an MCP client does.
func do(t *testing.T, method, url, session, body string) *http.Response {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// call makes a request and returns the response's body.
func call(t *testing.T, method, url, session, body string) string {
	t.Helper()
	resp := do(t, method, url, session, body)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// sessions is a server that gives each initialize a session id and answers the rest.
func sessions() http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch {
		case r.Method == http.MethodDelete:
			return
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 1\ndata: \n\n")
			return
		case m.Method == "initialize":
			mu.Lock()
			n++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", n))
			mu.Unlock()
		case r.Header.Get("Mcp-Session-Id") == "":
			http.Error(w, "no session", http.StatusBadRequest)
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%s}`, m.ID)
	}
}

const splitLog = `
1 c2s request POST /mcp application/json
1 c2s {"id":0,"method":"server/discover"}
1 s2c response 400 text/plain; charset=utf-8
1 s2c body "no session\n"
1 s2c end
2 c2s request POST /mcp application/json
2 c2s {"id":1,"method":"initialize"}
2 s2c response 200 s1 application/json
2 s2c {"id":1}
2 s2c end
3 c2s request POST /mcp s1 application/json
3 c2s {"method":"initialized"}
3 s2c response 202
3 s2c end
4 c2s request GET /mcp s1
4 s2c response 200 text/event-stream
4 s2c event ["id: 1" "data: "]
4 s2c end
--
1 c2s request POST /mcp application/json
1 c2s {"id":1,"method":"initialize"}
1 s2c response 200 s2 application/json
1 s2c {"id":1}
1 s2c end
2 c2s request POST /mcp s2 application/json
2 c2s {"id":2,"method":"ping"}
2 s2c response 200 application/json
2 s2c {"id":2}
2 s2c end
3 c2s request DELETE /mcp s2
3 s2c response 200
3 s2c end
4 c2s request POST /mcp s2 application/json
4 c2s {"id":3,"method":"ping"}
4 s2c response 200 application/json
4 s2c {"id":3}
4 s2c end
`

func TestProxySessions(t *testing.T) {
	tt := tapServer(t, sessions(), Options{})
	call(t, "POST", tt.url, "", `{"id":0,"method":"server/discover"}`)
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	call(t, "POST", tt.url, "s1", `{"method":"initialized"}`)
	call(t, "GET", tt.url, "s1", "")
	call(t, "POST", tt.url, "s2", `{"id":2,"method":"ping"}`)
	call(t, "DELETE", tt.url, "s2", "")
	call(t, "POST", tt.url, "s2", `{"id":3,"method":"ping"}`)
	tt.want(t, splitLog)
}

// A client that begins anew and still says its old session's id.
func TestProxySessionRenewed(t *testing.T) {
	tt := tapServer(t, sessions(), Options{})
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	call(t, "POST", tt.url, "s1", `{"id":2,"method":"initialize"}`)
	call(t, "POST", tt.url, "s2", `{"id":3,"method":"ping"}`)
	log := tt.text(t)
	_, second, _ := strings.Cut(log, "--\n")
	if len(tt.logs) != 2 || !strings.Contains(second, "MCP session s2 began in exchange 2 of recording ") || !strings.Contains(second, "1 c2s {\"id\":3,") {
		t.Errorf("logs:\n%s", log)
	}
}

// An SSE event is with the client while the stream goes on, and in the log before.
func TestProxyProgressBeforeResponse(t *testing.T) {
	next := make(chan string)
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for s := range next {
			_, _ = io.WriteString(w, s)
			w.(http.Flusher).Flush()
		}
	}, Options{})
	answered := make(chan *http.Response)
	go func() { answered <- do(t, "POST", tt.url, "", `{"id":1}`) }()
	next <- "event: message\ndata: {\"method\":\"notifications/progress\"}\n\n"
	r := bufio.NewReader((<-answered).Body)
	for _, want := range []string{"event: message\n", "data: {\"method\":\"notifications/progress\"}\n", "\n"} {
		if got, err := r.ReadString('\n'); got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	next <- "event: message\ndata: {\"id\":"
	if got, err := r.ReadString(':'); got != "event:" {
		t.Fatalf("got %q, %v", got, err)
	}
	next <- "1}\n\n"
	close(next)
	if b, err := io.ReadAll(r); string(b) != " message\ndata: {\"id\":1}\n\n" {
		t.Fatalf("got %q, %v", b, err)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 text/event-stream
1 s2c {"method":"notifications/progress"}
1 s2c {"id":1}
1 s2c end
`)
}

// While the file of one recording is being made, exchanges of others go on.
func TestProxyOpensAside(t *testing.T) {
	var opened atomic.Int32
	slow, made := make(chan struct{}), make(chan struct{})
	tt := &tapped{server: httptest.NewServer(sessions())}
	open := tt.open(t)
	tt.tap = New(Options{Path: "/mcp", Done: tt.done, Open: func(h store.Header) *recorder.Recorder {
		if opened.Add(1) == 2 {
			close(slow)
			<-made
		}
		return open(h)
	}})
	target, _ := url.Parse(tt.server.URL + "/mcp")
	tt.proxy = httptest.NewServer(tt.tap.Proxy(ProxyOptions{Target: target}))
	tt.url = tt.proxy.URL + "/mcp"
	t.Cleanup(tt.close)
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	var other sync.WaitGroup
	other.Go(func() { call(t, "POST", tt.url, "other", `{"id":2,"method":"x"}`) })
	<-slow
	call(t, "POST", tt.url, "s1", `{"id":3,"method":"y"}`)
	close(made)
	other.Wait()
}
