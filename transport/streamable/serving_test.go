package streamable

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/transport"
)

// asking is a request to a server, and what has come of it so far.
type asking struct {
	*httptest.ResponseRecorder
	hangUp context.CancelFunc
	mu     sync.Mutex
	ended  string // "", "ended", or "cut" for a broken connection
}

// ask makes a request of "METHOD path Name=value …", and waits until nothing more happens.
func ask(t *testing.T, s *Server, line, body string) *asking {
	t.Helper()
	fields := strings.Fields(line)
	r := httptest.NewRequest(fields[0], "http://localhost"+fields[1], strings.NewReader(body))
	for _, field := range fields[2:] {
		name, value, _ := strings.Cut(field, "=")
		r.Header.Set(name, value)
	}
	a := &asking{ResponseRecorder: httptest.NewRecorder()}
	var ctx context.Context
	ctx, a.hangUp = context.WithCancel(t.Context())
	go func() {
		ended := "ended"
		defer func() {
			if recover() != nil {
				ended = "cut"
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.ended = ended
		}()
		s.ServeHTTP(a, r.WithContext(ctx))
	}()
	synctest.Wait()
	return a
}

// String is the status, some headers, the body, and whether the response goes on.
func (a *asking) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprint(a.Code)
	if a.ended == "cut" {
		text = "cut"
		if a.Flushed {
			text = fmt.Sprint(a.Code, " cut")
		}
	}
	for _, name := range []string{"Content-Type", "Allow", "X-Any"} {
		if value := a.Header().Get(name); value != "" && value != "text/plain; charset=utf-8" {
			text += " " + value
		}
	}
	if a.Header().Get("Mcp-Session-Id") != "" {
		text += " named"
	}
	if body := strings.ReplaceAll(strings.TrimRight(a.Body.String(), "\n"), "\n", "|"); body != "" {
		text += " " + body
	}
	if a.ended == "" {
		text += " …"
	}
	return text
}

// peer answers the requests of a server's sessions, and writes down which session heard what.
type peer struct {
	mu    sync.Mutex
	heard []string
	conns []*ServerConn
}

func (p *peer) serve(t *testing.T, s *Server) {
	for n := 1; ; n++ {
		c, err := s.Accept(t.Context())
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, c)
		p.mu.Unlock()
		go func() {
			for {
				f, err := c.Read(t.Context())
				if err != nil {
					return
				}
				messages, _ := f.Messages()
				for _, m := range messages {
					p.mu.Lock()
					p.heard = append(p.heard, fmt.Sprintf("%d:%s", n, m.Method))
					p.mu.Unlock()
					if m.Method == "noisy" {
						c.Answer(f.Stream, Answer{IDs: true})
						_ = c.Write(t.Context(), transport.Frame{Bytes: []byte(progress), Stream: f.Stream})
					}
					if m.Kind() == transport.Request && m.Method != "silent" {
						text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
						if m.Method == "initialize" && string(m.ID) == "13" {
							text = `{"jsonrpc":"2.0","id":13,"error":{"code":1,"message":"no"}}`
						}
						_ = c.Write(t.Context(), transport.Frame{Bytes: []byte(text), Stream: f.Stream})
					}
				}
			}
		}()
	}
}

