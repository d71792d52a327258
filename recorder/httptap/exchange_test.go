package httptap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store/storetest"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// opening returns what starts recordings in the store.
func opening(t *testing.T, s store.Spooler, options ...recorder.Option) func(store.Header) *recorder.Recorder {
	return func(h store.Header) *recorder.Recorder {
		r, err := recorder.New(t.Context(), s, h, options...)
		if err != nil {
			t.Error(err)
			return recorder.Unrecorded(err)
		}
		return r
	}
}

// When the store fails the exchange goes on; what is lost is counted, and a frame that
// was open is cut, not damaged.
func TestRoundTripStoreFails(t *testing.T) {
	feed, out := io.Pipe()
	s := &storetest.Log{InMemory: true}
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("application/json", feed), nil
	}, Options{Open: opening(t, s)})
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, step := range []struct {
		text string
		fail error
	}{{`{"a":`, nil}, {`"b`, errors.New("disk full")}, {`b",`, nil}, {`"c":1}`, nil}} {
		s.Fail = step.fail
		go func() { _, _ = io.WriteString(out, step.text) }()
		buf := make([]byte, len(step.text))
		_, _ = io.ReadFull(resp.Body, buf)
		got += string(buf)
	}
	out.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	tt.tap.Close()
	if got != `{"a":"bb","c":1}` {
		t.Errorf("passed %q", got)
	}
	if len(tt.sums) != 1 || tt.sums[0].Lost == 0 || tt.sums[0].Err == nil {
		t.Errorf("summary %+v", tt.sums)
	}
	var log strings.Builder
	for _, e := range s.Events[1:] {
		log.WriteString(line(t, e))
	}
	want := `1 c2s request POST /mcp application/json
1 c2s {"id":1}
1 s2c response 200 application/json
1 s2c cut {"a":
0  lost {"frames":1,"bytes":5,"reason":"disk full","streams":["s2c"]}
0  lost {"frames":0,"bytes":6,"reason":"disk full","streams":["s2c"]}
1 s2c end
`
	if log.String() != want {
		t.Errorf("log:\n%swant:\n%s", log.String(), want)
	}
}

// forgetful is a spool that keeps nothing.
type forgetful struct{ frames, bytes int }

func (f *forgetful) Spool(context.Context, store.Event) (store.Spool, error) { return f, nil }

func (f *forgetful) Write(parts []store.Part) error {
	for _, p := range parts {
		if p.Kind == store.Frame || p.Cont {
			f.bytes += len(p.Payload)
		}
		if p.Kind == store.Frame {
			f.frames++
		}
	}
	return nil
}

func (f *forgetful) Close() error { return nil }

// A long body, whatever it is, needs no memory of its size.
func TestRoundTripLargeBody(t *testing.T) {
	const size = 24 << 20
	for name, c := range map[string]struct{ contentType, head string }{
		"frame": {"application/json", ""}, "event": {"text/event-stream", "event: message\ndata: "}, "other": {"text/plain", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // on a busy machine much may wait to be written
				f := &forgetful{}
				rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
					_, _ = io.Copy(io.Discard, r.Body)
					return answer(c.contentType, io.MultiReader(strings.NewReader(c.head), io.LimitReader(letters{}, size), strings.NewReader("\n\n"))), nil
				}, Options{Open: opening(t, f)})
				resp, err := ask(t, rt, `{}`)
				if err != nil {
					t.Fatal(err)
				}
				buf := make([]byte, 1<<20)
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf)
				synctest.Wait()
				runtime.GC() // what is garbage by now was not held
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(resp)
				if n != int64(size+len(c.head)+2) || err != nil {
					t.Errorf("passed %d bytes, %v", n, err)
				}
				tt.tap.Close()
				if name != "other" && (f.frames != 2 || f.bytes < size) {
					t.Errorf("recorded %d frames, %d bytes", f.frames, f.bytes)
				}
				if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 8<<20 {
					t.Errorf("%d MB more are in use", held>>20)
				}
			})
		})
	}
}

// letters is an endless text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Events that nearly all servers write cost no allocation each.
func TestEventAllocations(t *testing.T) {
	events := strings.Repeat("event: message\ndata: {\"jsonrpc\":\"2.0\"}\n\n", 10)
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("text/event-stream", repeat{events}), nil
	}, Options{Open: opening(t, &forgetful{})})
	resp, err := ask(t, rt, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(events))
	if n := testing.AllocsPerRun(100, func() { _, _ = resp.Body.Read(buf) }); n > 0 && !raceEnabled {
		t.Errorf("%v allocations for ten events", n)
	}
	resp.Body.Close()
	tt.tap.Close()
}

// repeat is a text without end.
type repeat struct{ text string }

func (r repeat) Read(p []byte) (int, error) { return copy(p, r.text), nil }

// scale returns the count of the mode: short, or that of a soak run.
func scale(short, soak int) int {
	if os.Getenv("MCPREC_NIGHT") == "" {
		return short
	}
	return soak
}

