package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
)

// keptAlive is twoCalls with deadlines, and with keepalives if their interval is not 0.
func keptAlive(revision string, deadline, interval time.Duration) func(*explore.Run) {
	return func(r *explore.Run) {
		serving := &mcp.ServerOptions{}
		asking := &mcp.ClientOptions{
			KeepAlive:                   interval,
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
		}
		if revision == handshake { // v1.8.0 breaks rules of 2026-07-28 with these: see docs/bugs
			serving.KeepAlive = interval
			asking.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {}
		}
		server, client := newServerWith(serving), newClient(asking)
		p := connectRun(r, server, client, revision)
		within := func(do func(context.Context, *mcp.ClientSession) error) func(context.Context) error {
			return func(ctx context.Context) error {
				ctx, stop := context.WithTimeout(ctx, deadline)
				defer stop()
				return do(ctx, p.client)
			}
		}
		p.op(r, "call", within(callCount))
		list := func(ctx context.Context, session *mcp.ClientSession) error {
			_, err := session.ListTools(ctx, nil)
			return err
		}
		p.op(r, "list", within(list))
		p.op(r, "change", func(context.Context) error {
			server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}}, count)
			return nil
		})
		p.op(r, "list again", within(list)).After("call")
		p.op(r, "close", func(context.Context) error { return p.client.Close() }).AfterAll()
	}
}

// endsWell fails a run if an operation failed though its time was not up and its session had
// not ended.
func endsWell(r *explore.Run) error {
	for _, op := range []string{"connect", "call", "list", "list again"} {
		err, ended := r.Err(op), false
		for _, end := range []error{context.DeadlineExceeded, mcp.ErrConnectionClosed, io.EOF, errNotConnected} {
			ended = ended || errors.Is(err, end)
		}
		if err != nil && !ended {
			return fmt.Errorf("operation %s: %w", op, err)
		}
	}
	return nil
}

// TestExploreTimers: what a session of the SDK does at a timer is right in any order with the
// frames on their way: a keepalive, a debounced list_changed, and where time passes more often,
// the end of a deadline, or of a session whose ping is not answered in time.
func TestExploreTimers(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			n := scale(200, 100_000) / slowed
			passes(t, explore.Plan{Setup: keptAlive(revision, time.Hour, 4*time.Minute), Timers: 1, Schedules: n})
			fired := passes(t, explore.Plan{Setup: keptAlive(revision, time.Minute, 4*time.Minute), Timers: 3, Schedules: n, Check: endsWell})
			if fired == 0 {
				t.Error("no timer fired while frames waited")
			}
		})
	}
}

// TestExploreTimerTokens: a schedule in which timers fire while frames wait is the same again
// by its token. There is no keepalive: one that gives up closes the session, and beside that a
// goroutine of the SDK writes the cancellation of the ping. Which comes first is in no token.
func TestExploreTimerTokens(t *testing.T) {
	stop := errors.New("stop")
	timed := 0
	for _, revision := range revisions {
		runs := scale(8, 2000)
		for i := range runs {
			plan := explore.Plan{Setup: keptAlive(revision, time.Minute, 0), Strategy: explore.POS, Timers: 3, Seed: uint64(i), Schedules: 1, Shrink: -1,
				Capacities: explore.Sweep[i%len(explore.Sweep):][:1], Check: func(*explore.Run) error { return stop }}
			first := explore.Search(t, plan)
			plan.Token = first.Token
			again := explore.Search(t, plan)
			if again.Token != first.Token || again.Verdict != first.Verdict || !slices.Equal(again.Sequence, first.Sequence) {
				t.Fatalf("%s, seed %d:\n%s\n%s", revision, i, first.Text(), again.Text())
			}
			if len(first.Timers) > 0 {
				timed++
			}
		}
		t.Logf("%d tokens without a divergence", runs)
	}
	if timed == 0 {
		t.Error("time passed in no order")
	}
}

// freshList is an application that keeps the list of tools until it is told of a change. It
// forgets the message if the message overtakes the list, which the server debounces for 10 ms.
func freshList(r *explore.Run) {
	known, stale, told := 0, false, false
	server := newServer()
	client := newClient(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { stale, told = true, true }})
	p := connectRun(r, server, client, handshake)
	p.op(r, "list", func(ctx context.Context) error {
		list, err := p.client.ListTools(ctx, nil)
		if err == nil {
			known, stale = len(list.Tools), false
		}
		return err
	})
	p.op(r, "change", func(context.Context) error {
		server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}}, count)
		return nil
	})
	r.Data = func() error {
		if told && known < 2 && !stale {
			return errors.New("the application has an old list and does not know")
		}
		return nil
	}
}

// TestExploreDebounce: the timer of a debounced message races the frames.
func TestExploreDebounce(t *testing.T) {
	plan := explore.Plan{Setup: freshList, Check: func(r *explore.Run) error { return r.Data.(func() error)() }, Schedules: 1000}
	if r := explore.Search(t, plan); r.Verdict != explore.Pass {
		t.Errorf("without Timers\n%s", r.Text())
	}
	plan.Timers = 1
	r := explore.Search(t, plan)
	if r.Verdict != explore.CheckFailed || len(r.Timers) != 1 || r.Shrunk.Held != 20 ||
		!strings.Contains(r.Timers[0], "10ms passed while") || !strings.Contains(r.Timers[0], "the server wrote notifications/tools/list_changed") {
		t.Errorf("with Timers\n%s", r.Text())
	}
}