// TestServing: what a server answers, request by request, and which session hears of it.
func TestServing(t *testing.T) {
	const ok = `200 application/json {"jsonrpc":"2.0","id":1,"result":{}}`
	const begun = `200 application/json named {"jsonrpc":"2.0","id":1,"result":{}}`
	const inSession = begun
	const unknown = `404 application/json {"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	const refused = `200 application/json {"jsonrpc":"2.0","id":13,"error":{"code":1,"message":"no"}}`
	initialize, ping, silent := request(1, "initialize"), request(1, "ping"), request(2, "silent")
	type step struct{ line, body, want string } // ID stands for the id of the newest session
	for _, c := range []struct {
		name    string
		options ServerOptions
		steps   []step
		heard   string
	}{
		{"a session", ServerOptions{}, []step{
			{"POST /mcp", initialize, begun},
			{"POST /mcp Mcp-Session-Id=ID", initialized, "202 named"},
			{"POST /mcp Mcp-Session-Id=ID", ping, inSession},
			{"POST /mcp?sessionId=ID", ping, inSession},
			{"POST /mcp Mcp-Session-Id=ID", "garbage", `400 named {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
			{"PUT /mcp Mcp-Session-Id=ID", "", "405 GET, POST, DELETE mcprec: want GET, POST or DELETE"},
			{"GET /mcp Mcp-Session-Id=ID", "", "200 text/event-stream named …"},
			{"GET /mcp Mcp-Session-Id=ID", "", "409 mcprec: the session has a stream already; a client comes back to it by Last-Event-ID"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=x", "", "400 mcprec: no event has the id x"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=0_0", "", "400 mcprec: no event has the id 0_0"},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "200"},
			{"POST /mcp Mcp-Session-Id=ID", ping, unknown},
			{"GET /mcp Mcp-Session-Id=ID", "", "404 mcprec: no such session"},
		}, "1:initialize 1:notifications/initialized 1:ping 1:ping"},
		{"requests that name none", ServerOptions{}, []step{
			{"GET /mcp", "", "405 POST mcprec: there is no session to ask for this"},
			{"POST /mcp", ping, ok},
			{"POST /mcp", initialize, begun},
			{"POST /mcp", ping, inSession},
			{"GET /mcp", "", "405 POST mcprec: there is no session to ask for this"},
			{"DELETE /mcp", "", "405 POST mcprec: there is no session to ask for this"},
			{"POST /mcp", initialize, begun},
			{"POST /mcp", ping, inSession},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "200"},
			{"POST /mcp", ping, "503 mcprec: the session is over"},
		}, "1:ping 1:initialize 1:ping 2:initialize 2:ping"},
		{"a session that is refused may begin later", ServerOptions{}, []step{
			{"POST /mcp", request(13, "initialize"), refused},
			{"POST /mcp", initialize, begun},
			{"POST /mcp", request(13, "initialize"), refused},
			{"POST /mcp", request(13, "initialize"), refused},
			{"POST /mcp", ping, ok},
		}, "1:initialize 1:initialize 2:initialize 2:initialize 2:ping"},
		{"while one begins, another does", ServerOptions{}, []step{
			{"POST /mcp", "[" + initialize + "," + silent + "]", "200 text/event-stream named event: message|id: 1_0|data: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + " …"},
			{"POST /mcp", initialize, begun},
			{"POST /mcp", ping, inSession},
		}, "1:initialize 1:silent 2:initialize 2:ping"},
		{"without sessions", ServerOptions{Stateless: true}, []step{
			{"POST /mcp", initialize, ok},
			{"POST /mcp", ping, ok},
			{"POST /mcp", initialize, ok},
			{"POST /mcp Mcp-Session-Id=who", ping, unknown},
			{"GET /mcp", "", "405 POST mcprec: there is no session to ask for this"},
			{"GET /mcp/sse", "", "405 POST mcprec: there is no session to ask for this"},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "405 POST mcprec: there is no session to ask for this"},
		}, "1:initialize 1:ping 1:initialize"},
		{"HTTP+SSE", ServerOptions{}, []step{
			{"GET /sse", "", "200 text/event-stream event: endpoint|data: /message?sessionId=ID …"},
			{"POST /message?sessionId=ID", initialize, "202 Accepted"},
			{"POST /message?sessionId=ID", initialized, "202 Accepted"},
			{"POST /mcp", request(2, "initialize"), `200 application/json named {"jsonrpc":"2.0","id":2,"result":{}}`},
		}, "1:initialize 1:notifications/initialized 2:initialize"},
		{"HTTP+SSE on every path", ServerOptions{Legacy: true}, []step{
			{"GET /mcp", "", "200 text/event-stream event: endpoint|data: /message?sessionId=ID …"},
			{"GET /mcp Mcp-Session-Id=ID", "", "409 mcprec: the session has a stream already; a client comes back to it by Last-Event-ID"},
		}, ""},
		{"as it is expected", ServerOptions{Expected: map[string][]Answer{
			http.MethodGet:    {{Plain: true, Status: http.StatusMethodNotAllowed, Header: http.Header{"X-Any": {"a"}}, Body: []byte("no stream")}},
			http.MethodDelete: {{Plain: true, Status: 300}, {Plain: true, Status: 299}},
		}}, []step{
			{"POST /mcp", initialize, begun},
			{"GET /mcp Mcp-Session-Id=ID", "", "405 a no stream"},
			{"GET /mcp Mcp-Session-Id=ID", "", "200 text/event-stream named …"},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "300"},
			{"POST /mcp Mcp-Session-Id=ID", ping, inSession},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "299"},
			{"POST /mcp Mcp-Session-Id=ID", ping, unknown},
		}, "1:initialize 1:ping"},
		{"a DELETE with a status of its own", ServerOptions{Expected: map[string][]Answer{http.MethodDelete: {{Status: http.StatusNoContent}}}}, []step{
			{"POST /mcp", initialize, begun},
			{"DELETE /mcp Mcp-Session-Id=ID", "", "204"},
		}, "1:initialize"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(c.options)
				var p peer
				go p.serve(t, s)
				for i, step := range c.steps {
					id := "none"
					s.mu.Lock()
					if n := len(p.conns); n > 0 {
						id = p.conns[n-1].id
					}
					s.mu.Unlock()
					a := ask(t, s, strings.ReplaceAll(step.line, "ID", id), step.body)
					if n := len(p.conns); n > 0 {
						id = p.conns[n-1].id
					}
					if got := strings.ReplaceAll(a.String(), id, "ID"); got != step.want {
						t.Errorf("step %d, %s: got\n%s\nwant\n%s", i+1, step.line, got, step.want)
					}
				}
				if got := strings.Join(p.heard, " "); got != c.heard {
					t.Errorf("heard %s, want %s", got, c.heard)
				}
				s.Close()
				synctest.Wait()
				if a := ask(t, s, "POST /mcp", ping); a.Code != http.StatusServiceUnavailable {
					t.Errorf("behind Close: %v", a)
				}
			})
		})
	}
}

