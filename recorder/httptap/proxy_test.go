package httptap

import (
	"bufio"
	"context"
	"fmt"
	"github.com/mcprec/mcprec/recorder"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// sse makes a handler write an event stream.
func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e)
		_ = http.NewResponseController(w).Flush()
	}
}

// A server that dies in the middle of a stream: the client sees a cut, not an end, and
// goes on after the last event that it has.
func TestProxyBrokenThenResumed(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-Id") == "" {
			sse(w, "id: 1\ndata: \n\n", "id: 2\ndata: {\"a\":1}\n\nda")
			panic(http.ErrAbortHandler)
		}
		sse(w, "id: 3\ndata: {\"b\":2}\n\n")
	}, Options{})
	resp := do(t, "POST", tt.url, "s", `{"id":1}`)
	if b, err := io.ReadAll(resp.Body); err == nil || string(b) != "id: 1\ndata: \n\nid: 2\ndata: {\"a\":1}\n\nda" {
		t.Errorf("read %q, %v", b, err)
	}
	req, _ := http.NewRequest("GET", tt.url, nil)
	req.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {"s"}, "Last-Event-Id": {"2"}}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	tt.want(t, `
0  note {"text":"begins in the middle: the beginning of MCP session s was not seen"}
1 c2s request POST /mcp s application/json
1 c2s {"id":1}
1 s2c response 200 text/event-stream
1 s2c event ["id: 1" "data: "]
1 s2c event ["id: 2" "data: "]
1 s2c {"a":1}
1 s2c broken "da" because
2 c2s request GET /mcp s 2
2 s2c response 200 text/event-stream
2 s2c event ["id: 3" "data: "]
2 s2c {"b":2}
2 s2c end
`)
}

