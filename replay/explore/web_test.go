package explore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// events answers a POST with a stream: an event with an id and no data, the progress, and the
// response. A GET goes on after the event of its Last-Event-ID.
func events(written func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		id, after := "", 0
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			_, _ = fmt.Sscanf(last, "%1s-%d", &id, &after)
		} else {
			body, _ := io.ReadAll(r.Body)
			messages, _ := (transport.Frame{Bytes: body}).Messages()
			id = string(messages[0].ID)
		}
		for n, data := range []string{
			"", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p` + id + `","progress":1}}`,
			`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`,
		} {
			if n+1 > after {
				fmt.Fprintf(w, "id: %s-%d\ndata: %s\n\n", id, n+1, data)
				w.(http.Flusher).Flush()
			}
		}
		written()
	}
}

// ask makes the call with an id and reads the stream up to the response, which it resumes at
// most so many times. before is called with the head.
func ask(ctx context.Context, client *http.Client, id string, resumes int, before func()) error {
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t` + id + `","_meta":{"progressToken":"p` + id + `"}}}`
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/", strings.NewReader(body))
	last := ""
	for ; ; resumes-- {
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		before()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			line := lines.Text()
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				last = id
			}
			if strings.Contains(line, "result") {
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close()
			}
		}
		if resumes == 0 {
			return fmt.Errorf("no answer: %w", lines.Err())
		}
		req, _ = http.NewRequestWithContext(ctx, http.MethodGet, "http://server/", nil)
		req.Header.Set("Last-Event-ID", last)
	}
}

func idle() {}

// twoCalls is a plan of two clients of one server, which use the same ids.
func twoCalls(cuts, resumes int) Plan {
	return Plan{HTTP: &HTTP{Cuts: cuts}, Setup: func(r *Run) {
		r.Handle(events(idle))
		for _, id := range []string{"1", "2"} {
			r.Op("call "+id, func(ctx context.Context) error { return ask(ctx, r.HTTPClient(), id, resumes, idle) })
		}
		other := r.Pair(2).HTTPClient()
		r.Op("other", func(ctx context.Context) error { return ask(ctx, other, "1", resumes, idle) })
	}}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	if r := Search(t, twoCalls(0, 0)); r.Verdict != Pass || r.Coverage.Reversed < 20 {
		t.Errorf("without cuts:\n%s", r.Text())
	}
	if r := Search(t, twoCalls(2, 2)); r.Verdict != Pass {
		t.Errorf("two cuts, resumed:\n%s", r.Text())
	}
	r := Search(t, twoCalls(1, 0))
	if r.Verdict != CheckFailed || r.Shrunk.Held < r.Shrunk.Verified || !strings.Contains(r.Text(), "unexpected EOF") {
		t.Errorf("a cut, not resumed:\n%s", r.Text())
	}
	if !slices.ContainsFunc(r.Sequence, func(line string) bool { return strings.Contains(line, "cut POST tools/call") }) {
		t.Errorf("no cut in the drawing:\n%s", strings.Join(r.Sequence, "\n"))
	}
}

// A handler waits in Flush while the client leaves more events unread than the capacity.
func TestHTTPBackPressure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capacity int
		want     string
	}{{Unbounded, Pass}, {3, Pass}, {2, Hang}, {0, Hang}} {
		r := Search(t, Plan{
			HTTP: &HTTP{}, Capacities: []Capacity{{C2S: 0, S2C: c.capacity}}, Schedules: 5, Shrink: -1,
			Setup: func(r *Run) {
				written := make(chan struct{})
				r.Handle(events(func() { close(written) }))
				r.Op("call", func(ctx context.Context) error {
					return ask(ctx, r.HTTPClient(), "1", 0, func() { <-written })
				})
			},
		})
		if r.Verdict != c.want {
			t.Errorf("buffer %d: %s, want %s\n%s", c.capacity, r.Verdict, c.want, r.Text())
		}
	}
}

// A client that gives up ends the context of the handler, as a step.
func TestHTTPLeave(t *testing.T) {
	t.Parallel()
	r := Search(t, Plan{HTTP: &HTTP{}, Lawless: true, Setup: func(r *Run) {
		gone := make(chan struct{})
		r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
			if _, err := w.Write([]byte("x")); err == nil {
				r.Fail(errors.New("a write after the client has gone"))
			}
			close(gone)
		}))
		r.Op("call", func(ctx context.Context) error {
			resp, err := r.HTTPClient().Post("http://server/", "application/json", strings.NewReader(`{}`))
			if err != nil {
				return err
			}
			return resp.Body.Close()
		})
		r.Op("handler", func(context.Context) error { <-gone; return nil })
	}})
	if r.Verdict != Pass {
		t.Error(r.Text())
	}
}

