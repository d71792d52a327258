package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// resuming is a client whose call is resumed each second, and a server that ends each stream behind an
// event with a new id. A discovery before it is refused, and the client goes on.
func resuming(r *Run) {
	events := 0
	r.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if strings.Contains(string(body), "server/discover") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		events++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %d\ndata: \n\n", events)
	}))
	r.Op("client", func(ctx context.Context) error {
		send := func(method, body, last string) (id string, err error) {
			req, _ := http.NewRequestWithContext(ctx, method, "http://server/mcp", strings.NewReader(body))
			req.Header.Set("Last-Event-ID", last)
			resp, err := r.HTTPClient().Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			id, _, _ = strings.Cut(strings.TrimPrefix(string(text), "id: "), "\n")
			return id, err
		}
		if _, err := send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, ""); err != nil {
			return err
		}
		id, err := send(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`, "")
		for err == nil {
			time.Sleep(time.Second)
			id, err = send(http.MethodGet, "", id)
		}
		return err
	})
}

// A client that resumes its stream for ever hangs: what it waits for is told, and what came meanwhile.
// A refused request before it is not what it waits for.
func TestResumedForEver(t *testing.T) {
	t.Parallel()
	r := Search(t, Plan{HTTP: &HTTP{}, Setup: resuming, Schedules: 1, Shrink: -1, Horizon: 10 * time.Minute})
	notes := strings.Join(r.Notes, "\n")
	if r.Verdict != Hang || !strings.Contains(r.Explanation, `the server read tools/call "x" by client#1 at step`) ||
		!strings.Contains(notes, "for 10m0s of virtual time nothing but") || !strings.Contains(notes, `c2s GET (resumes POST tools/call "x" by client`) {
		t.Errorf("want a hang of tools/call, and what passed\n%s", r.Text())
	}
}

// A client that asks the same for ever, with pauses or without, has a verdict after the last step it may do.
func TestPollsForEver(t *testing.T) {
	t.Parallel()
	for pause, passed := range map[time.Duration]string{0: "0s of virtual time", time.Second: "of virtual time"} {
		r := Search(t, Plan{Steps: 3000, Setup: func(r *Run) {
			client, _ := pair(r)
			r.Op("poll", func(ctx context.Context) error {
				for {
					if _, err := client.call(ctx, "tasks/get", `{}`); err != nil {
						return err
					}
					time.Sleep(pause)
				}
			})
		}})
		if r.Verdict != Undecided || !strings.Contains(r.Explanation, "after 3000 steps and") || !strings.Contains(r.Explanation, passed) ||
			!strings.Contains(r.Explanation, "«c2s tasks/get by poll»") {
			t.Errorf("with a pause of %v: want that it is undecided, and what came again\n%s", pause, r.Text())
		}
	}
}

// What a run costs grows with its steps, however many exchanges it has had.
func TestFinishedExchangesAreForgotten(t *testing.T) {
	t.Parallel()
	most := 0
	Search(t, Plan{HTTP: &HTTP{}, Schedules: 1, Shrink: -1, Horizon: 10 * time.Minute, Setup: func(r *Run) {
		resuming(r)
		r.Go(func(ctx context.Context) {
			for ctx.Err() == nil {
				time.Sleep(time.Minute)
				r.peers.gate.Lock()
				most = max(most, len(r.peers.gate.Live()))
				r.peers.gate.Unlock()
			}
		})
	}})
	if most == 0 || most > 5 {
		t.Errorf("%d lanes are looked through at each step, want the pair's two and those of the last exchanges", most)
	}
}
