package explore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

const updated = "notifications/resources/updated"

// A message that an end must receive is awaited without a timer, also where the sender takes
// its time. What keeps it away is told.
func TestMustReceive(t *testing.T) {
	about := func(uri string) string {
		return `{"jsonrpc":"2.0","method":"` + updated + `","params":{"uri":"` + uri + `"}}`
	}
	for name, test := range map[string]struct {
		setup    func(*Run)
		verdict  string
		category string
		says     []string
	}{
		"it comes": {func(r *Run) {
			_, server := pair(r)
			r.Op("update", func(ctx context.Context) error { return server.tell(ctx, updated) })
			r.ClientMustReceive(updated).Since("update")
		}, Pass, "", nil},
		"it comes late": {func(r *Run) { // as a server that collects changes for a second does
			_, server := pair(r)
			r.Op("update", func(context.Context) error {
				go func() { time.Sleep(time.Second); _ = server.tell(r.Context(), updated) }()
				return nil
			})
			r.ClientMustReceive(updated).Since("update")
		}, Pass, "", nil},
		"the other way": {func(r *Run) {
			client, _ := pair(r)
			r.Op("roots", func(ctx context.Context) error { return client.tell(ctx, "notifications/roots/list_changed") })
			r.ServerMustReceive("notifications/roots/list_changed").Since("roots")
			r.Op("close", func(context.Context) error { return client.conn.Close() }).AfterAll()
		}, Pass, "", nil},
		"it is not sent": {func(r *Run) {
			client, _ := pair(r)
			r.Op("update", func(context.Context) error { return nil })
			r.ClientMustReceive(updated).Since("update")
			r.Op("close", func(context.Context) error { return client.conn.Close() }).AfterAll()
		}, CheckFailed, NeverSent, []string{"the client must receive " + updated + ", after operation update began: the server has sent none",
			"waits for  that the client receives " + updated, "nothing came in 24h0m0s of virtual time"}},
		"it came before": {func(r *Run) {
			_, server := pair(r)
			r.Op("first", func(ctx context.Context) error { return server.tell(ctx, updated) })
			r.Op("wait", func(context.Context) error { time.Sleep(time.Second); return nil }).After("first")
			r.Op("second", func(context.Context) error { return nil }).After("wait")
			r.ClientMustReceive(updated).Since("second")
		}, CheckFailed, NeverSent, []string{"the server has sent none since; the last was read at step "}},
		"about another resource": {func(r *Run) {
			_, server := pair(r)
			r.Op("update", func(ctx context.Context) error { return server.send(ctx, "%s", about("mem://a")) })
			r.ClientMustReceive(updated).About("mem://a")
			r.ClientMustReceive(updated).About("mem://b")
		}, CheckFailed, NeverSent, []string{updated + ` "mem://b": the server has sent none`}},
		"the reader is away": {func(r *Run) {
			client, server := newPeer(r.Client()), newPeer(r.Server())
			r.Go(server.read)
			r.Go(func(ctx context.Context) { _, _ = client.conn.Read(ctx); <-ctx.Done() })
			r.Op("update", func(ctx context.Context) error {
				go func() { _ = server.tell(r.Context(), "notifications/message"); _ = server.tell(r.Context(), updated) }()
				return nil
			})
			r.ClientMustReceive(updated).Since("update")
		}, CheckFailed, BehindNotification, []string{"the client's reader took notifications/message#1 at step", "explore.TestMustReceive.func"}},
		"the subscription comes late": {func(r *Run) {
			client, server := pair(r)
			subscribed := false
			server.request = func(context.Context, transport.Message) { subscribed = true }
			r.Op("subscribe", func(ctx context.Context) error {
				go func() {
					_ = client.send(r.Context(), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`)
				}()
				return nil
			})
			r.Op("update", func(ctx context.Context) error {
				if subscribed {
					return server.tell(ctx, updated)
				}
				return nil
			}).After("subscribe")
			r.ClientMustReceive(updated).Since("update")
		}, CheckFailed, NeverSent, []string{
			"; when operation update began, at step 2, subscriptions/listen#1 had been sent and not been read; open at the server: subscriptions/listen#1"}},
		"an operation hangs": {func(r *Run) {
			client, server := pair(r)
			server.request = func(context.Context, transport.Message) {}
			r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
			r.ClientMustReceive(updated)
		}, Hang, AnswerLost, []string{"operation call", "the client must receive " + updated + ": the server has sent none"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{Setup: test.setup})
			if r.Verdict != test.verdict || r.Category != test.category {
				t.Errorf("%s %s, want %s %s\n%s", r.Verdict, r.Category, test.verdict, test.category, r.Text())
			}
			for _, want := range test.says {
				if !strings.Contains(r.Text(), want) {
					t.Errorf("%q is not said:\n%s", want, r.Text())
				}
			}
			if r.Verdict != Pass && r.Shrunk.Held != verifications {
				t.Errorf("the token held %d of %d times", r.Shrunk.Held, r.Shrunk.Verified)
			}
		})
	}
}

// dropsSecond is a server that forgets a change while it tells of another one.
func dropsSecond(r *Run) {
	_, server := pair(r)
	telling := false
	change := func(ctx context.Context) error {
		if telling {
			return nil
		}
		telling = true
		defer func() { telling = false }()
		return server.tell(ctx, updated)
	}
	r.Op("first", change)
	r.Op("second", change)
	r.ClientMustReceive(updated).Since("second")
}

// A change is lost only where it comes between the read of the notification and the return of
// its Write: the search finds the order.
func TestMustReceiveFinds(t *testing.T) {
	r := Search(t, Plan{Setup: dropsSecond})
	if r.Verdict != CheckFailed || r.Category != NeverSent || r.Shrunk.To == 0 || r.Shrunk.Held != verifications {
		t.Errorf("held %d of %d times\n%s", r.Shrunk.Held, r.Shrunk.Verified, r.Text())
	}
}

// In real time a message may be late, too.
func TestMustReceiveSettled(t *testing.T) {
	r := Search(t, Plan{Engine: Settle, Schedules: 2, Patience: 50 * time.Millisecond, Setup: func(r *Run) {
		pair(r)
		r.ClientMustReceive(updated)
	}})
	if r.Verdict != CheckFailed || r.Category != NeverSent {
		t.Error(r.Text())
	}
}

func TestSinceUnknown(t *testing.T) {
	r := Search(t, Plan{Setup: func(r *Run) { r.ClientMustReceive(updated).Since("update") }})
	if r.Verdict != Panic || !strings.Contains(r.Explanation, "there is no operation update before it") {
		t.Error(r.Text())
	}
}
