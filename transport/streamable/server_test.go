package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/transport"
)

// What a response becomes, as its follower is told step by step.
func TestStreamSteps(t *testing.T) {
	const call, ping, note = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","method":"x"}`
	const answer, second, progress = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress"}`
	const refusal = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	for _, c := range []struct {
		name, request string
		known         bool
		answer        Answer
		said          []string
		want          string
	}{
		{"an answer alone is JSON", call, false, Answer{}, []string{answer}, "json 0 " + answer},
		{"progress makes a stream", call, false, Answer{}, []string{progress, answer}, "head 0, event, event, end"},
		{"recorded as a stream", call, true, Answer{Form: StreamForm}, []string{answer}, "head 0, event, end"},
		{"and primed", call, true, Answer{Form: StreamForm, IDs: true, Primed: true, Retry: "5"}, []string{answer}, "head 0, primer, event, end"},
		{"an error with its status", call, true, Answer{Form: JSONForm, Status: 400}, []string{refusal}, "json 400 " + refusal},
		{"a notification", note, false, Answer{}, nil, "plain 202 "},
		{"a notification that was refused", note, true, Answer{Plain: true, Status: 400, Body: []byte("no")}, nil, "plain 400 no"},
		{"a request that was not heeded", call, true, Answer{Plain: true, Status: 404, Body: []byte("gone")}, nil, "plain 404 gone"},
		{"no message", "garbage", false, Answer{}, nil, "plain 400 " + refusal},
		{"no answer yet", call, false, Answer{}, nil, "wait"},
		{"a batch answered one by one", ping, false, Answer{}, []string{answer, second}, "head 0, event, event, end"},
		{"a batch answered as one", ping, false, Answer{}, []string{"[" + answer + "," + second + "]"}, "json 0 [" + answer + "," + second + "]"},
		{"cut before the answer", call, true, Answer{Form: StreamForm, IDs: true, Primed: true, Cut: true, CutAfter: 1, Broken: true}, []string{progress, answer}, "head 0, primer, event, break"},
		{"ended before the answer", call, true, Answer{Form: StreamForm, IDs: true, Cut: true}, []string{answer}, "head 0, end"},
		{"a second answer", call, true, Answer{Form: StreamForm, After: 1}, []string{answer}, "head 0, event, wait"},
		{"and here it is", call, true, Answer{Form: StreamForm, After: 1}, []string{answer, answer}, "head 0, event, event, end"},
		{"primed, but JSON", call, true, Answer{Form: JSONForm, Primed: true}, []string{answer}, "json 0 " + answer},
		{"no response", call, true, Answer{None: true}, nil, "break"},
		{"no response, said to be a stream", call, true, Answer{None: true, Form: StreamForm, Primed: true}, []string{answer}, "break"},
		{"no message, said to be a stream", call, true, Answer{Plain: true, Form: StreamForm, Status: 400}, nil, "plain 400 "},
		{"an answer that is not told", call, true, Answer{Plain: true, Status: 404}, []string{answer}, "plain 404 "},
		{"a note alone", note, true, Answer{Form: StreamForm}, nil, "head 0, wait"},
		{"an answer without an id", call, false, Answer{}, []string{refusal}, "json 0 " + refusal},
		{"an answer that has none", call, false, Answer{}, []string{`{"jsonrpc":"2.0","error":{}}`}, `json 0 {"jsonrpc":"2.0","error":{}}`},
		{"progress where a JSON answer is due", call, true, Answer{Form: JSONForm}, nil, "wait"},
		{"two messages behind the answer", call, true, Answer{Form: StreamForm, After: 2}, []string{answer, progress}, "head 0, event, event, wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStream(7)
			s.noteRequests(transport.Frame{Bytes: []byte(c.request)})
			if c.known {
				s.setAnswer(c.answer)
			}
			for _, f := range c.said {
				s.add(transport.Frame{Bytes: []byte(f)})
			}
			s.afterRead()
			if got := followed(s); got != c.want {
				t.Errorf("got\n  %s, want\n  %s", got, c.want)
			}
		})
	}
}