// A client that hangs up cancels the request at the server.
func TestProxyClientVanishes(t *testing.T) {
	gone := make(chan struct{})
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, "data: {}\n\n")
		<-r.Context().Done()
		close(gone)
	}, Options{})
	ctx, hangUp := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", tt.url, strings.NewReader(`{"id":1}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "data: {}\n" {
		t.Errorf("read %q, %v", line, err)
	}
	hangUp()
	<-gone
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 text/event-stream
1 s2c event ["data: "]
1 s2c {}
1 c2s abort
`)
}

// What the target does to its connection the proxy does to the client's: a client that
// was refused, or cut off, takes up again, and one that got an answer does not.
func TestProxyTargetFails(t *testing.T) {
	const none = "\n1 c2s request POST /mcp application/json\n1 c2s {\"id\":1}\n1 s2c none because\n"
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	const broken = "\n1 c2s request POST /mcp application/json\n1 c2s {\"id\":1}\n1 s2c response 200 text/event-stream\n" +
		"1 s2c event [\"data: \"]\n1 s2c {}\n1 s2c broken because\n"
	for _, c := range []struct {
		name, says string // before it closes
		got        string // of the body by the client; "": no byte of an answer
		told, log  string
	}{
		{"is not there", "", "", "no answer from TARGET: connection refused", none},
		{"closes", "", "", "no answer from TARGET: ", none},
		{"cut in the first line", "HTTP/1.", "", "no answer from TARGET: malformed HTTP response", none},
		{"cut in the head", head + "Mcp-Ses", "", "no answer from TARGET: malformed MIME header", none},
		{"says something else than HTTP", "220 ready\r\n\r\n", "", "no answer from TARGET: malformed HTTP", none},
		{"a header that is none", head + "no header\r\n\r\n", "", "no answer from TARGET: malformed MIME header", none},
		{"a header without end", head + "X-Long: " + strings.Repeat("x", 11<<20), "", "no answer from TARGET: net/http: server response headers exceeded", none},
		{"cut in a chunked body", head + "Transfer-Encoding: chunked\r\n\r\na\r\ndata: {}\n\n\r\n", "data: {}\n\n", "the answer of TARGET broke off: unexpected EOF", broken},
		{"cut in a chunk", head + "Transfer-Encoding: chunked\r\n\r\nff\r\ndata: {}\n\n", "data: {}\n\n", "the answer of TARGET broke off: unexpected EOF", broken},
		{"cut in a body of a length", head + "Content-Length: 99\r\n\r\ndata: {}\n\n", "data: {}\n\n", "the answer of TARGET broke off: unexpected EOF", broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			defer serving.Wait()
			defer target.Close()
			serving.Go(func() {
				for {
					conn, err := target.Accept()
					if err != nil {
						return
					}
					if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						_, _ = io.Copy(io.Discard, r.Body)
						_, _ = io.WriteString(conn, c.says)
					}
					conn.Close()
				}
			})
			address := target.Addr().String()
			if c.name == "is not there" {
				address = notListening(t)
			}
			u, _ := url.Parse("http://" + address + "/mcp")
			var told []string
			tt := tapServer(t, nil, Options{})
			tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: u, Failed: func(why string) { told = append(told, why) }})
			conn, err := net.Dial("tcp", tt.proxy.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":1}")
			from := bufio.NewReader(conn)
			if c.got == "" {
				if b, _ := io.ReadAll(from); len(b) > 0 { // it may end with a reset
					t.Errorf("the client got %q", b)
				}
			} else if resp, err := http.ReadResponse(from, nil); err != nil {
				t.Error(err)
			} else if b, err := io.ReadAll(resp.Body); string(b) != c.got || err == nil {
				t.Errorf("the client got %q, %v", b, err)
			}
			tt.want(t, c.log)
			if want := strings.Replace(c.told, "TARGET", u.String(), 1); len(told) != 1 || !strings.HasPrefix(told[0], want) {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

// notListening returns an address at which every connection is refused: the port is that of
// the client's end of a connection, so that nobody listens there.
func notListening(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	loopback := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := loopback.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); l.Close() })
	return conn.LocalAddr().String()
}

// A failure is told once until the target has answered, and not for ever.
func TestProxyTellsFailure(t *testing.T) {
	fails := true
	tt := tapServer(t, nil, Options{})
	var told []string
	target, _ := url.Parse("http://me:pw@target.example/mcp?api_key=sesame")
	p := tt.tap.Proxy(ProxyOptions{Target: target, Failed: func(why string) { told = append(told, why) }, Transport: answerer(func(r *http.Request) (*http.Response, error) {
		if fails {
			return nil, io.ErrUnexpectedEOF
		}
		resp := answer("application/json", strings.NewReader("{}"))
		resp.Request = r
		return resp, nil
	})})
	post := func() {
		defer func() {
			if fault := recover(); fault != nil && fault != http.ErrAbortHandler {
				panic(fault)
			}
		}()
		p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/mcp", strings.NewReader("{}")))
	}
	for range 3 {
		post()
	}
	if len(told) != 1 || told[0] != "no answer from http://target.example/mcp: unexpected EOF" {
		t.Errorf("told %q", told)
	}
	for range 100 {
		fails = !fails
		post()
	}
	if len(told) != maxReports || !strings.Contains(told[maxReports-1], "nothing more is said") {
		t.Errorf("told %q", told)
	}
}

// A target that closes its end after the answer, without saying how long it is.
func TestProxyHalfClosedTarget(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	go func() {
		conn, err := target.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\ndata: cut off")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}()
	tt := tapServer(t, nil, Options{})
	u, _ := url.Parse("http://" + target.Addr().String() + "/mcp")
	tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: u})
	if got := call(t, "POST", tt.url, "", `{"id":1}`); got != "data: {}\n\ndata: cut off" {
		t.Errorf("read %q", got)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 text/event-stream
1 s2c event ["data: "]
1 s2c {}
1 s2c end "data: cut off"
`)
}

