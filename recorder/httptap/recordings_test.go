package httptap

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
)

// visit is a request and the head of its response; no status: time passes instead.
type visit struct {
	method, path, session, asks string // asks: the method in the body
	status                      int
	gives, stream               string // the session id in the response, the events in its body
}

func posts(session, asks string, status int, gives string) visit {
	return visit{http.MethodPost, "/mcp", session, asks, status, gives, ""}
}

func gets(session string, status int, stream string) visit {
	return visit{http.MethodGet, "/mcp", session, "", status, "", stream}
}

// TestRecordingOfExchange names the recording of each exchange with a letter, in the order in
// which they began. The rows stand in groups whose rows differ in one condition.
func TestRecordingOfExchange(t *testing.T) {
	const begin, probe = "initialize", "server/discover"
	later := visit{}
	login := visit{http.MethodPost, "/login", "", "", 200, "", ""}
	remove := func(session string, status int) visit {
		return visit{http.MethodDelete, "/mcp", session, "", status, "", ""}
	}
	endpoint := gets("", 200, "event: endpoint\ndata: /messages?id=1\n\n")
	message := visit{http.MethodPost, "/messages?id=1", "", "ping", 202, "", ""}
	for _, c := range []struct {
		name   string
		o      Options
		visits []visit
		want   string
	}{
		{"refused and repeated", Options{}, []visit{posts("", begin, 401, ""), posts("", begin, 401, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaaa"},
		{"redirected and repeated", Options{}, []visit{posts("", begin, 307, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},
		{"accepted without an id and repeated", Options{}, []visit{posts("", begin, 200, ""), posts("", begin, 200, ""), posts("", "ping", 200, "")}, "aaa"},
		{"a stream is refused first", Options{}, []visit{gets("", 405, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},
		{"a page is given first", Options{}, []visit{gets("", 200, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},
		{"a login comes first", Options{}, []visit{login, posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},
		{"the server is asked first", Options{}, []visit{posts("", probe, 200, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},
		{"a message is accepted first", Options{}, []visit{posts("", "ping", 200, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, ""), posts("", "ping", 200, "")}, "abba"},
		{"a message is refused first", Options{}, []visit{posts("", "ping", 400, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aaa"},

		{"a stream after a message without a session", Options{}, []visit{posts("", "ping", 200, ""), gets("", 405, ""), posts("", "ping", 200, "")}, "aaa"},
		{"refused, then a message, then a session", Options{}, []visit{posts("", begin, 401, ""), posts("", "ping", 200, ""), posts("", begin, 200, "s"), posts("", "ping", 200, "")}, "aaba"},
		{"a page, then a message, then a session", Options{}, []visit{gets("", 200, ""), posts("", "ping", 200, ""), posts("", begin, 200, "s"), posts("", "ping", 200, "")}, "aaba"},

		{"any first message may begin a session", Options{}, []visit{posts("", "ping", 200, "s"), posts("s", "ping", 200, "")}, "aa"},
		{"a later message begins a session", Options{}, []visit{posts("", "ping", 200, ""), posts("", "ping", 200, "s"), posts("s", "ping", 200, ""), posts("", "ping", 200, "")}, "aaba"},
		{"the id is repeated", Options{}, []visit{posts("", begin, 200, "s"), posts("s", "ping", 200, "s"), posts("s", "ping", 200, "s")}, "aaa"},
		{"the id of a session that goes on is given again", Options{}, []visit{posts("", begin, 200, "s"), posts("", begin, 200, "s"), posts("s", "ping", 200, "")}, "aba"},
		{"another id is given to a session", Options{}, []visit{posts("", begin, 200, "s"), posts("s", begin, 200, "z"), posts("z", "ping", 200, ""), posts("s", "ping", 200, "")}, "aaba"},

		{"a session is ended", Options{}, []visit{posts("", begin, 200, "s"), remove("s", 200), posts("s", "ping", 404, ""), later, posts("s", "ping", 404, "")}, "aaab"},
		{"the end of a session is refused", Options{}, []visit{posts("", begin, 200, "s"), remove("s", 405), later, posts("s", "ping", 200, "")}, "aaa"},
		{"a session rests", Options{}, []visit{posts("", begin, 200, "s"), posts("s", "ping", 200, ""), later, posts("s", "ping", 200, "")}, "aaa"},
		{"an end without a session", Options{}, []visit{posts("", "ping", 200, ""), remove("", 200), later, posts("", "ping", 200, "")}, "aaa"},

		{"an endpoint", Options{}, []visit{endpoint, message, posts("", "ping", 200, "")}, "aab"},
		{"an endpoint is over", Options{}, []visit{endpoint, later, message}, "ab"},
		{"an endpoint after a refusal", Options{}, []visit{posts("", begin, 404, ""), endpoint, message}, "aaa"},
		{"an endpoint after a message", Options{}, []visit{posts("", "ping", 200, ""), endpoint, message, posts("", "ping", 200, "")}, "aaab"},
		{"a second endpoint counts for nothing", Options{}, []visit{gets("", 200, endpoint.stream+"event: endpoint\ndata: /other\n\n"), message, {http.MethodPost, "/other", "", "ping", 202, "", ""}}, "aab"},
		{"an endpoint in a response to a message", Options{}, []visit{{http.MethodPost, "/mcp", "", "ping", 200, "", endpoint.stream}, posts("", "ping", 200, ""), message}, "aaa"},
		{"an endpoint in a refusal", Options{}, []visit{gets("", 404, endpoint.stream), message, later, posts("", begin, 200, "s")}, "aaa"},
		{"a stream at an endpoint", Options{}, []visit{gets("", 200, "event: endpoint\ndata: /mcp\n\n"), gets("", 200, "event: endpoint\ndata: /mcp\n\n"), posts("", "ping", 202, "")}, "abb"},
		{"an endpoint within a session", Options{}, []visit{posts("", begin, 200, "s"), gets("s", 200, endpoint.stream), message}, "aaa"},

		{"split", Options{Split: true}, []visit{posts("", begin, 401, ""), posts("", "ping", 200, ""), posts("", begin, 200, "s"), posts("s", "ping", 200, ""), posts("", "ping", 200, "")}, "abccd"},
		{"together", Options{Together: true}, []visit{posts("", begin, 200, "s"), posts("", begin, 200, "z"), posts("s", "ping", 200, ""), remove("s", 200), later, endpoint, message, later, posts("", "ping", 200, "")}, "aaaaaaa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { recordingOfExchange(t, c.o, c.visits, c.want) })
		})
	}
}

func recordingOfExchange(t *testing.T, o Options, visits []visit, want string) {
	b := &bubble{tapped: &tapped{}}
	o.Open, o.Done, o.Path = b.open(t), b.done, "/mcp"
	b.tap = New(o)
	var now visit
	b.handler = b.tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if now.gives != "" {
			w.Header().Set("Mcp-Session-Id", now.gives)
		}
		if now.stream != "" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.stream)
	}))
	exchanges := 0
	for _, now = range visits {
		if now.status == 0 {
			time.Sleep(2 * linger)
			synctest.Wait()
			continue
		}
		r := httptest.NewRequest(now.method, now.path, http.NoBody)
		if now.asks != "" {
			r = httptest.NewRequest(now.method, now.path, strings.NewReader(`{"id":1,"method":"`+now.asks+`"}`))
			r.Header.Set("Content-Type", "application/json")
		}
		if now.session != "" {
			r.Header.Set("Mcp-Session-Id", now.session)
		}
		exchanges++
		r.Header.Set("Traceparent", fmt.Sprint(exchanges))
		b.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	b.tap.Close()
	got := make([]byte, exchanges)
	for i, log := range b.logs {
		for _, e := range log.Events {
			if info, _ := store.DecodePayload[store.HTTPInfo](e); e.Kind == store.HTTP && info.What == store.HTTPRequest {
				n := 0
				_, _ = fmt.Sscan(strings.Join(info.Header["Traceparent"], ""), &n)
				got[n-1] = byte('a' + i)
			}
		}
	}
	if string(got) != want || len(b.sums) != len(b.logs) {
		t.Errorf("recordings %s, want %s; %d of %d have ended", got, want, len(b.sums), len(b.logs))
	}
}
