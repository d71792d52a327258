package httptap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/mcprec/mcprec/recorder"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
)

// answerer is a server without a network.
type answerer func(*http.Request) (*http.Response, error)

func (f answerer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer returns a response of unknown length.
func answer(contentType string, body io.Reader) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(body), ContentLength: -1}
}

// tapClient returns the client's face of a tap on a server, and its logs.
func tapClient(t *testing.T, next answerer, o Options, options ...recorder.Option) (http.RoundTripper, *tapped) {
	tt := &tapped{}
	if o.Done = tt.done; o.Open == nil {
		o.Open = tt.open(t, options...)
	}
	tt.tap = New(o)
	t.Cleanup(tt.tap.Close)
	return tt.tap.RoundTripper(next), tt
}

func ask(t *testing.T, rt http.RoundTripper, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://host/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return rt.RoundTrip(req)
}

// A transport that finds its connection closed sends the body once more: it is one
// frame.
func TestRoundTripSentAgain(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.CopyN(io.Discard, r.Body, 3)
		r.Body.Close()
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(again)
		return answer("application/json", bytes.NewReader(b)), err
	}, Options{})
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != `{"id":1}` {
		t.Errorf("read %q", b)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 application/json
1 s2c {"id":1}
1 s2c end
`)
}

// A request whose length its client does not know.
func TestRoundTripUnknownLength(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		return answer("application/json", bytes.NewReader(b)), err
	}, Options{Path: "/mcp"})
	req, _ := http.NewRequest("POST", "http://host/mcp", struct{ io.Reader }{strings.NewReader(`{"id":1}`)})
	req.Header.Set("Content-Type", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 application/json
1 s2c {"id":1}
1 s2c end
`)
}

// Without a path the looks alone say what is MCP's.
func TestRoundTripLogin(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("application/json", strings.NewReader(`{"client_secret":"sesame"}`)), nil
	}, Options{})
	req, _ := http.NewRequest("POST", "http://host/register", strings.NewReader(`{"client_name":"x"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.want(t, `
1 c2s request POST /register application/json other
1 c2s body "{\"client_name\":\"x\"}"
1 s2c response 200 application/json
1 s2c body "{\"client_secret\":\"sesame\"}"
1 s2c end
`)
}

func TestRoundTripFails(t *testing.T) {
	rt, tt := tapClient(t, func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, Options{})
	if _, err := ask(t, rt, `{"id":1}`); err == nil || err.Error() != "no route" {
		t.Errorf("error %v", err)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c none because
`)
}