// The endpoint of HTTP+SSE: what is posted there is of the stream's recording, and the
// client does not get past the proxy.
func TestProxyEndpoint(t *testing.T) {
	for _, c := range []struct{ name, path, endpoint, want string }{
		{"absolute path", "/mcp", "/message?sessionId=7", "/message?sessionId=7"},
		{"relative", "/mcp", "message?sessionId=7", "message?sessionId=7"},
		{"the target's URL", "/mcp", "TARGET/message?sessionId=7", "PROXY/message?sessionId=7"},
		{"another host's", "/mcp", "http://elsewhere.invalid/message", "http://elsewhere.invalid/message"},
		{"no URL", "/mcp", "http://[", "http://["},
	} {
		t.Run(c.name, func(t *testing.T) {
			posted := make(chan string)
			tt := tapServer(t, nil, Options{})
			tt.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					b, _ := io.ReadAll(r.Body)
					w.WriteHeader(http.StatusAccepted)
					_, _ = io.WriteString(w, "Accepted")
					posted <- string(b)
					return
				}
				sse(w, ": ok\n\n", "event: endpoint\nda", "ta: "+strings.Replace(c.endpoint, "TARGET", tt.server.URL, 1)+"\n\n")
				if strings.Contains(c.endpoint, "7") {
					sse(w, "event: message\ndata: "+<-posted+"\n\n")
				}
			})
			resp := do(t, "GET", tt.proxy.URL+c.path, "", "")
			want := ": ok\n\nevent: endpoint\ndata: " + strings.Replace(c.want, "PROXY", tt.proxy.URL, 1) + "\n\n"
			got := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, got); string(got) != want {
				t.Fatalf("read %q, %v, want %q", got, err, want)
			}
			if !strings.Contains(c.endpoint, "7") {
				return
			}
			call(t, "POST", tt.proxy.URL+"/message?sessionId=7", "", `{"id":1}`)
			_, _ = io.Copy(io.Discard, resp.Body)
			log := tt.text(t)
			if len(tt.logs) != 1 || !strings.Contains(log, "2 c2s {\"id\":1}\n") || !strings.Contains(log, "1 s2c {\"id\":1}\n") {
				t.Errorf("logs:\n%s", log)
			}
		})
	}
}

// A client of HTTP+SSE that does not say that it wants a stream, as fetch and Go's
// http.Get: what the server answers shows what it is. Each client's session is a
// recording, also at another path than the target's.
func TestProxyEndpointUnasked(t *testing.T) {
	for _, path := range []string{"/mcp", "/sse"} {
		t.Run(path, func(t *testing.T) {
			var sessions atomic.Int32
			said := [2]chan string{make(chan string, 1), make(chan string, 1)}
			answered := [2]chan bool{make(chan bool), make(chan bool)}
			tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					b, _ := io.ReadAll(r.Body)
					w.WriteHeader(http.StatusAccepted)
					said[r.URL.Query()["id"][0][0]-'0'] <- string(b)
					return
				}
				n := sessions.Add(1) - 1
				sse(w, ": hello\n\n", fmt.Sprintf("event: endpoint\ndata: /message?id=%d\n\n", n))
				<-answered[n]
				sse(w, "event: message\ndata: "+<-said[n]+"\n\n")
			}, Options{})
			if path != "/mcp" { // all paths are the target's
				tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, tt.server.URL)})
			}
			var streams [2]*http.Response
			for i := range streams {
				resp, err := http.Get(tt.proxy.URL + path)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				streams[i] = resp
				named := bufio.NewReader(resp.Body)
				for line := ""; !strings.HasPrefix(line, "data: "); {
					if line, err = named.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, resp := range streams {
				posted, err := http.Post(fmt.Sprintf("%s/message?id=%d", tt.proxy.URL, i), "application/json", strings.NewReader(fmt.Sprintf(`{"id":%d}`, i)))
				if err != nil {
					t.Fatal(err)
				}
				posted.Body.Close()
				close(answered[i])
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			var want strings.Builder
			for i := range streams {
				if i > 0 {
					want.WriteString("--\n")
				}
				if path == "/mcp" {
					fmt.Fprintf(&want, "1 c2s request GET /mcp\n1 s2c response 200 text/event-stream\n1 s2c event [\": hello\"]\n")
				} else {
					fmt.Fprintf(&want, "1 c2s request GET /sse other\n1 s2c response 200 text/event-stream\n1 s2c event [\": hello\"]\n")
				}
				fmt.Fprintf(&want, "1 s2c event [\"event: endpoint\" \"data: \"] \"/message?id=%d\"\n2 c2s request POST /message?id=%d application/json\n"+
					"2 c2s {\"id\":%d}\n2 s2c response 202\n2 s2c end\n1 s2c {\"id\":%d}\n1 s2c end\n", i, i, i, i)
			}
			tt.want(t, want.String())
		})
	}
}

