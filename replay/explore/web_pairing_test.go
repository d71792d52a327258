package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/mcp"
)

// twins are two live calls that have the same id at the same time, each in an exchange of its own. The client
// breaks a rule by that, and the server none: it answers each call in its exchange, the second call before the
// first has come.
func twins(stream bool) Plan {
	return Plan{HTTP: &HTTP{}, Excuse: TheClient, Setup: func(r *Run) {
		r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			const answer = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
			if stream {
				w.Header().Set("Content-Type", mcp.MediaEventStream)
				_, _ = fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, answer)
				return
			}
			w.Header().Set("Content-Type", mcp.MediaJSON)
			_, _ = io.WriteString(w, answer)
		}))
		for _, name := range []string{"one", "two"} {
			r.Op(name, func(context.Context) error {
				body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","_meta":{"progressToken":1}}}`
				resp, err := r.HTTPClient().Post("http://server/mcp", mcp.MediaJSON, strings.NewReader(body))
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close()
			})
		}
	}}
}

// Of two open calls with the same id an answer belongs to the one whose exchange it is in, and so does progress.
func TestTwoOpenCallsOfOneID(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		if r := Search(t, twins(stream)); r.Verdict != Pass {
			t.Errorf("stream %v:\n%s", stream, r.Text())
		}
	}
}

// A run that a plan with HTTP keeps is a session in which package check finds no fault that the run did not have.
func TestKeptHTTPRunIsSound(t *testing.T) {
	t.Parallel()
	for _, capacity := range []Capacity{{S2C: Unbounded}, {}} {
		plan := twoCalls(0, 0)
		plan.Setup = func(r *Run) {
			r.Handle(events(idle))
			for _, id := range []string{"1", "2"} {
				r.Op("call "+id, func(ctx context.Context) error { return ask(ctx, r.HTTPClient(), id, 0, idle) })
			}
		}
		plan.Capacities, plan.Schedules, plan.Shrink = []Capacity{capacity}, 10, -1
		plan.Check = func(r *Run) error {
			r.describe()
			fold := check.New(check.Gate{}, func(f check.Finding) {
				if f.Rule[0] == 'U' {
					t.Errorf("buffer %v: %v", capacity, f)
				}
			})
			delivered := 0
			for _, e := range r.outcome.recording {
				if e.Kind == store.Delivered && e.Stream != 0 {
					delivered++
				}
			}
			if err := timeline.Project(timeline.Steps(jsonl.Each(r.outcome.recording)), fold); err != nil {
				return err
			}
			fold.Close(0)
			if delivered == 0 {
				t.Error("no delivered event names its exchange")
			}
			return nil
		}
		if r := Search(t, plan); r.Verdict != Pass {
			t.Error(r.Text())
		}
	}
}

// A call whose exchange has come to its end is not said to be owed by a server that could not answer it any
// more, or did.
func TestForgoneResponse(t *testing.T) {
	t.Parallel()
	stream := func(w http.ResponseWriter, data string) {
		w.Header().Set("Content-Type", mcp.MediaEventStream)
		_, _ = io.WriteString(w, data)
		_ = http.NewResponseController(w).Flush()
	}
	const answer = "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		reads  bool
		cuts   int
		want   string
	}{
		"closed with the answer in it": {
			func(w http.ResponseWriter, req *http.Request) { stream(w, ""); stream(w, answer) }, false, 0,
			`the server read tools/call "x"#1 at step 2, and answered it, but the client closed the response after step 3, with the answer unread in it`,
		},
		"closed before the answer": {
			func(w http.ResponseWriter, req *http.Request) { stream(w, ""); <-req.Context().Done() }, false, 0,
			`the server read tools/call "x"#1 at step 2, and the client closed the response after step 3, before the answer came`,
		},
		"a whole answer, closed": {
			func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", mcp.MediaJSON)
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			}, false, 0, `with the answer unread in it`,
		},
		"refused": {
			func(w http.ResponseWriter, req *http.Request) { w.WriteHeader(http.StatusNotFound) }, true, 0,
			`the server read tools/call "x"#1 at step 2, and refused it with HTTP status 404`,
		},
		"an empty stream": {
			func(w http.ResponseWriter, req *http.Request) { stream(w, "") }, true, 0,
			`the server read tools/call "x"#1 at step 2, and ended the response at step 4 without the answer`,
		},
		"accepted": {
			func(w http.ResponseWriter, req *http.Request) { w.WriteHeader(http.StatusAccepted) }, true, 0,
			`and ended the response at step 3 without the answer`,
		},
		"aborted": {
			func(w http.ResponseWriter, req *http.Request) { stream(w, ""); panic(http.ErrAbortHandler) }, true, 0,
			`and the response broke off at step 4, before the answer came; the client has not resumed it`,
		},
		"cut": {
			func(w http.ResponseWriter, req *http.Request) { stream(w, "id: 1\n\n"); <-req.Context().Done() }, true, 1,
			`before the answer came; the client has not resumed it`,
		},
	} {
		r := Search(t, Plan{HTTP: &HTTP{Cuts: test.cuts}, Schedules: 10, Shrink: -1, Setup: func(r *Run) {
			r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				test.handle(w, req)
			}))
			r.Op("call", func(ctx context.Context) error {
				resp, err := r.HTTPClient().Post("http://server/mcp", mcp.MediaJSON, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
				if err != nil {
					return err
				}
				if test.reads {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
				_ = resp.Body.Close()
				<-ctx.Done() // for the answer, which it waits for elsewhere
				return ctx.Err()
			})
		}})
		text := r.Text()
		if r.Verdict != Hang || !strings.Contains(r.Explanation, test.want) || strings.Contains(text, "not sent: ") || strings.Contains(text, "owes") {
			t.Errorf("%s: want %s\n%s", name, test.want, text)
		}
	}
}
