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