// What a handler has flushed before it aborts arrives, and then the response breaks off. A handler
// that aborts before has given no response.
func TestHTTPAbort(t *testing.T) {
	t.Parallel()
	for _, flushes := range []bool{true, false} {
		r := Search(t, Plan{HTTP: &HTTP{}, Lawless: true, Schedules: 20, Setup: func(r *Run) {
			r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {}\n\n")
				if flushes {
					w.(http.Flusher).Flush()
				}
				panic(http.ErrAbortHandler)
			}))
			r.Op("call", func(ctx context.Context) error {
				resp, err := r.HTTPClient().Post("http://server/", "application/json", strings.NewReader(`{}`))
				if !flushes {
					if !errors.Is(err, io.EOF) {
						return fmt.Errorf("a response, or %w", err)
					}
					return nil
				}
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if text, err := io.ReadAll(resp.Body); string(text) != "data: {}\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
					return fmt.Errorf("%q, %w", text, err)
				}
				return nil
			})
		}})
		if r.Verdict != Pass {
			t.Error(r.Text())
		}
	}
}

// Recorded halves play over HTTP to each other, through cuts, and a schedule is the same again by its
// token. At SendingOrder the client has two calls of the same name in its hand.
func TestHTTPRecorded(t *testing.T) {
	t.Parallel()
	session := recording(strings.ReplaceAll(twoTools, ":two", ":one"))
	for _, level := range []Level{DeliveryOrder, SendingOrder} {
		plan := Plan{Session: session, Level: level, HTTP: &HTTP{Cuts: 2}, Schedules: 50, Setup: func(r *Run) {
			r.RecordedServer()
			r.RecordedClient()
			r.Op("end", func(context.Context) error { return r.Client().Close() }).AfterAll()
		}}
		if r := Search(t, plan); r.Verdict != Pass || r.Coverage.Reversed < 20 {
			t.Error(r.Text())
		}
	}
}

// The recording of a run over HTTP has the requests, responses, events and ends that a tap notes, and
// can be played over HTTP again.
func TestHTTPRecording(t *testing.T) {
	t.Parallel()
	cutsFirst := StrategyFunc(func(uint64, int, int) Chooser {
		return func(_ int, enabled []Step) int {
			return max(0, slices.IndexFunc(enabled, func(step Step) bool { return strings.Contains(step.Name(), " cut ") }))
		}
	})
	r := Search(t, Plan{HTTP: &HTTP{Cuts: 1}, Strategy: cutsFirst, Capacities: []Capacity{{S2C: Unbounded}}, Schedules: 2, Shrink: -1,
		Setup: func(r *Run) {
			r.Handle(events(idle))
			r.Op("call", func(ctx context.Context) error { return ask(ctx, r.HTTPClient(), "1", 1, idle) })
		},
		Check: func(r *Run) error {
			if len(r.course.choices) > 0 {
				return errors.New("there was a cut")
			}
			return nil
		},
	})
	var got strings.Builder
	for _, e := range r.Events {
		switch e.Kind {
		case store.HTTP:
			info, err := store.DecodePayload[store.HTTPInfo](e)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%d %v %s", e.Stream, e.Dir, info.What)
			if info.SSE != nil {
				fmt.Fprintf(&got, " %s", info.SSE.ID)
			}
			for _, name := range []string{"Last-Event-Id", "Content-Type"} {
				fmt.Fprintf(&got, " %s", strings.Join(info.Header[name], ""))
			}
		case store.Frame:
			fmt.Fprintf(&got, "%d %v message", e.Stream, e.Dir)
		default:
			continue
		}
		got.WriteByte('\n')
	}
	const want = `1 c2s request
1 c2s message
1 s2c response text/event-stream
1 s2c event 1-1
1 s2c broken
2 c2s request 1-1
2 s2c response text/event-stream
2 s2c event 1-2
2 s2c message
2 s2c event 1-3
2 s2c message
2 s2c end
`
	if lines := regexp.MustCompile(` +(\n| )`).ReplaceAllString(got.String(), "$1"); lines != want {
		t.Errorf("%s\nthe recording has\n%s\nwant\n%s", r.Text(), lines, want)
	}
	again := Search(t, Plan{Session: r.Events, HTTP: &HTTP{Cuts: 1}, Schedules: 20, Setup: func(r *Run) {
		r.RecordedServer()
		r.RecordedClient()
		r.Op("end", func(context.Context) error { return r.Client().Close() }).AfterAll()
	}})
	if again.Verdict != Pass {
		t.Error(again.Text())
	}
}