// TestScreen: how a request names its session, and whether it may name its event, is known before any
// session hears of it.
func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told string
		var answer Answer
		answers := false
		names := map[SessionState]string{SessionOpen: "open", SessionNone: "none", SessionEnded: "ended", SessionUnknown: "unknown"}
		s := NewServer(ServerOptions{Screen: func(a Attempt) (Answer, bool) {
			told = fmt.Sprint(names[a.Session], " ", a.Lost, " ", len(a.Body))
			return answer, answers
		}})
		var p peer
		go p.serve(t, s)
		stream := `200 text/event-stream named event: message|id: 2_0|data: ` + progress + `||event: message|id: 2_1|data: {"jsonrpc":"2.0","id":1,"result":{}}`
		refusal := Answer{Status: http.StatusTeapot, Form: StreamForm, Body: []byte("no")}
		for i, step := range []struct {
			line, body string
			answer     *Answer
			want, told string
		}{
			{"POST /mcp", request(1, "initialize"), nil, `200 application/json named {"jsonrpc":"2.0","id":1,"result":{}}`, "none false 46"},
			{"POST /mcp Mcp-Session-Id=ID", request(1, "noisy"), nil, stream, "open false 41"},
			{"GET /mcp?sessionId=ID Last-Event-Id=2_0", "", &refusal, "418 text/event-stream named …", "open false 0"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=2_1", "", &Answer{Status: 400}, "400", "open false 0"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=2_2", "", &Answer{Status: 400}, "400", "open true 0"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=9_0", "", &Answer{Status: 400}, "400", "open true 0"},
			{"GET /mcp Mcp-Session-Id=ID Last-Event-Id=x", "", &Answer{Status: 400}, "400", "open true 0"},
			{"GET /mcp Mcp-Session-Id=who Last-Event-Id=2_0", "", &refusal, "418 no", "unknown true 0"},
			{"DELETE /mcp Mcp-Session-Id=ID", "", nil, "200", "open false 0"},
			{"POST /mcp Mcp-Session-Id=ID", "", &refusal, "418 no", "ended false 0"},
			{"POST /mcp Mcp-Session-Id=" + s.idPrefix + "gone", "", &refusal, "418 no", "ended false 0"},
		} {
			id := "none"
			if len(p.conns) > 0 {
				id = p.conns[0].id
			}
			answer, answers = Answer{}, step.answer != nil
			if answers {
				answer = *step.answer
			}
			a := ask(t, s, strings.ReplaceAll(step.line, "ID", id), step.body)
			if got := a.String(); got != step.want || told != step.told {
				t.Errorf("step %d, %s: got\n%s, told %s\nwant\n%s, %s", i+1, step.line, got, told, step.want, step.told)
			}
			a.hangUp()
		}
		if got := strings.Join(p.heard, " "); got != "1:initialize 1:noisy" {
			t.Errorf("heard %s", got)
		}
	})
}