// Of a server that names ever new endpoints only the first counts.
func TestProxyEndpointAgain(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			sse(w, "event: endpoint\ndata: /message?id=7&api_key=sesame\n\n", "event: endpoint\ndata: /other?token=sesame\n\n")
			<-r.Context().Done()
		}
	}, Options{})
	resp := do(t, "GET", tt.url, "", "")
	want := "event: endpoint\ndata: /message?id=7&api_key=sesame\n\nevent: endpoint\ndata: /other?token=sesame\n\n"
	if got, err := io.ReadAll(io.LimitReader(resp.Body, int64(len(want)))); string(got) != want {
		t.Errorf("read %q, %v", got, err)
	}
	call(t, "POST", tt.proxy.URL+"/message?id=7&api_key=sesame", "", `{"id":1}`)
	tt.tap.mu.Lock()
	if n := len(tt.tap.endpoints); n != 1 {
		t.Errorf("%d endpoints are known", n)
	}
	tt.tap.mu.Unlock()
	resp.Body.Close()
	log := tt.text(t)
	if !strings.Contains(log, `"/message?id=7&api_key=sesame"`) || !strings.Contains(log, "2 c2s {\"id\":1}\n") {
		t.Errorf("log:\n%s", log)
	}
}

// A comment before the endpoint is not held back until an event comes.
func TestProxyEndpointComment(t *testing.T) {
	read := make(chan bool)
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, ": wait\n")
		<-read
		sse(w, "event: endpoint\ndata: /message\n\n")
	}, Options{})
	defer close(read)
	resp := do(t, "GET", tt.url, "", "")
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != ": wait\n" {
		t.Errorf("read %q, %v", line, err)
	}
}

func TestProxyOrigin(t *testing.T) {
	tap := New(Options{Open: func(store.Header) *recorder.Recorder { return recorder.Unrecorded(nil) }})
	defer tap.Close()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	target, _ := url.Parse(server.URL)
	var refused []string
	p := tap.Proxy(ProxyOptions{Target: target, Origins: []string{"https://app.example"}, Refused: func(r Refusal) { refused = append(refused, r.Why) }})
	for origin, status := range map[string]int{
		"": 404, "http://localhost:6274": 404, "http://127.0.0.1": 404, "http://[::1]:9": 404, "https://app.example": 404,
		"https://app.example.evil": 403, "http://evil.example": 403, "null": 403, "http://localhost.evil.example": 403,
	} {
		for range 2 {
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader("{}"))
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			w := httptest.NewRecorder()
			if p.ServeHTTP(w, r); w.Code != status {
				t.Errorf("origin %q: status %d, want %d", origin, w.Code, status)
			}
		}
	}
	if len(refused) != 4 {
		t.Errorf("told of %q", refused)
	}
}

// What is not for the MCP endpoint is recorded, and no frame.
func TestProxyLogin(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/mcp" {
			w.Header().Set("Www-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write(b)
	}, Options{})
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	req, _ := http.NewRequest("POST", tt.proxy.URL+"/token?code=sesame", strings.NewReader(`{"client_secret":"sesame"}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != `{"client_secret":"sesame"}` {
		t.Errorf("read %q", b)
	}
	resp.Body.Close()
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1,"method":"initialize"}
1 s2c response 401 application/json
1 s2c {"id":1,"method":"initialize"}
1 s2c end
2 c2s request POST /token?code=sesame application/json other
2 c2s body "{\"client_secret\":\"sesame\"}"
2 s2c response 200 application/json
2 s2c body "{\"client_secret\":\"sesame\"}"
2 s2c end
`)
}

// A form is no message, also when the client marks all that it asks as MCP.
func TestProxyForm(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"sesame"}`)
	}, Options{})
	req, _ := http.NewRequest("POST", tt.proxy.URL+"/token", strings.NewReader("client_secret=sesame"))
	req.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}, "Mcp-Protocol-Version": {"2025-06-18"}}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	tt.want(t, `
