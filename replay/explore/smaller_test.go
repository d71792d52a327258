package explore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/shrink"
)

// manyCalls is a session of calls with one progress each, and two of the fatal one.
func manyCalls(n, fatal int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "> %d:t%d\n< %%%d\n", i, i, i)
		if i == fatal {
			fmt.Fprintf(&b, `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":2}}`+"\n", i)
		}
		fmt.Fprintf(&b, "< ~tools/list_changed\n< %d=done\n", i)
	}
	return b.String()
}

// A session played by models shrinks to the frames of its bug; the token holds
// with the small session, and the pure replay says the same of it.
func TestSmallerModeled(t *testing.T) {
	t.Parallel()
	plan, err := Modeled(recording(manyCalls(20, 14)), closed.NotificationQueue(2), closed.Independent)
	if err != nil {
		t.Fatal(err)
	}
	r := Search(t, plan)
	s := r.Smaller
	if r.Verdict != Hang || s == nil || s.From != 81 || s.To != 5 || s.Runs > 60 || s.Held != 20 || s.Boundary != "no buffer of the transport hides it" {
		t.Fatalf("%+v\n%s", s, r.Text())
	}
	if o := shrink.Closed(closed.NotificationQueue(2), closed.Independent)(shrink.Candidate{Events: s.Events}); !strings.HasPrefix(o.Fingerprint, "hang blocked behind a notification") {
		t.Errorf("replayed: %+v", o)
	}
	small, err := Modeled(s.Events, closed.NotificationQueue(2), closed.Independent)
	if err != nil {
		t.Fatal(err)
	}
	small.Token = s.Token
	if again := Search(t, small); again.Verdict != Hang || again.Category != r.Category {
		t.Errorf("%s", again.Text())
	}
}

// At a capacity of two it takes frames to fill both directions. The small session
// hangs at capacity 0, and the boundary is told.
func TestSmallerCapacity(t *testing.T) {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "> %d:t\n< %d:ping\n", i, i)
	}
	for i := range 4 {
		fmt.Fprintf(&b, "> %d=pong\n< %d=done\n", i, i)
	}
	plan, err := Modeled(recording(b.String()), closed.SingleThreaded, closed.SingleThreaded)
	if err != nil {
		t.Fatal(err)
	}
	plan.Capacities = fixed(2, 2)
	r := Search(t, plan)
	if r.Verdict != Hang || r.Smaller == nil || r.Smaller.To != 4 || !strings.HasPrefix(r.Smaller.Token, "mcprec1.0-0.") ||
		r.Smaller.Boundary != "it fails with room for 0 messages from client to server, not for 1; it fails with room for 0 messages from server to client, not for 1" {
		t.Errorf("%+v\n%s", r.Smaller, r.Text())
	}
}

// A live client keeps the calls it makes in the recording: without them it fails in
// another way.
func TestSmallerRecordedServer(t *testing.T) {
	r := Search(t, Plan{Session: recording(manyCalls(6, 4)), Schedules: 60, Setup: func(r *Run) {
		client := newPeer(r.Client())
		client.registerLate = true
		r.Go(client.read)
		r.RecordedServer()
		r.Op("call", func(ctx context.Context) error {
			_, err := client.call(ctx, "tools/call", `{"name":"t3"}`)
			return err
		})
	}})
	s := r.Smaller
	if r.Verdict != Hang || r.Category != AnswerLost || s == nil || s.To != 2 || s.Held != 20 {
		t.Fatalf("%+v\n%s", s, r.Text())
	}
	if len(s.Events) != 3 || !strings.Contains(string(s.Events[1].Payload), `"t3"`) {
		t.Errorf("%s", r.Text())
	}
}

// What the failing run asks for stays in the session, also where the live client asks
// for something besides that was never recorded.
func TestSmallerKeepsWhatIsAsked(t *testing.T) {
	pass := func(*Run) error { return nil }
	r := Search(t, Plan{Session: recording(manyCalls(6, 4)), Schedules: 60, Check: pass, Setup: func(r *Run) {
		client := newPeer(r.Client())
		r.Go(client.read)
		r.RecordedServer()
		r.Op("stranger", func(ctx context.Context) error {
			_, _ = client.call(ctx, "tools/call", `{"name":"never recorded"}`)
			return nil
		})
		r.Op("call", func(ctx context.Context) error {
			client.registerLate = true
			_, err := client.call(ctx, "tools/call", `{"name":"t3"}`)
			return err
		}).After("stranger")
	}})
	s := r.Smaller
	if r.Verdict != Hang || s == nil || s.To != 2 || !strings.Contains(string(s.Events[1].Payload), `"t3"`) {
		t.Errorf("%+v\n%s", s, r.Text())
	}
}

// A failure by what the recording lacks is there without the rest of it, too.
func TestSmallerNotOfStrangers(t *testing.T) {
	for _, check := range []func(*Run) error{nil, func(r *Run) error { return r.Err("call") }} {
		r := Search(t, Plan{Session: recording(manyCalls(6, 4)), Schedules: 10, Check: check, Setup: func(r *Run) {
			client := newPeer(r.Client())
			r.Go(client.read)
			r.RecordedServer()
			r.Op("call", func(ctx context.Context) error {
				if result, err := client.call(ctx, "tools/call", `{"name":"never recorded"}`); err != nil || result == nil {
					return fmt.Errorf("no result: %v", err)
				}
				return nil
			})
		}})
		if r.Verdict != CheckFailed || r.Smaller != nil {
			t.Error(r.Text())
		}
	}
}