// TestRoutes: on which response a frame goes out. Exchanges 2 and 3 are open requests with the ids 2
// and 3, and exchange 1 began the session.
func TestRoutes(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"x"}`
	event := func(text string) string { return " event: message|data: " + text }
	frame := func(stream uint64, text string) transport.Frame {
		return transport.Frame{Stream: stream, Bytes: []byte(text)}
	}
	answer2 := `{"jsonrpc":"2.0","id":2,"result":{}}`
	type row struct {
		name     string
		options  ServerOptions
		listens  bool
		hangsUp  bool   // the client of exchange 3 does
		answer   Answer // of exchange 3
		frames   []transport.Frame
		two      string // the response of exchange 2
		three    string
		listened string // on the standalone stream
		unsent   int
	}
	for _, c := range []row{
		{"of its own", ServerOptions{}, false, false, Answer{}, []transport.Frame{frame(2, note)}, "200 text/event-stream named" + event(note) + " …", "200 …", "", 0},
		{"of no exchange, on the newest", ServerOptions{}, false, false, Answer{}, []transport.Frame{frame(0, note)}, "200 …", "200 text/event-stream named" + event(note) + " …", "", 0},
		{"of an unknown exchange", ServerOptions{}, false, false, Answer{}, []transport.Frame{frame(9, note)}, "200 …", "200 text/event-stream named" + event(note) + " …", "", 0},
		{"not where only an answer may go", ServerOptions{}, false, false, Answer{Form: JSONForm}, []transport.Frame{frame(0, note)}, "200 text/event-stream named" + event(note) + " …", "200 …", "", 0},
		{"not where nobody reads", ServerOptions{}, false, true, Answer{Form: StreamForm}, []transport.Frame{frame(0, note)}, "200 text/event-stream named" + event(note) + " …", "200 text/event-stream named", "", 0},
		{"on the standalone stream", ServerOptions{}, true, false, Answer{}, []transport.Frame{frame(0, note)}, "200 …", "200 …", "200 text/event-stream named event: message|id: 0_0|data: " + note + " …", 0},
		{"on the standalone stream alone", ServerOptions{Standalone: true}, false, false, Answer{}, []transport.Frame{frame(0, note)}, "200 …", "200 …", "", 1},
		{"behind an answer", ServerOptions{}, false, false, Answer{}, []transport.Frame{frame(2, answer2), frame(2, note)}, "200 application/json named " + answer2, "200 text/event-stream named" + event(note) + " …", "", 0},
		{"behind all answers", ServerOptions{}, false, false, Answer{}, []transport.Frame{frame(2, answer2), frame(3, strings.Replace(answer2, "2,", "3,", 1)), frame(0, note)},
			"200 application/json named " + answer2, "200 application/json named " + strings.Replace(answer2, "2,", "3,", 1), "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(c.options)
				var p peer
				go p.serve(t, s)
				ask(t, s, "POST /mcp", request(1, "initialize"))
				conn := p.conns[0]
				in := " /mcp Mcp-Session-Id=" + conn.id
				two, three := ask(t, s, "POST"+in, request(2, "silent")), ask(t, s, "POST"+in, request(3, "silent"))
				conn.Answer(2, Answer{})
				conn.Answer(3, c.answer)
				conn.Answer(0, Answer{Status: 500}) // no exchange
				conn.Answer(9, Answer{Status: 500})
				var listened *asking
				if c.listens {
					listened = ask(t, s, "GET"+in, "")
				}
				synctest.Wait()
				if c.hangsUp {
					three.hangUp()
					synctest.Wait()
				}
				for _, f := range c.frames {
					if err := conn.Write(t.Context(), f); err != nil {
						t.Error(err)
					}
					synctest.Wait()
				}
				if got := two.String(); got != c.two {
					t.Errorf("exchange 2:\n%s\nwant\n%s", got, c.two)
				}
				if got := three.String(); got != c.three {
					t.Errorf("exchange 3:\n%s\nwant\n%s", got, c.three)
				}
				if c.listens && listened.String() != c.listened {
					t.Errorf("the standalone stream:\n%s\nwant\n%s", listened, c.listened)
				}
				if got := conn.Unsent(); got != c.unsent {
					t.Errorf("%d wait, want %d", got, c.unsent)
				}
				if three.String() == "200 …" {
					conn.Close()
					synctest.Wait()
					if got := three.String(); got != "503 mcprec: the session is over" {
						t.Errorf("behind Close: %s", got)
					}
				}
			})
		})
	}
}

// TestBreaks: what is left of a response that breaks off at a message, and who gets the message then.
func TestBreaks(t *testing.T) {
	const note, later = `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","method":"later"}`
	const answer = `{"jsonrpc":"2.0","id":2,"result":{}}`
	for _, c := range []struct {
		name       string
		stream     uint64 // 2: an open request; 0: the standalone stream
		listens    bool
		answer     Answer // of exchange 2
		said       bool   // a note goes out before
		frame      string
		half, open bool
		want       string // of the response
		last       string // the Last-Event-Id with which the client comes back
		back       string
	}{
		{"nobody listens", 0, false, Answer{}, false, note, true, false, "", "", "200 text/event-stream named event: message|id: 0_0|data: " + note + " …"},
		{"the standalone stream", 0, true, Answer{}, false, note, false, false, "200 cut text/event-stream named", "", "200 text/event-stream named event: message|id: 0_0|data: " + note + " …"},
		{"the standalone stream, within a message", 0, true, Answer{}, false, note, true, false, "200 cut text/event-stream named event: message|data: " + note[:15], "", "200 text/event-stream named event: message|id: 0_0|data: " + note + " …"},
		{"within a note, before anything is sent", 2, false, Answer{}, false, note, true, false, "200 cut text/event-stream named event: message|data: " + note[:15], "2_0", "400 mcprec: no event has the id 2_0"},
		{"within an answer", 2, false, Answer{}, false, answer, true, false, "200 cut application/json named " + answer[:18], "2_0", "400 mcprec: no event has the id 2_0"},
		{"within an answer that is open", 2, false, Answer{}, false, answer, true, true, "200 application/json named " + answer[:18] + " …", "2_0", "400 mcprec: no event has the id 2_0"},
		{"in front of an answer", 2, false, Answer{}, false, answer, false, false, "cut", "2_0", "400 mcprec: no event has the id 2_0"},
		{"in front of the first event", 2, false, Answer{Form: StreamForm, IDs: true}, false, answer, false, false, "200 cut text/event-stream named", "2_0", "400 mcprec: no event has the id 2_0"},
		{"behind an event without an id", 2, false, Answer{Form: StreamForm}, true, answer, false, false, "200 cut text/event-stream named event: message|data: " + note, "2_0", "400 mcprec: no event has the id 2_0"},
		{"behind an event with an id", 2, false, Answer{Form: StreamForm, IDs: true}, true, answer, false, false, "200 cut text/event-stream named event: message|id: 2_0|data: " + note, "2_0",
			"200 text/event-stream named event: message|id: 2_1|data: " + answer},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(ServerOptions{Standalone: true})
				var p peer
				go p.serve(t, s)
				ask(t, s, "POST /mcp", request(1, "initialize"))
				conn := p.conns[0]
				in := " /mcp Mcp-Session-Id=" + conn.id
				a := ask(t, s, "POST"+in, request(2, "silent"))
				conn.Answer(2, c.answer)
				if c.listens {
					a = ask(t, s, "GET"+in, "")
				}
				write := func(text string) {
					if err := conn.Write(t.Context(), transport.Frame{Stream: c.stream, Bytes: []byte(text)}); err != nil {
						t.Error(err)
					}
				}
				if c.said {
					write(note)
				}
				conn.Break(transport.Frame{Stream: c.stream, Bytes: []byte(c.frame)}, c.half, c.open)
				synctest.Wait()
				if got := a.String(); c.want != "" && got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
				line := "GET" + in
				if c.last != "" {
					line += " Last-Event-Id=" + c.last
				}
				back := ask(t, s, line, "")
				if got := back.String(); got != c.back {
					t.Errorf("back:\n%s\nwant\n%s", got, c.back)
				}
				write(later) // of a lost exchange: nowhere
				synctest.Wait()
				if got := conn.Unsent(); c.stream == 2 && !strings.Contains(c.back, answer) && got != 0 {
					t.Errorf("%d messages of a lost exchange wait", got)
				}
			})
		})
	}
}