// A client that does not read to the end has hung up, unless all has come.
func TestRoundTripClosedEarly(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		resp := answer("application/json", strings.NewReader(`{"id":1}`))
		resp.ContentLength = 8
		return resp, nil
	}, Options{})
	for _, n := range []int{8, 3} {
		resp, err := ask(t, rt, `{"id":1}`)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(resp.Body, make([]byte, n))
		resp.Body.Close()
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 application/json
1 s2c {"id":1}
1 s2c end
2 c2s request POST /mcp application/json
2 c2s {"id":1}
2 s2c response 200 application/json
2 s2c cut {"i
2 c2s abort
`)
}

// A reader that is slow to take an event leaves a trace.
func TestRoundTripSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return answer("text/event-stream", io.MultiReader(strings.NewReader("event: message\ndata: 1\n\n"), strings.NewReader("event: message\ndata: 2\n\n"))), nil
		}, Options{})
		resp, err := ask(t, rt, `{"id":1}`)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		_, _ = resp.Body.Read(buf)
		time.Sleep(2 * recorder.BlockedThreshold)
		_, _ = io.Copy(io.Discard, resp.Body)
		tt.tap.Close()
		var got []store.DeliveredInfo
		for _, e := range tt.logs[0].Events {
			if e.Kind == store.Delivered {
				info, err := store.DecodePayload[store.DeliveredInfo](e)
				if err != nil || e.Stream != 1 {
					t.Errorf("stream %d, %v", e.Stream, err)
				}
				got = append(got, info)
			}
		}
		if want := (store.DeliveredInfo{Upto: 5, Blocked: 2 * recorder.BlockedThreshold}); len(got) != 1 || got[0] != want {
			t.Errorf("delivered %+v, want %+v", got, want)
		}
	})
}

// The end of an exchange counts the bytes of its last chunk, too, with which it is written.
func TestRoundTripLimitAtEnd(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		resp := answer("application/json", strings.NewReader(`{"id":1,"result":{}}`))
		resp.ContentLength = 20
		return resp, nil
	}, Options{}, recorder.MaxFrame(4))
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.tap.Close()
	var dropped []int64
	for _, e := range tt.logs[0].Events {
		if info, _ := store.DecodePayload[store.HTTPInfo](e); e.Kind == store.HTTP && info.What == store.HTTPEnd {
			dropped = append(dropped, info.Dropped)
		}
	}
	if !slices.Equal(dropped, []int64{4 + 16}) {
		t.Errorf("the ends say %d", dropped)
	}
}

func TestRoundTripLimit(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("text/event-stream", strings.NewReader("data: 123\n\ndata: 123456\n\n")), nil
	}, Options{}, recorder.MaxFrame(4))
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.tap.Close()
	last := tt.logs[0].Events[len(tt.logs[0].Events)-2]
	if info, err := store.DecodePayload[store.HTTPInfo](last); info.Dropped != 4+2 {
		t.Errorf("dropped %d, %v", info.Dropped, err)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id
0  lost {"frames":1,"bytes":4,"reason":"event 3 is cut after 4 B","streams":["c2s"]}
1 s2c response 200 text/event-stream
1 s2c event ["data: "]
1 s2c 123
1 s2c event ["data: "]
1 s2c 1234
0  lost {"frames":1,"bytes":2,"reason":"event 9 is cut after 4 B","streams":["s2c"]}
1 s2c end
`)
}

func TestRoundTripLimitText(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("text/plain", io.MultiReader(strings.NewReader("123"), strings.NewReader("45"), strings.NewReader("6"))), nil
	}, Options{}, recorder.MaxFrame(4))
	resp, err := ask(t, rt, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {}
1 s2c response 200 text/plain
1 s2c body "123"
1 s2c body "4"
1 s2c end
`)
}

// The tap ends before the exchange: the log is whole, and the bytes pass on.
func TestRoundTripTapCloses(t *testing.T) {
	feed, out := io.Pipe()
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("application/json", feed), nil
	}, Options{})
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(out, `{"id":`) }()
	_, _ = io.ReadFull(resp.Body, make([]byte, 6))
	tt.tap.Close()
	go func() { _, _ = io.WriteString(out, `1}`); out.Close() }()
	if b, err := io.ReadAll(resp.Body); string(b) != "1}" || err != nil {
		t.Errorf("then %q, %v", b, err)
	}
	if resp, err := ask(t, rt, `{"id":2}`); err != nil || resp.StatusCode != 200 {
		t.Errorf("after the end: %v", err)
	}
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 application/json
1 s2c cut {"id":
1  left
`)
}

// Few clients say when their session ends: the one that has rested the longest makes
// room.
func TestRoundTripManySessions(t *testing.T) {
	n := 0
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		resp := answer("application/json", strings.NewReader(`{}`))
		n++
		resp.Header.Set("Mcp-Session-Id", fmt.Sprint("s", n))
		return resp, nil
	}, Options{})
	for range maxRecordings + 1 {
		resp, err := ask(t, rt, `{"id":1,"method":"initialize"}`)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	tt.tap.closing.Wait()
	if len(tt.sums) != 1 || len(tt.logs) != maxRecordings+1 {
		t.Fatalf("%d of %d recordings have ended", len(tt.sums), len(tt.logs))
	}
	log := tt.logs[0].Events
	if last := string(log[len(log)-2].Payload); !strings.Contains(last, "other sessions need its place") {
		t.Errorf("the first ends with %s", last)
	}
}

