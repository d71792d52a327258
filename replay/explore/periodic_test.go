package explore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// every lets a peer do something each period.
func every(r *Run, period time.Duration, do func(ctx context.Context, n int)) {
	r.Go(func(ctx context.Context) {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				do(ctx, n)
			case <-ctx.Done():
				return
			}
		}
	})
}

// deaf is a pair whose server does not answer tools/call.
func deaf(r *Run) (client, server *peer) {
	client, server = pair(r)
	server.request = func(ctx context.Context, m transport.Message) {
		if m.Method != "tools/call" {
			server.answer(ctx, m, `{}`)
		}
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	return client, server
}

// Traffic of timers does not hide a call that nobody answers, whatever it is.
func TestPeriodic(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setup func(*Run)
		note  string
	}{
		"log messages": {func(r *Run) {
			_, server := deaf(r)
			every(r, time.Minute, func(ctx context.Context, _ int) { _ = server.tell(ctx, "notifications/message") })
		}, "nothing but «s2c notifications/message» passed"},
		"a poll": {func(r *Run) {
			client, _ := deaf(r)
			every(r, time.Minute, func(ctx context.Context, _ int) { _, _ = client.call(ctx, "tools/list", `{}`) })
		}, "nothing but «c2s tools/list», «s2c response to tools/list» passed"},
		"a poll of a session that an operation made": {func(r *Run) {
			client, _ := deaf(r)
			r.Op("connect", func(ctx context.Context) error {
				every(r, time.Minute, func(context.Context, int) { _, _ = client.call(ctx, "tools/list", `{}`) })
				return nil
			})
		}, "nothing but «c2s tools/list by connect», «s2c response to tools/list by connect» passed"},
		"progress of the call itself": {func(r *Run) {
			_, server := deaf(r)
			every(r, time.Minute, func(ctx context.Context, n int) {
				_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call","progress":%d}}`, n)
			})
		}, `nothing but «s2c notifications/progress (tools/call "x" by call#)» passed`},
	} {
		for _, strategy := range []Strategy{Eager, Random} {
			r := Search(t, Plan{Setup: test.setup, Schedules: 1, Shrink: -1, Strategy: strategy, Horizon: 20 * time.Minute})
			if r.Verdict != Hang || r.Category != AnswerLost || !strings.Contains(strings.Join(r.Notes, "\n"), test.note) {
				t.Errorf("%s: want a hang and %q\n%s", name, test.note, r.Text())
			}
			again := Search(t, Plan{Setup: test.setup, Token: r.Token, Horizon: 20 * time.Minute})
			if again.Verdict != r.Verdict || again.Category != r.Category {
				t.Errorf("%s: the token gives %s", name, again.Text())
			}
		}
	}
}

// A server that says for hours that it is at work, and then answers, is no hang;
// nor is a client that asks the same again and again and comes to an end.
func TestNotPeriodic(t *testing.T) {
	Explore(t, Plan{Schedules: 20, Setup: func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			for n := range 90 {
				time.Sleep(15 * time.Minute)
				_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}`, n)
			}
			server.answer(ctx, m, `{}`)
		}
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}})
	Explore(t, Plan{Schedules: 20, Setup: func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			time.Sleep(time.Hour)
			server.answer(ctx, m, `{}`)
		}
		r.Op("calls", func(ctx context.Context) error {
			for range 40 {
				if err := client.tool(ctx, "x"); err != nil {
					return err
				}
			}
			return nil
		})
	}})
}

func TestWithoutOccurrence(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"ping#12":                       "ping#",
		"response to tools/list by a#1": "response to tools/list by a#",
		`another response to x#1#22`:    "another response to x##",
		"#":                             "#",
		"a#b":                           "a#b",
	} {
		if got := withoutOccurrence(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