// Many clients at once, each with a session, a listening stream and calls that answer
// with events: every frame is recorded once, in its session, in its exchange's order.
func TestProxyManyStreams(t *testing.T) {
	clients, calls, events := scale(20, 200), scale(50, 50), 3
	var streams sync.Map // session → what its listening stream is to say
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("Mcp-Session-Id")
		switch {
		case r.Method == http.MethodGet:
			said, _ := streams.LoadOrStore(id, make(chan string))
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for s := range said.(chan string) {
				sse(w, "event: message\ndata: "+s+"\n\n")
			}
		case strings.Contains(string(body), "initialize"):
			w.Header().Set("Mcp-Session-Id", "s"+strings.TrimSuffix(strings.TrimPrefix(string(body), `{"initialize":`), "}"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		default:
			said, _ := streams.LoadOrStore(id, make(chan string))
			said.(chan string) <- string(body)
			for i := range events {
				sse(w, fmt.Sprintf("event: message\ndata: {\"n\":%d,\"of\":%s}\n\n", i, body))
			}
		}
	}, Options{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			id := fmt.Sprint("s", c)
			call(t, "POST", tt.url, "", fmt.Sprintf(`{"initialize":%d}`, c))
			listening := do(t, "GET", tt.url, id, "")
			for i := range calls {
				call(t, "POST", tt.url, id, fmt.Sprintf(`{"c":%d,"i":%d}`, c, i))
			}
			said, _ := streams.Load(id)
			close(said.(chan string))
			_, _ = io.Copy(io.Discard, listening.Body)
		})
	}
	all.Wait()
	tt.close()
	if len(tt.logs) != clients {
		t.Errorf("%d recordings of %d sessions", len(tt.logs), clients)
	}
	for _, s := range tt.logs {
		checkStreams(t, s.Events, calls, events)
	}
}

// checkStreams checks the log of one client of TestProxyManyStreams.
func checkStreams(t *testing.T, log []store.Event, calls, events int) {
	t.Helper()
	var whole store.Validator
	asked, answered, heard := map[uint64]string{}, map[uint64]int{}, 0
	for _, e := range log {
		if err := whole.Check(e); err != nil {
			t.Error(err)
		}
		var m struct {
			N  int
			Of json.RawMessage
		}
		switch {
		case e.Kind != store.Frame:
		case e.Dir == transport.ClientToServer:
			asked[e.Stream] = string(e.Payload)
		case json.Unmarshal(e.Payload, &m) == nil && m.Of != nil:
			if string(m.Of) != asked[e.Stream] || m.N != answered[e.Stream] {
				t.Errorf("exchange %d: event %d of %s, want %d of %s", e.Stream, m.N, m.Of, answered[e.Stream], asked[e.Stream])
			}
			answered[e.Stream]++
		case asked[e.Stream] == "":
			heard++
		}
	}
	for stream, n := range answered {
		if n != events {
			t.Errorf("exchange %d: %d events", stream, n)
		}
	}
	if len(asked) != calls+1 || len(answered) != calls || heard != calls {
		t.Errorf("%d asked, %d answered, %d heard; want %d calls", len(asked), len(answered), heard, calls)
	}
}

// Whichever of an exchange's writes the disk does not answer, the client has its whole
// answer while the disk still waits, and the log has all of it, once and in order.
func TestProxyStuckWrite(t *testing.T) {
	for _, form := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"events", func(w http.ResponseWriter, r *http.Request) {
			for n := range 200 { // in several pieces, as it comes
				sse(w, fmt.Sprintf("data: {\"n\":%d}\n\n", n))
			}
		}},
		{"one frame", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":1,"result":"`+strings.Repeat("x", 3*bufferSize)+`"}`)
		}},
		{"text", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such thing", http.StatusNotFound) }},
		{"nothing", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted) }},
	} {
		smooth, writes := stuckAt(t, &storetest.Disk{}, 0, form.answer)
		for n := 2; n <= writes; n++ { // the first is the header's
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprint(form.name, n, before), func(t *testing.T) {
					t.Parallel()
					if log, _ := stuckAt(t, &storetest.Disk{Before: before}, n, form.answer); log != smooth {
						t.Errorf("log:\n%.999s\nwant:\n%.999s", log, smooth)
					}
				})
			}
		}
	}
}

// stuckAt returns the log of one exchange, one of whose writes waits until the client has
// all, and how many writes there were.
func stuckAt(t *testing.T, d *storetest.Disk, n int, answer http.HandlerFunc) (log string, writes int) {
	t.Helper()
	d.Stuck, d.Wait = make(chan struct{}), storetest.Nth(n, -1)
	server := httptest.NewServer(answer)
	defer server.Close()
	target, _ := url.Parse(server.URL + "/mcp")
	tap := New(Options{Path: "/mcp", Open: opening(t, d)})
	proxy := httptest.NewServer(tap.Proxy(ProxyOptions{Target: target}))
	own := &http.Transport{} // servers of other tests close what the default one has idle
	want := post(t, own, server.URL)
	if got := post(t, own, proxy.URL); got != want {
		t.Errorf("the client got %.99q, want %.99q", got, want)
	}
	close(d.Stuck)
	proxy.Close()
	tap.Close()
	for _, e := range d.Events[1:] {
		if e.Kind != store.Note {
			log += line(t, e)
		}
	}
	return log, d.Writes - 1 // without that of the log's end
}

func post(t *testing.T, over *http.Transport, url string) string {
	t.Helper()
	req, _ := http.NewRequest("POST", url+"/mcp", strings.NewReader(`{"id":1}`))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "Mcp-Session-Id": {"s"}}
	resp, err := over.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer over.CloseIdleConnections()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