// A store that is slow to take recordings in: sessions do not begin faster than that,
// or the process has no file left for anything.
func TestRoundTripSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &slowToClose{}
		rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			resp := answer("application/json", strings.NewReader(`{}`))
			n++
			resp.Header.Set("Mcp-Session-Id", fmt.Sprint("s", n))
			return resp, nil
		}, Options{Open: opening(t, s)})
		for range 2 * (maxRecordings + maxEnding) {
			resp, err := ask(t, rt, `{"id":1,"method":"initialize"}`)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		tt.tap.Close()
		if s.open != 0 || s.most > maxRecordings+maxEnding {
			t.Errorf("%d spools were open at once, %d are", s.most, s.open)
		}
	})
}

// slowToClose are spools that take long to close.
type slowToClose struct {
	mu         sync.Mutex
	open, most int
}

func (s *slowToClose) Spool(context.Context, store.Event) (store.Spool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.most = max(s.most, s.open)
	return s, nil
}

func (s *slowToClose) Write([]store.Part) error { return nil }

func (s *slowToClose) Close() error {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}

func TestRoundTripSplit(t *testing.T) {
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("application/json", strings.NewReader(`{}`)), nil
	}, Options{Split: true})
	for range 2 {
		resp, err := ask(t, rt, `{"id":1}`)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	tt.tap.Close()
	if len(tt.logs) != 2 || len(tt.sums) != 2 || tt.sums[0].Frames != 2 {
		t.Errorf("%d recordings, %+v", len(tt.logs), tt.sums)
	}
}

// tapHandler serves the handler's tapped face.
func tapHandler(t *testing.T, h http.HandlerFunc) *tapped {
	t.Helper()
	tt := &tapped{}
	tt.tap = New(Options{Open: tt.open(t), Done: tt.done})
	tt.server = httptest.NewServer(tt.tap.Handler(h))
	tt.proxy, tt.url = tt.server, tt.server.URL+"/mcp"
	tt.server.Config.ErrorLog = nil
	t.Cleanup(tt.close)
	return tt
}

func TestHandler(t *testing.T) {
	tt := tapHandler(t, sessions())
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	call(t, "POST", tt.url, "s1", `{"method":"initialized"}`)
	call(t, "GET", tt.url, "s1", "")
	call(t, "DELETE", tt.url, "s1", "")
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1,"method":"initialize"}
1 s2c response 200 s1 application/json
1 s2c {"id":1}
1 s2c end
2 c2s request POST /mcp s1 application/json
2 c2s {"method":"initialized"}
2 s2c response 202
2 s2c end
3 c2s request GET /mcp s1
3 s2c response 200 text/event-stream
3 s2c event ["id: 1" "data: "]
3 s2c end
4 c2s request DELETE /mcp s1
4 s2c response 200
4 s2c end
`)
}

// A handler that flushes, one that writes nothing, and one that gives up.
func TestHandlerEnds(t *testing.T) {
	tt := tapHandler(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/flush":
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "data: 1\n\n")
		case "/abort":
			sse(w, "data: 2\n\n")
			panic(http.ErrAbortHandler)
		}
	})
	for _, path := range []string{"/flush", "/nothing", "/abort"} {
		resp := do(t, "GET", tt.server.URL+path, "s", "")
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	tt.want(t, `
0  note {"text":"begins in the middle: the beginning of MCP session s was not seen"}
1 c2s request GET /flush s
1 s2c response 200 text/event-stream
1 s2c event ["data: "]
1 s2c 1
1 s2c end
2 c2s request GET /nothing s
2 s2c response 200
2 s2c end
3 c2s request GET /abort s
3 s2c response 200 text/event-stream
3 s2c event ["data: "]
3 s2c 2
3 s2c broken because
`)
}