// followed are the steps of the first follower.
func followed(s *serverStream) string {
	names := map[stepKind]string{stepWait: "wait", stepPlain: "plain", stepJSON: "json", stepHead: "head", stepEvent: "event", stepEnd: "end", stepBreak: "break", stepAbsent: "absent"}
	var list []string
	for begun, at := false, 0; ; {
		step := s.next(begun, false, at)
		text := names[step.kind]
		switch step.kind {
		case stepPlain, stepJSON:
			text = fmt.Sprintf("%s %d %s", text, step.answer.Status, step.event)
		case stepHead:
			begun, text = true, fmt.Sprintf("%s %d", text, step.answer.Status)
		case stepEvent:
			if at++; strings.HasSuffix(string(step.event), "\ndata: \n\n") {
				text = "primer"
			}
		}
		if list = append(list, text); step.kind != stepHead && step.kind != stepEvent {
			return strings.Join(list, ", ")
		}
	}
}

// Pages of other sites may not ask, nor may anybody by another name of this machine.
func TestMayAsk(t *testing.T) {
	for _, c := range []struct {
		origin, host, local string // local: where it is asked; "": the address is not known
		origins             []string
		want                bool
	}{
		{"https://any.example", "any.example", "127.0.0.1", []string{"*"}, true},
		{"https://any.example", "", "", nil, false},
		{"", "any.example", "127.0.0.1", nil, false},
		{"", "any.example", "192.0.2.1", nil, true},
		{"", "any.example", "", nil, true},
		{"http://%zz", "", "", nil, false},
		{"", "", "127.0.0.1", []string{"/"}, false},
		{"", "a", "127.0.0.1", []string{"a", "http://[::1", "http://"}, false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		r.Host = c.host
		if c.local != "" {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(c.local)}))
		}
		if refusal := MayAsk(r, c.origins); (refusal == "") != c.want {
			t.Errorf("%+v: %q", c, refusal)
		}
	}
	s := newSite(t, ServerOptions{Origins: []string{"https://app.example/"}})
	for _, c := range []struct {
		origin, host string
		want         int
	}{
		{"", "", 405}, {"http://localhost:3000", "", 405}, {"https://app.example", "", 405}, {"http://[::1]:80", "", 405},
		{"https://evil.example", "", 403}, {"null", "", 403}, {"http://localhost.evil.example", "", 403},
		{"", "evil.example", 403}, {"", "localhost:1", 405}, {"", "[::1]:80", 405},
		{"", "LocalHost.:80", 405}, {"", "app.example", 405}, {"", "App.Example:8443", 405}, {"", "sub.app.example", 403}, {"", "app.example.evil", 403},
		{"", "app.localhost:80", 405}, {"", "notlocalhost", 403}, {"http://app.localhost", "", 405}, {"http://127.0.0.2", "", 405}, {"http://192.0.2.1", "", 403},
	} {
		r, err := http.NewRequest(http.MethodPut, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		r.Host = c.host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("origin %q, host %q: %d, want %d", c.origin, c.host, resp.StatusCode, c.want)
		}
	}
}

