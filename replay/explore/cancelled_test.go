package explore

import (
	"context"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// cancels makes a call, and cancels it when the server works at it. work is the server's; it
// may wait for stop, which comes with the cancellation, or for over, which comes later.
func cancels(work func(server *peer, ctx context.Context, m transport.Message, stop, over <-chan struct{})) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		begun, stop, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		server.request = func(ctx context.Context, m transport.Message) {
			if m.Method == "ping" {
				close(over)
				server.answer(ctx, m, `{}`)
				return
			}
			close(begun)
			work(server, ctx, m, stop, over)
		}
		server.notify = func(context.Context, transport.Message) { close(stop) }
		r.Op("cancel", func(ctx context.Context) error {
			calling, cancel := context.WithCancel(ctx)
			go func() { <-begun; cancel() }()
			_ = client.tool(calling, "x")
			if err := client.send(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); err != nil {
				return err
			}
			_, err := client.call(ctx, "ping", `{}`)
			return err
		})
	}
}

// Work that goes on after its cancellation makes a note, also where every schedule passes.
func TestCancelledWork(t *testing.T) {
	for name, test := range map[string]struct {
		work func(server *peer, ctx context.Context, m transport.Message, stop, over <-chan struct{})
		says string // "": no note
	}{
		"it stops": {func(_ *peer, _ context.Context, _ transport.Message, stop, _ <-chan struct{}) { <-stop }, ""},
		"it says so": {func(s *peer, ctx context.Context, m transport.Message, stop, over <-chan struct{}) {
			<-over
			_ = s.send(ctx, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"cancelled"}}`, m.ID)
		}, ""},
		"it goes on": {func(s *peer, ctx context.Context, m transport.Message, _, over <-chan struct{}) {
			<-over
			s.answer(ctx, m, `{}`)
		}, `the server read the cancellation of tools/call "x" by cancel#1 at step 4, and sent the result all the same, after step `},
		"it never ends": {func(_ *peer, ctx context.Context, _ transport.Message, _, _ <-chan struct{}) { <-ctx.Done() },
			`the server was still at [chan receive] explore.TestCancelledWork.func4 cancelled_test.go:`},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{Schedules: 30, Setup: cancels(test.work)})
			said := strings.Contains(r.Text(), "cancell")
			if r.Verdict != Pass || said != (test.says != "") || !strings.Contains(r.Text(), test.says) {
				t.Errorf("want the note %q\n%s", test.says, r.Text())
			}
		})
	}
}

// withdrawn is a client whose request is given up before the server takes it, or is refused
// because the client closes, and an operation that waits for something else. Both ends read
// everything.
func withdrawn(closes bool) func(*Run) {
	return func(r *Run) {
		for _, conn := range []transport.Conn{r.Client(), r.Server()} {
			r.Go(func(ctx context.Context) {
				for _, err := conn.Read(ctx); err == nil; _, err = conn.Read(ctx) {
				}
			})
		}
		listing, giveUp := context.WithCancel(r.Context())
		r.Op("list", func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer context.AfterFunc(listing, stop)()
			_ = r.Client().Write(ctx, frame(`{"id":1,"method":"tools/list"}`))
			return nil
		})
		r.Op("give up", func(context.Context) error {
			if closes {
				return r.Client().Close()
			}
			giveUp()
			return nil
		})
		if !closes {
			r.Op("tell", func(ctx context.Context) error {
				return r.Client().Write(ctx, frame(`{"method":"notifications/roots/list_changed"}`))
			}).After("list")
		}
		r.Op("wait", func(ctx context.Context) error { forEver(ctx); return nil })
	}
}

// No operation waits for a request that was withdrawn, and no reader holds it up.
func TestWithdrawnRequest(t *testing.T) {
	for name, closes := range map[string]bool{"given up": false, "refused by a closed end": true} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{Setup: withdrawn(closes), Strategy: Eager, Capacities: fixed(0, 0)})
			if r.Verdict != Hang || r.Category != NeverSent || !strings.Contains(r.Explanation, "operation wait is blocked at") {
				t.Error(r.Text())
			}
			for _, claim := range []string{"tools/list", "has not come back", "behind"} {
				if strings.Contains(r.Explanation, claim) {
					t.Errorf("%q is false\n%s", claim, r.Text())
				}
			}
			for _, w := range r.Waits {
				if strings.Contains(w.WaitsFor, "tools/list") {
					t.Errorf("nobody waits for tools/list\n%s", r.Text())
				}
			}
		})
	}
}

// A response that was withdrawn because its end closed is behind nothing: the end owes it.
func TestWithdrawnResponse(t *testing.T) {
	r := Search(t, Plan{Setup: func(r *Run) {
		client := newPeer(r.Client())
		r.Op("call", func(ctx context.Context) error {
			if err := client.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil {
				return err
			}
			forEver(ctx)
			return nil
		})
		r.Go(func(ctx context.Context) {
			f, err := r.Server().Read(ctx)
			if err != nil {
				return
			}
			go func() { _ = r.Server().Close() }()
			messages, _ := f.Messages()
			newPeer(r.Server()).answer(ctx, messages[0], `{}`)
		})
	}, Strategy: Eager, Capacities: fixed(0, 0)})
	if r.Verdict != Hang || r.Category != AnswerLost || strings.Contains(r.Explanation, "behind") {
		t.Error(r.Text())
	}
}
