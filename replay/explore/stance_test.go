package explore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// after is an operation that gets its response and then waits for something else.
func after(r *Run) {
	client, _ := pair(r)
	r.Op("call", func(ctx context.Context) error {
		if err := client.tool(ctx, "x"); err != nil {
			return err
		}
		<-ctx.Done() // nobody does what it waits for
		return ctx.Err()
	})
}

// dialog is a client that answers the server when its user has, who is not asked.
func dialog(r *Run) {
	client, server := pair(r)
	yes := make(chan int)
	client.request = func(ctx context.Context, m transport.Message) {
		select {
		case <-yes:
			client.answer(ctx, m, `{}`)
		case <-ctx.Done():
		}
	}
	server.request = func(ctx context.Context, m transport.Message) {
		_, _ = server.call(r.Context(), "elicitation/create", `{}`)
		server.answer(ctx, m, `{}`)
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// silenced is a client whose reader ends at a notification.
func silenced(r *Run) {
	client, server := newPeer(r.Client()), newPeer(r.Server())
	r.Go(server.read)
	server.request = func(ctx context.Context, m transport.Message) {
		_ = server.tell(ctx, "notifications/message")
		server.answer(ctx, m, `{}`)
	}
	r.Go(func(ctx context.Context) { _, _ = client.conn.Read(ctx) })
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// renamed is a server that answers with a string where the request had a number.
func renamed(r *Run) {
	client, server := pair(r)
	server.request = func(ctx context.Context, m transport.Message) {
		_ = server.send(ctx, `{"jsonrpc":"2.0","id":"%s","result":{}}`, m.ID)
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// alone is a client that reads and writes on its one goroutine, and so is the server,
// which asks something when it is first told something.
func alone(r *Run) {
	server := newPeer(r.Server())
	server.notify = func(ctx context.Context, m transport.Message) {
		_ = server.send(ctx, `{"jsonrpc":"2.0","id":"s","method":"ping"}`)
	}
	server.inline = true
	r.Go(server.read)
	client := newPeer(r.Client())
	r.Op("main", func(ctx context.Context) error {
		_ = client.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		_, _ = client.conn.Read(ctx)
		_ = client.tell(ctx, "notifications/message")
		_ = client.send(ctx, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		_, err := client.conn.Read(ctx)
		return err
	})
}

// callback is a client whose reader makes a call when it is told something.
func callback(r *Run) {
	client, server := pair(r)
	client.notify = func(ctx context.Context, m transport.Message) { _, _ = client.call(ctx, "tools/list", `{}`) }
	serial(r, server, func(ctx context.Context, m transport.Message) {
		for range 2 {
			_ = server.tell(ctx, "notifications/message")
		}
		server.answer(ctx, m, `{}`)
	})
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// A report says only what is so.
func TestClaims(t *testing.T) {
	for name, test := range map[string]struct {
		setup    func(*Run)
		category string
		says     []string
		not      []string
	}{
		"it went on": {after, NeverSent,
			[]string{"operation call is blocked at [chan receive] explore.after.func1 stance_test.go", `the response to its last request, tools/call "x" by call#1, was read at step 4`},
			[]string{"did not get it", "did not reach"}},
		"it did not": {registerAfterWrite(0), AnswerLost, []string{"but operation call did not get it"}, nil},
		"somebody is at work": {dialog, AnswerLost,
			[]string{"the client read elicitation/create#1 at step 4, and the goroutine that took it up is blocked at [select] explore.dialog.func1 stance_test.go"},
			[]string{"cycle", "is back at its Read"}},
		"nobody is": {nested, AnswerLost, nil, []string{"cycle", "each side"}},
		"the reader has ended": {silenced, BehindNotification,
			[]string{"the goroutine that read notifications/message#1 for the client, at step 4, has ended, and nobody reads on", "the goroutine that was given notifications/message#1 at step 4 has ended"},
			[]string{"has not come back", "client reader (s2c)                    holds"}},
		"another id": {renamed, AnswerLost, []string{`the server sent the response to tools/call (id 1) under the id "1": the same but for its type, and a strict client does not know it, at step 4: rule P1 is broken. ` +
			`So the client read the response to tools/call "x" by call#1 at step 4, but operation call did not get it`}, []string{"has sent no response"}},
		"both sides write and neither reads": {alone, BothWrite, []string{"it is operation main  <- cycle"}, nil},
		"in the reader": {callback, BehindNotification, []string{
			"the client's reader holds notifications/message#1, and has asked tools/list#1 since",
			"which only the client's reader can read  <- cycle"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{Setup: test.setup, Capacities: fixed(0, 0)})
			text := r.Text()
			if r.Verdict != Hang || r.Category != test.category {
				t.Errorf("want %s:\n%s", test.category, text)
			}
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not said:\n%s", want, text)
				}
			}
			for _, wrong := range test.not {
				if strings.Contains(text, wrong) {
					t.Errorf("%q is said:\n%s", wrong, text)
				}
			}
		})
	}
}

// What may still go on is told as such.
func TestUndecidedClaims(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Steps: 100, Setup: func(r *Run) {
		_, server := deaf(r)
		r.Op("later", func(context.Context) error { return nil }).After("call")
		every(r, time.Second, func(ctx context.Context, n int) { _ = server.tell(ctx, "notifications/message") })
	}})
	later := slices.IndexFunc(r.Waits, func(w Wait) bool { return w.Who == "operation later" })
	if r.Verdict != Undecided || !strings.Contains(r.Explanation, "there is still something to do: «s2c ") || len(r.Chain) > 0 ||
		later < 0 || r.Waits[later].WaitsFor != "operation call" || r.Waits[later].Why != "it comes after that one" {
		t.Error(r.Text())
	}
}

// An operation that was not started waits for nothing.
func TestNotStarted(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Steps: 1, Setup: func(r *Run) {
		deaf(r)
		r.Op("other", func(context.Context) error { return nil })
	}})
	if r.Verdict != Undecided || len(r.Waits) != 2 || r.Waits[1] != (Wait{Who: "operation other", Why: "it has not been started"}) {
		t.Error(r.Text())
	}
}