// TestOtherSites: what a browser asks for a page of another site is refused where it has no origin, as an
// image, and reaches no session. Pages of this machine say their origin, and other clients no site.
func TestOtherSites(t *testing.T) {
	s := newSite(t, ServerOptions{Legacy: true, Origins: []string{"https://app.example"}})
	for _, c := range []struct {
		method, site, origin string
		want                 int
	}{
		{"PUT", "", "", 405}, {"PUT", "same-origin", "", 405}, {"PUT", "none", "", 405},
		{"PUT", "same-site", "http://localhost:6274", 405}, {"PUT", "cross-site", "http://127.0.0.1:6274", 405}, {"PUT", "cross-site", "https://app.example", 405},
		{"GET", "cross-site", "", 403}, {"GET", "same-site", "", 403}, {"GET", "any-site", "", 403}, {"HEAD", "cross-site", "", 403},
		{"POST", "cross-site", "", 403}, {"DELETE", "cross-site", "", 403}, {"GET", "cross-site", "https://evil.example", 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%+v: %d", c, resp.StatusCode)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/mcp", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if refusal := MayAsk(r, []string{"*"}); refusal != "" {
		t.Errorf("where all pages may ask: %s", refusal)
	}
}

// TestSessionBegins: an initialize that is refused begins no session, and a client that tries again at
// once does so in the same; only a DELETE that the server takes ends it.
func TestSessionBegins(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"Unsupported protocol version"}}`
	s := newSite(t, ServerOptions{})
	ask := func(method, path, id, body string, then func()) (status int, session string) {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Mcp-Session-Id", id)
		w := sentRecorder{httptest.NewRecorder(), then}
		s.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Mcp-Session-Id")
	}
	var serving sync.WaitGroup
	var c *ServerConn
	serving.Go(func() {
		c = s.accept(t)
		hears(t, c, request(0, "initialize"))
		serving.Go(func() { say(t, c, 1, refusal) })
		say(t, c, hears(t, c, request(0, "initialize")), result(0, "2025-11-25"))
	})
	status, session := ask(http.MethodPost, "/mcp", "", request(0, "initialize"), func() {
		if status, session := ask(http.MethodPost, "/mcp", "", request(0, "initialize"), func() {}); status != http.StatusOK || session == "" {
			t.Errorf("accepted: status %d, session %q", status, session)
		}
	})
	if status != http.StatusOK || session != "" {
		t.Errorf("refused: status %d, session %q", status, session)
	}
	serving.Wait()
	c.Expect(http.MethodDelete, []Answer{{Plain: true, Status: http.StatusMethodNotAllowed}})
	for _, step := range []struct {
		method, path, id string
		want             int
	}{
		{http.MethodDelete, "/mcp", c.id, http.StatusMethodNotAllowed},
		{http.MethodDelete, "/mcp", c.id, http.StatusOK},
		{http.MethodDelete, "/mcp", c.id, http.StatusNotFound},
		{http.MethodGet, "/mcp/sse", c.id, http.StatusNotFound},
		{http.MethodPut, "/mcp/sse", "", http.StatusMethodNotAllowed},
	} {
		if got, _ := ask(step.method, step.path, step.id, "", nil); got != step.want {
			t.Errorf("%s %s: status %d, want %d", step.method, step.path, got, step.want)
		}
	}
}

// sentRecorder calls a function when a response is sent.
type sentRecorder struct {
	*httptest.ResponseRecorder
	sent func()
}

// Flush implements http.Flusher.
func (w sentRecorder) Flush() { w.sent() }

// FuzzEventID: an id that is understood is the one that was given.
func FuzzEventID(f *testing.F) {
	f.Add("3_4")
	f.Add("18446744073709551615_0")
	f.Add(" +3_-1")
	f.Fuzz(func(t *testing.T, id string) {
		if _, event, ok := parseEventID(id); ok && event < 0 {
			t.Errorf("%q: event %d", id, event)
		}
	})
}

// FuzzRequest: whatever a client asks over HTTP, the server answers, and hands on no
// other bytes than those of the body.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/mcp", "", "", "2025-11-25", []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`), false)
	f.Add("POST", "/mcp", "", "", "2026-07-28", []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`), true)
	f.Add("GET", "/sse", "x", "1_2", "", []byte(nil), false)
	f.Add("DELETE", "/mcp?sessionId=a", "x", "", "", []byte("x"), false)
	f.Add("POST", "/", "", "", "", []byte(`[{"id":1,"method":"a"},{"method":"b"}]`), true)
	f.Fuzz(func(t *testing.T, method, path, session, last, version string, body []byte, stateless bool) {
		target, err := url.ParseRequestURI(path)
		if err != nil || method == "" {
			return
		}
		r := &http.Request{Method: method, URL: target, Host: "127.0.0.1:7000", Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
		for name, value := range map[string]string{"Mcp-Session-Id": session, "Last-Event-Id": last, "Mcp-Protocol-Version": version} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		synctest.Test(t, func(t *testing.T) { checkAnswered(t, r, body, stateless) })
	})
}

// checkAnswered has a server answer a request, and each message of it with a result.
func checkAnswered(t *testing.T, r *http.Request, body []byte, stateless bool) {
	s := NewServer(ServerOptions{Stateless: stateless})
	ctx, cancel := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	go s.ServeHTTP(w, r.WithContext(ctx))
	var heard [][]byte
	go func() {
		for {
			c, err := s.Accept(ctx)
			if err != nil {
				return
			}
			for {
				frame, err := c.Read(ctx)
				if err != nil {
					break
				}
				heard = append(heard, frame.Bytes)
				messages, _ := frame.Messages()
				for _, m := range messages {
					if m.Kind() == transport.Request {
						_ = c.Write(ctx, transport.Frame{Stream: frame.Stream, Bytes: []byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)})
					}
				}
			}
		}
	}()
	synctest.Wait()
	cancel()
	s.Close()
	synctest.Wait()
	if len(heard) > 1 || len(heard) == 1 && !bytes.Equal(heard[0], body) {
		t.Errorf("heard %q of %q", heard, body)
	}
	if w.Code < 200 || w.Code > 599 {
		t.Errorf("status %d", w.Code)
	}
}