1 c2s request POST /token application/x-www-form-urlencoded; charset=utf-8 other
1 c2s body "client_secret=sesame"
1 s2c response 200 application/json
1 s2c body "{\"access_token\":\"sesame\"}"
1 s2c end
`)
}

// The root stands for the target's path; what the target's URL asks is asked at that
// path, in front of what the client asks.
func TestProxyRoot(t *testing.T) {
	asked := make(chan string, 1)
	tt := tapServer(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }, Options{})
	for _, c := range []struct{ target, path, want string }{
		{"/deep/mcp", "/", "/deep/mcp"}, {"/deep/mcp", "", "/deep/mcp"}, {"/deep/mcp", "/deep/mcp", "/deep/mcp"},
		{"/deep/mcp", "/deep/mcp/other", "/deep/mcp/other"}, {"/deep/mcp", "/?a=1", "/deep/mcp?a=1"}, {"/a%2Fb/mcp", "/", "/a%2Fb/mcp"},
		{"/mcp?key=1", "/", "/mcp?key=1"}, {"/mcp?key=1", "/mcp?a=2", "/mcp?key=1&a=2"}, {"/mcp?key=1", "/?a=2", "/mcp?key=1&a=2"},
		{"/mcp?key=1", "/token?a=2", "/token?a=2"}, {"/", "/", "/"}, {"/", "/mcp", "/mcp"},
	} {
		tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, tt.server.URL+c.target)})
		call(t, "POST", tt.proxy.URL+c.path, "", "{}")
		if got := <-asked; got != c.want {
			t.Errorf("%q of a proxy for %s is asked as %s, want %s", c.path, c.target, got, c.want)
		}
	}
}

// An event that is too long to be held, and has no end: what came of it is a frame that is
// cut, and the exchange ends.
func TestProxyLongEventCut(t *testing.T) {
	long := `{"t":"` + strings.Repeat("x", 3*streamable.EventLimit)
	for _, c := range []struct{ how, end string }{{"dies", "broken because"}, {"ends", "end"}, {"loses its client", "abort"}} {
		t.Run("the server "+c.how, func(t *testing.T) {
			tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				sse(w, "event: message\ndata: {}\n\nevent: message\ndata: "+long)
				switch c.how {
				case "dies":
					panic(http.ErrAbortHandler)
				case "loses its client":
					<-r.Context().Done()
				}
			}, Options{})
			resp := do(t, "POST", tt.url, "", `{"id":1}`)
			want := "event: message\ndata: {}\n\nevent: message\ndata: " + long
			got := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
				t.Fatalf("%v", err)
			}
			if c.how != "loses its client" {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			resp.Body.Close()
			log := strings.ReplaceAll(tt.text(t), long, "LONG")
			if want := "1 c2s request POST /mcp application/json\n1 c2s {\"id\":1}\n1 s2c response 200 text/event-stream\n1 s2c {}\n" +
				"1 s2c cut LONG\n1 s2c " + c.end + "\n"; log != strings.Replace(want, "1 s2c abort", "1 c2s abort", 1) {
				t.Errorf("log:\n%.500s\nwant:\n%s", log, want)
			}
		})
	}
}

// HTTP/2 on both sides, with TLS, and the server's trailer.
func TestProxyHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sse(w, "event: message\ndata: "+string(b)+"\n\n")
		w.Header().Set(http.TrailerPrefix+"X-After", r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	tt := tapServer(t, nil, Options{})
	target, _ := url.Parse(server.URL + "/mcp")
	front := httptest.NewUnstartedServer(tt.tap.Proxy(ProxyOptions{Target: target, Transport: server.Client().Transport}))
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()
	req, _ := http.NewRequest("POST", front.URL+"/mcp", strings.NewReader(`{"id":1}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := front.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if string(b) != "event: message\ndata: {\"id\":1}\n\n" || err != nil || resp.ProtoMajor != 2 || resp.Trailer.Get("X-After") != "HTTP/2.0" {
		t.Errorf("%s, %q, %v, trailer %v", resp.Proto, b, err, resp.Trailer)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 text/event-stream
1 s2c {"id":1}
1 s2c end
`)
}
