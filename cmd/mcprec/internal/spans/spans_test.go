package spans

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// collector answers requests as its script says, and keeps what it took.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	script []func(w http.ResponseWriter, r *http.Request) // nil, or at its end: it takes the spans
	spans  []string
	header http.Header
	tries  int
	took   chan struct{}
}

func newCollector(t *testing.T, script ...func(http.ResponseWriter, *http.Request)) *collector {
	c := &collector{script: script, took: make(chan struct{}, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tries++
		c.header = r.Header.Clone()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/base/v1/traces" || r.Method != http.MethodPost {
			t.Errorf("%s %s, %v", r.Method, r.URL.Path, err)
		}
		if len(c.script) > 0 {
			answer := c.script[0]
			c.script = c.script[1:]
			answer(w, r)
			return
		}
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						Name   string
						Status struct{ Code int }
					}
				}
			}
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		for _, r := range request.ResourceSpans {
			for _, s := range r.ScopeSpans[0].Spans {
				c.spans = append(c.spans, strings.TrimSuffix(fmt.Sprint(s.Name, " ", s.Status.Code), " 0"))
			}
		}
		fmt.Fprint(w, "{}")
		c.took <- struct{}{}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) target(t *testing.T, headers string) Target {
	target, err := ParseTarget(c.URL+"/base", headers)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// play gives a session to an exporter: n calls with answers, and one without.
func play(s *Session, n int) {
	header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Transport: "stdio"}
	seq := uint64(1)
	s.Apply(store.Event{Seq: seq, Kind: store.Opened, Payload: header.Encode()})
	say := func(dir transport.Direction, text string) {
		seq++
		s.Apply(store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: []byte(text)})
	}
	for i := range n {
		say(transport.ClientToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"call/%d"}`, i, i))
		say(transport.ServerToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i))
	}
	say(transport.ClientToServer, `{"jsonrpc":"2.0","id":"x","method":"open"}`)
}

func status(code int, retryAfter string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, `{"code":8,"message":"not now"}`)
	}
}

// TestSends: calls leave while the session goes on, the rest at its end, with the user's headers.
func TestSends(t *testing.T) {
	c := newCollector(t)
	x := New(c.target(t, "Authorization=Basic%20eA%3D%3D, x-key = v=1 "), "0", nil)
	s := x.Session()
	play(s, 2)
	<-c.took // before the end of the session
	s.End()
	sum := x.Close(time.Minute)
	if want := []string{"call/0", "call/1", "open 2", "mcp session"}; !slices.Equal(c.spans, want) || sum != (Summary{Sent: 4}) {
		t.Errorf("the collector took %q, %+v", c.spans, sum)
	}
	if h := c.header; h.Get("Authorization") != "Basic eA==" || h.Get("X-Key") != "v=1" || h.Get("User-Agent") != "mcprec/0" || h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
}

// TestFaults: what becomes of spans when the collector does not take them.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []func(http.ResponseWriter, *http.Request)
		tries  int
		want   Summary
		err    string
	}{
		{"429, and then it takes them", []func(http.ResponseWriter, *http.Request){status(429, "0")}, 2, Summary{Sent: 4}, ""},
		{"500 with a pause", []func(http.ResponseWriter, *http.Request){status(500, "1")}, 2, Summary{Sent: 4}, ""},
		{"503 with a date", []func(http.ResponseWriter, *http.Request){status(503, "Fri, 02 Jan 1970 00:00:00 GMT")}, 2, Summary{Sent: 4}, ""},
		{"a broken connection", []func(http.ResponseWriter, *http.Request){func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}, 2, Summary{Sent: 4}, ""},
		{"400 is for good", []func(http.ResponseWriter, *http.Request){status(400, "")}, 1, Summary{Dropped: 4}, "the collector answered 400 Bad Request: not now"},
		{"a redirect is not followed", []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/base/v1/traces", http.StatusTemporaryRedirect)
		}}, 1, Summary{Dropped: 4}, "the collector answered 307 Temporary Redirect"},
		{"some are rejected", []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`)
		}}, 1, Summary{Sent: 1, Dropped: 3}, `the collector rejected some: "too old"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCollector(t, tt.script...)
			told := make(chan error, 10)
			x := start(c.target(t, ""), "0", func(err error) { told <- err }, time.Hour) // one batch
			s := x.Session()
			play(s, 2)
			s.End()
			sum := x.Close(time.Minute)
			err := sum.Err
			sum.Err = nil
			if c.tries != tt.tries || sum != tt.want || fmt.Sprint(err) != cmpText(tt.err) {
				t.Errorf("%d tries, %+v, %v", c.tries, sum, err)
			}
			if !strings.Contains(tt.name, "rejected") && <-told == nil { // the first failure
				t.Error("no report")
			}
		})
	}
}

func cmpText(text string) string {
	if text == "" {
		return "<nil>"
	}
	return text
}

// TestNeverWaits: a collector that answers nothing costs the session nothing, and what finds no
// room is dropped and counted.
func TestNeverWaits(t *testing.T) {
	c := newCollector(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	asked := make(chan struct{})
	first := c.script[0]
	c.script[0] = func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		first(w, r)
	}
	x := start(c.target(t, ""), "0", nil, 0)
	s := x.Session()
	play(s, 1)
	<-asked // with the first span
	play(x.Session(), maxQueued+10)
	sum := x.Close(0)
	if want := uint64(1 + maxQueued + 10); sum.Sent != 0 || sum.Dropped != want || sum.Err == nil {
		t.Errorf("%+v, want %d dropped", sum, want)
	}
}

// TestLargeSpans: the queue is bounded in bytes, too.
func TestLargeSpans(t *testing.T) {
	x := start(Target{URL: nil}, "0", nil, time.Hour)
	header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Transport: "stdio"}
	s := x.Session()
	s.Apply(store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()})
	for i := range 5 {
		name := strings.Repeat("x", 1<<20)
		s.Apply(store.Event{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, i, name)})
		s.Apply(store.Event{Seq: 3, Kind: store.Frame, Dir: transport.ServerToClient, Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i)})
	}
	if x.held > maxHeld || x.sum.Dropped == 0 {
		t.Errorf("%d bytes are held, %d dropped", x.held, x.sum.Dropped)
	}
	x.stop()
	<-x.ended
}

// TestParseTarget reads URLs and headers.
func TestParseTarget(t *testing.T) {
	for _, tt := range []struct{ url, headers, want string }{
		{"http://localhost:4318", "", "http://localhost:4318/v1/traces"},
		{"https://h/otlp/", "a=b", "https://h/otlp/v1/traces"},
		{"http://h/v1/traces", "a=b,", "http://h/v1/traces"},
		{"localhost:4318", "", "want the URL of a collector"},
		{"ftp://u:secret@h", "", "want the URL of a collector"},
		{"http://h", "a", `"a" is none`},
		{"http://h", "a b=c", `"a b" is none`},
		{"http://h", "a=%zz", `"a" is none`},
		{"http://h", "a=%0d%0ab", `"a" is none`},
	} {
		target, err := ParseTarget(tt.url, tt.headers)
		if err == nil && target.URL.String() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: %v, %v; want %s", tt.url, tt.headers, target.URL, err, tt.want)
		}
	}
}

// TestRetryAfter: seconds, dates, and a bound.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "3600": longestWait, "-1": 0, "soon": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
