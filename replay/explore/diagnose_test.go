package explore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// serial handles requests and notifications one at a time, beside the reader.
func serial(r *Run, p *peer, handle func(ctx context.Context, m transport.Message)) {
	queue := make(chan transport.Message, 100)
	p.inline = true
	p.request = func(_ context.Context, m transport.Message) { queue <- m }
	p.notify = p.request
	r.Go(func(ctx context.Context) {
		for {
			select {
			case m := <-queue:
				handle(ctx, m)
			case <-ctx.Done():
				return
			}
		}
	})
}

// reentrant is a client whose handler of notifications makes a call, and a server
// that pings the client before it answers that call.
func reentrant(r *Run) { reentrantUnder(r, func(ctx context.Context) context.Context { return ctx }) }

// connected is reentrant where what the handler sends bears the name of an operation
// that has returned, as sessions do that an operation made.
func connected(r *Run) {
	under := make(chan context.Context, 1)
	r.Op("connect", func(ctx context.Context) error { under <- ctx; return nil })
	reentrantUnder(r, func(context.Context) context.Context { return <-under })
}

func reentrantUnder(r *Run, under func(context.Context) context.Context) {
	client, server := pair(r)
	listed := make(chan struct{})
	serial(r, client, func(ctx context.Context, m transport.Message) {
		if m.ID != nil {
			client.answer(ctx, m, `{}`)
			return
		}
		_, _ = client.call(under(ctx), "tools/list", `{}`)
		close(listed)
	})
	server.request = func(ctx context.Context, m transport.Message) {
		if m.Method == "tools/list" {
			_, _ = server.call(ctx, "ping", `{}`)
		}
		server.answer(ctx, m, `{}`)
	}
	r.Op("change", func(ctx context.Context) error { return server.tell(ctx, "notifications/tools/list_changed") })
	r.Op("refresh", func(ctx context.Context) error {
		select {
		case <-listed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// gone is a server that ends at its first call, and a client that tells nobody.
func gone(r *Run) {
	client := newPeer(r.Client())
	r.Go(client.read)
	r.Go(func(ctx context.Context) {
		_, _ = r.Server().Read(ctx)
		_ = r.Server().Close()
	})
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// nested asks within a call, of a client that answers nothing.
func nested(r *Run) {
	client, server := pair(r)
	client.request = func(context.Context, transport.Message) {}
	server.request = func(ctx context.Context, m transport.Message) {
		_, _ = server.call(r.Context(), "elicitation/create", `{}`)
		server.answer(ctx, m, `{}`)
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// unanswered is a call each way that nobody answers, and an operation that waits for
// both and has sent nothing.
func unanswered(r *Run) {
	client, server := pair(r)
	client.request = func(context.Context, transport.Message) {}
	server.request = client.request
	over := make(chan struct{})
	r.Op("close", func(ctx context.Context) error {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	r.Op("ask", func(ctx context.Context) error {
		_, err := server.call(ctx, "ping", `{}`)
		return err
	})
}

// inner is what a server does within a call that it handles in its reader.
func inner(r *Run) {
	client, server := pair(r)
	server.inline = true
	server.request = func(ctx context.Context, m transport.Message) {
		_, _ = server.call(ctx, "roots/list", `{}`)
		server.answer(ctx, m, `{}`)
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// unsigned is a client over a stream of bytes, whose Write has no context, that
// notes who waits after it has written.
func unsigned(r *Run) {
	client, _ := pair(r)
	client.registerLate = true
	r.Op("call", func(context.Context) error {
		_, err := client.call(r.Context(), "ping", `{}`)
		return err
	})
}

func TestCategories(t *testing.T) {
	for name, test := range map[string]struct {
		setup    func(*Run)
		category string
		chain    []string
		says     []string
	}{
		"a call in a handler": {reentrant, MutualWait, []string{
			"operation refresh waits for the response to tools/list#1",
			"the server owes the response to tools/list#1, and has asked ping#1 since",
			"the client owes the response to ping#1, and waits for the response to tools/list#1  <- cycle",
		}, []string{
			"each side has read a request of the other and answers neither", "reentrantUnder.func1 diagnose_test.go", "reentrantUnder.func2 diagnose_test.go",
		}},
		"a call in a handler of a session that an operation made": {connected, MutualWait, []string{
			"operation refresh waits for the response to tools/list by connect#1",
			"the server owes the response to tools/list by connect#1, and has asked ping#1 since",
			"the client owes the response to ping#1, and waits for the response to tools/list by connect#1  <- cycle",
		}, nil},
		"a question within a call": {nested, AnswerLost, []string{
			`operation call waits for the response to tools/call "x" by call#1`,
			`the server owes the response to tools/call "x" by call#1, and has asked elicitation/create#1 since`,
			`the client owes the response to elicitation/create#1: the client's reader is back at its Read, and nobody answers`,
		}, []string{"the client read elicitation/create#1 at step 4, and is back at its Read: it does not answer. The server asked it after it had read"}},
		"a call each way": {unanswered, AnswerLost, []string{
			`operation call waits for the response to tools/call "x" by call#1`,
			`the server owes the response to tools/call "x" by call#1, and nothing is on its way`,
		}, []string{"nor does the client answer ping by ask#1", "operation close", "it has sent no request itself; read and answered by nobody"}},
		"a call written without a context": {unsigned, AnswerLost, nil, []string{"the client read the response to ping#1 at step", "but operation call did not get it"}},
		"a question in the reader": {inner, BehindRequest, []string{
			`operation call waits for the response to tools/call "x" by call#1`,
			`the server owes the response to tools/call "x" by call#1: its reader has not come back from it`,
			`the server's reader holds tools/call "x" by call#1, and has asked roots/list#1 since`,
			`response to roots/list#1 is being written by the client: c2s has no waiting reader  <- cycle`,
		}, []string{"inner.func1 diagnose_test.go"}},
		"a server that is gone": {gone, AnswerLost, []string{
			`operation call waits for the response to tools/call "x" by call#1`,
			`the server owes the response to tools/call "x" by call#1, and has closed`,
		}, []string{"at step 2, and has closed without a response", "learnt at step 5 that the server has closed, and reads no more"}},
		"both in their readers": {headOn(1), BothWrite, []string{
			`operation call0 waits for the response to tools/call "x" by call0#1`,
			`response to tools/call "x" by call0#1 is being written by the server: s2c has no waiting reader`,
			`the client's reader holds ping by ask0#1, and is at the Write of response to ping by ask0#1`,
			`the server's reader holds tools/call "x" by call0#1, and is at the Write of response to tools/call "x" by call0#1  <- cycle`,
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{Setup: test.setup, Capacities: fixed(0, 0)})
			if r.Verdict != Hang || r.Category != test.category || !slices.Equal(r.Chain, test.chain) {
				t.Errorf("want %s and\n  %s\n%s", test.category, strings.Join(test.chain, "\n  "), r.Text())
			}
			for _, want := range test.says {
				if !strings.Contains(r.Text(), want) {
					t.Errorf("%q is not said:\n%s", want, r.Text())
				}
			}
		})
	}
}

// A run that is cut short by its limit of steps still says who waits.
func TestUndecidedWaits(t *testing.T) {
	r := Search(t, Plan{Schedules: 1, Steps: 100, Setup: func(r *Run) {
		_, server := deaf(r)
		every(r, time.Second, func(ctx context.Context, n int) { _ = server.tell(ctx, "notifications/message") })
	}})
	if r.Verdict != Undecided || len(r.Waits) == 0 || r.Waits[0].WaitsFor != `response to tools/call "x" by call#1` {
		t.Error(r.Text())
	}
}
