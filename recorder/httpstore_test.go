package recorder

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/store"
)

// opening returns what starts recordings in the store.
func opening(t *testing.T, s store.Spooler, options ...Option) func(store.Header) *Recorder {
	return func(h store.Header) *Recorder {
		r, err := New(t.Context(), s, h, options...)
		if err != nil {
			t.Error(err)
			return Unrecorded(err)
		}
		return r
	}
}

// When the store fails the exchange goes on; what is lost is counted, and a frame that
// was open is cut, not damaged.
func TestRoundTripStoreFails(t *testing.T) {
	feed, out := io.Pipe()
	s := &spool{}
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return answer("application/json", feed), nil
	}, HTTPOptions{Open: opening(t, s, holding(newBudget(0)))})
	resp, err := ask(t, rt, `{"id":1}`)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, step := range []struct {
		text string
		fail error
	}{{`{"a":`, nil}, {`"b`, errors.New("disk full")}, {`b",`, nil}, {`"c":1}`, nil}} {
		s.fail = step.fail
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
	for _, e := range s.events[1:] {
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
				}, HTTPOptions{Open: opening(t, f)})
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
	}, HTTPOptions{Open: opening(t, &forgetful{})})
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
