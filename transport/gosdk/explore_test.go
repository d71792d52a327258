package gosdk_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// peers are the SDK ends of a run whose handshake the engine orders too.
type peers struct {
	client *mcp.ClientSession
	server *mcp.ServerSession
}

// connectRun connects both ends. The client's handshake needs the engine, which
// runs after Setup, so it is an operation; op adds those that come after it.
func connectRun(r *explore.Run, server *mcp.Server, client *mcp.Client, revision string) *peers {
	p := &peers{}
	var err error
	if p.server, err = server.Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
		panic(err)
	}
	r.Op("connect", func(context.Context) (err error) {
		// The session lives under the context it is made with, and a frame it writes
		// later is not the handshake's.
		p.client, err = client.Connect(r.Context(), gosdk.Transport(r.Client()),
			speaking(revision))
		return err
	})
	return p
}

var errNotConnected = errors.New("not connected")

// op adds an operation that begins when the client is connected.
func (p *peers) op(r *explore.Run, name string, do func(context.Context) error) *explore.Operation {
	return r.Op(name, func(ctx context.Context) error {
		if p.client == nil {
			return errNotConnected
		}
		return do(ctx)
	}).After("connect")
}

// twoCalls is a conforming pair with two calls at once.
func twoCalls(revision string) func(*explore.Run) {
	return func(r *explore.Run) {
		client := newClient(&mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
		})
		p := connectRun(r, newServer(), client, revision)
		p.op(r, "call", func(ctx context.Context) error { return callCount(ctx, p.client) })
		p.op(r, "list", func(ctx context.Context) error { return listTools(ctx, p.client) })
	}
}

// TestExploreConforming: two calls of a conforming pair come through in any order.
func TestExploreConforming(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			passes(t, explore.Plan{Schedules: scale(1_000, 500_000) / slowed, Setup: twoCalls(revision)})
		})
	}
}

// passes explores what has no fault, logs how many schedules passed, which make soundness adds up, and
// returns in how many a timer fired while frames waited. A search that meets a mutex held over a Write reads
// the stacks in each later run, which is slow: each part of the schedules is a search of its own.
func passes(t *testing.T, plan explore.Plan) (fired int) {
	t.Helper()
	const part = 10_000
	schedules := plan.Schedules
	plan.Workers = runtime.GOMAXPROCS(0)
	for done := 0; done < schedules; done += part {
		plan.Seed, plan.Schedules = uint64(done), min(part, schedules-done)
		fired += explore.Explore(t, plan).Coverage.Fired
		t.Logf("%d orders without a verdict", plan.Schedules)
	}
	return fired
}

// scale returns the count of the mode: of an ordinary run, or of a soak.
func scale(short, soak int) int {
	if os.Getenv("MCPREC_NIGHT") != "" {
		return soak
	}
	return short
}

// TestExploreTokens: the token of any schedule gives that schedule again. Every
// schedule fails a check here, so each has a token, which Search follows once
// itself.
func TestExploreTokens(t *testing.T) {
	stop := errors.New("stop")
	for _, revision := range revisions {
		runs := scale(15, 1000)
		for i := range runs {
			c := explore.Sweep[i%len(explore.Sweep)]
			plan := explore.Plan{Setup: twoCalls(revision), Strategy: explore.Random, Seed: uint64(i), Schedules: 1,
				Capacities: []explore.Capacity{c}, Check: func(*explore.Run) error { return stop }}
			first := explore.Search(t, plan)
			plan.Token = first.Token
			again := explore.Search(t, plan)
			if len(first.Notes) > 0 || again.Verdict != explore.CheckFailed || again.Token != first.Token ||
				!slices.Equal(again.Sequence, first.Sequence) {
				t.Fatalf("%s, seed %d:\n%s\n%s", revision, i, first.Text(), again.Text())
			}
		}
		t.Logf("%d tokens without a divergence", runs)
	}
}

// pings is a ping each way, with nothing asked of them but to return: a call may
// find its end closed.
func pings(r *explore.Run) *peers {
	p := connectRun(r, newServer(), newClient(nil), handshake)
	p.op(r, "call", func(ctx context.Context) error { p.client.Ping(ctx, nil); return nil })
	p.op(r, "ask", func(ctx context.Context) error { p.server.Ping(ctx, nil); return nil })
	return p
}

// TestExploreSingleClose: one end may close at any time.
func TestExploreSingleClose(t *testing.T) {
	for _, end := range []string{"client", "server"} {
		t.Run(end, func(t *testing.T) {
			explore.Explore(t, explore.Plan{Schedules: 100, Setup: func(r *explore.Run) {
				p := pings(r)
				p.op(r, "close", func(context.Context) error {
					if end == "server" {
						return p.server.Close()
					}
					return p.client.Close()
				})
			}})
		})
	}
}

// doubleClose is a ping each way, and both ends close, at any time.
func doubleClose(r *explore.Run) {
	p := pings(r)
	p.op(r, "close client", func(context.Context) error { p.client.Close(); return nil })
	p.op(r, "close server", func(context.Context) error { p.server.Close(); return nil })
}

// TestExploreDoubleClose finds a hang of the SDK, v1.4.1 and v1.8.0: each end refuses the
// other's call because it is closing, cannot say so because it is closing, and
// waits for its own.
func TestExploreDoubleClose(t *testing.T) {
	found(t, doubleClose, explore.AnswerLost,
		"mcp.(*ClientSession).Close to return", "mcp.(*ServerSession).Close to return", "doubleClose.func1 explore_test.go",
		"the server's Close waits for the response to ping by ask#1", "the client's Close waits for the response to ping by call#1  <- cycle")
}

// ignoredDeadline is a client whose Connect has a deadline, and a server that answers its
// first request and reads no more.
func ignoredDeadline(r *explore.Run) {
	client := newClient(&mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
	r.Go(func(ctx context.Context) {
		f, err := r.Server().Read(ctx)
		if err != nil {
			return
		}
		asked, err := f.Messages()
		if err != nil {
			return
		}
		_ = r.Server().Write(ctx, frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],`+
			`"ttlMs":0,"cacheScope":"public","capabilities":{"tools":{"listChanged":true}}}}`, asked[0].ID)))
	})
	r.Op("connect", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := client.Connect(ctx, gosdk.Transport(r.Client()), speaking("2026-07-28"))
		return err
	})
}

// inOwnProcess reports whether the test has its process to itself. Otherwise it runs the test in such
// a process, and the caller returns: the goroutines that hangs leave behind make each later look at
// the stacks slower.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	const variable = "GOSDK_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestExploreConnectDeadline finds that Connect of v1.8.0 outlives its deadline, and says
// so the same whether or not goroutines are looked at.
func TestExploreConnectDeadline(t *testing.T) {
	if newest != "2026-07-28" { // the release does not speak it
		return
	}
	if !inOwnProcess(t) {
		return
	}
	r := explore.Search(t, explore.Plan{Setup: ignoredDeadline, Capacities: []explore.Capacity{{}}, Lawless: true})
	if r.Verdict != explore.Hang || r.Shrunk.Held != 20 || !strings.Contains(r.Explanation, "operation connect needs subscriptions/listen#1") {
		t.Errorf("held %d of %d times:\n%s", r.Shrunk.Held, r.Shrunk.Verified, r.Text())
	}
}

// closeDuringSampling is a client that closes while it answers what its call asks.
func closeDuringSampling(r *explore.Run) {
	server := newServer()
	onRequest(server, "tools/call", func(ctx context.Context, req mcp.Request) error {
		_, err := req.GetSession().(*mcp.ServerSession).CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		return err
	})
	closing := make(chan struct{})
	client := newClient(&mcp.ClientOptions{
		CreateMessageHandler: func(ctx context.Context, _ *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			close(closing)
			explore.Point(r.Context(), "the model thinks")
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "yes"}}, nil
		},
	})
	p := connectRun(r, server, client, handshake)
	p.op(r, "call", func(ctx context.Context) error { _ = callCount(ctx, p.client); return nil })
	p.op(r, "close", func(context.Context) error { <-closing; return p.client.Close() })
}

// TestExploreClose: the report of a Close that hangs says what it waits for, and since when
// its end is closing.
func TestExploreClose(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for name, test := range map[string]struct {
		setup    func(*explore.Run)
		category string
		says     []string
		not      []string
	}{
		"during sampling": {closeDuringSampling, explore.AnswerLost, []string{
			"waits for  mcp.(*ClientSession).Close to return",
			`its end waits for the response to tools/call "count" by call#1, and owes the response to sampling/createMessage#1`,
			"the client read sampling/createMessage#1 at step ", "its handler has returned, but no response was written; the client's end has been closing since step ", "the client's Close waits for the response to tools/call",
		}, []string{"waits for  response to sampling", "it has sent no request"}},
		"in a handler": {closeInHandler, explore.BlockedHandler, []string{
			"the handler of notifications/tools/list_changed is blocked at [chan receive] jsonrpc2.(*Connection).wait conn.go:",
			"the client's end has been closing since step ",
			"operation wait is blocked at [chan receive]", "the last message that was read: ",
		}, []string{"waits, but has no request open and no frame on its way"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := explore.Search(t, explore.Plan{Setup: test.setup})
			if r.Verdict != explore.Hang || r.Category != test.category {
				t.Errorf("want %s\n%s", test.category, r.Text())
			}
			for _, want := range test.says {
				if !strings.Contains(r.Text(), want) {
					t.Errorf("%q is not said:\n%s", want, r.Text())
				}
			}
			for _, wrong := range test.not {
				if strings.Contains(r.Text(), wrong) {
					t.Errorf("%q is said:\n%s", wrong, r.Text())
				}
			}
		})
	}
}

// closeInHandler is a client that closes in the handler of a notification: Close waits for
// the handler.
func closeInHandler(r *explore.Run) {
	server, closed := newServer(), make(chan struct{})
	client := newClient(&mcp.ClientOptions{
		ToolListChangedHandler: func(_ context.Context, n *mcp.ToolListChangedRequest) {
			n.Session.Close()
			close(closed)
		},
	})
	p := connectRun(r, server, client, handshake)
	p.op(r, "wait", func(context.Context) error {
		server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}}, count)
		<-closed
		return nil
	})
}

// refreshing is a client whose progress handler makes a call; a server that asks
// pings its client before it answers the call.
func refreshing(r *explore.Run, asks bool) {
	server := newServer()
	if asks {
		onRequest(server, "tools/list", func(ctx context.Context, req mcp.Request) error {
			return req.GetSession().(*mcp.ServerSession).Ping(ctx, nil)
		})
	}
	listed := make(chan error, steps)
	client := newClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(ctx context.Context, n *mcp.ProgressNotificationClientRequest) {
			listed <- listTools(ctx, n.Session)
		},
	})
	p := connectRun(r, server, client, handshake)
	p.op(r, "call", func(ctx context.Context) error { return callCount(ctx, p.client) })
	p.op(r, "refresh", func(context.Context) error { return <-listed })
}

// TestExploreHandlerReentrancy finds a hang that is by design: notification
// handlers run one at a time on the queue that requests also pass. The ping waits
// behind the handler, the handler for the list, the list for the ping.
func TestExploreHandlerReentrancy(t *testing.T) {
	found(t, func(r *explore.Run) { refreshing(r, true) }, explore.MutualWait,
		"the client owes the response to ping#1, and waits for the response to tools/list#1  <- cycle",
		"mcp.(*ClientSession).ListTools, called by gosdk_test.listTools", "by gosdk_test.refreshing.func2 explore_test.go")
}

// TestExploreHandlerCalls: a handler may call as long as the server asks nothing.
func TestExploreHandlerCalls(t *testing.T) {
	explore.Explore(t, explore.Plan{Schedules: 100, Setup: func(r *explore.Run) { refreshing(r, false) }})
}

// unread is a client whose progress handler sends to a channel that nobody reads, and
// that closes when its call has returned.
func unread(r *explore.Run) {
	seen := make(chan float64)
	client := newClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			seen <- n.Params.Progress
		},
	})
	r.Go(func(ctx context.Context) { // lets go of the handler when the run is over
		<-ctx.Done()
		for {
			select {
			case <-seen:
			case <-time.After(time.Second):
				return
			}
		}
	})
	p := connectRun(r, newServer(), client, handshake)
	p.op(r, "call and close", func(ctx context.Context) error {
		if err := callCount(ctx, p.client); err != nil {
			return err
		}
		return p.client.Close()
	})
}

// TestExploreHandlerStuck: whoever waits for the handler is told whose code holds it up.
func TestExploreHandlerStuck(t *testing.T) {
	found(t, unread, explore.BlockedHandler,
		"(chan send), under the handler of notifications/progress\nHANG (proved)", "\n  operation call and close is in mcp.(*ClientSession).Close: it waits for a handler that has not returned: gosdk_test.unread", "mcp.(*ClientSession).Close to return")
	r := explore.Search(t, explore.Plan{Setup: unread, Engine: explore.Settle, Patience: 50 * time.Millisecond})
	if r.Verdict != explore.Stall || r.Category != explore.BlockedHandler {
		t.Error(r.Text())
	}
}

// TestExploreHandlerReport holds what is said of it, but for lines of the SDK's own.
func TestExploreHandlerReport(t *testing.T) {
	r := explore.Search(t, explore.Plan{Setup: unread})
	head, text, _ := strings.Cut(r.Text(), "\n")
	_, text, _ = strings.Cut(text, "\n") // how many steps it took is the release's
	text, _, _ = strings.Cut(text, "\n  buffers:")
	got := lineNumber.ReplaceAllString(head+"\n"+text, "$1")
	file := filepath.Join("testdata", "blocked-handler.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it:\n%s", file, got)
	}
}

var (
	update     = flag.Bool("update", false, "rewrite the golden files")
	lineNumber = regexp.MustCompile(`(\.go):\d+`)
)

// found explores with no hint, and expects a proved hang of the category, a report
// that says certain things, and a token that gives it again. The default strategy
// starts with the eager run; with the others the token has choices to follow.
func found(t *testing.T, setup func(*explore.Run), category string, says ...string) {
	t.Helper()
	for _, plan := range []explore.Plan{
		{}, {Seed: 1, Strategy: explore.POS}, {Seed: 2, Strategy: explore.POS},
		{Seed: 3, Strategy: explore.Random}, {Seed: 4, Strategy: explore.Random}, {Seed: 5, Strategy: explore.Random},
	} {
		plan.Setup = setup
		r := explore.Search(t, plan)
		if r.Verdict != explore.Hang || r.Category != category {
			t.Fatalf("seed %d: the verdict is %s %s, want %s %s:\n%s", plan.Seed, r.Verdict, r.Category, explore.Hang, category, r.Text())
		}
		for _, want := range says {
			if !strings.Contains(r.Text(), want) {
				t.Errorf("seed %d: %q is not said:\n%s", plan.Seed, want, r.Text())
			}
		}
		again := explore.Search(t, explore.Plan{Setup: setup, Token: r.Token})
		if again.Verdict != r.Verdict || again.Category != r.Category {
			t.Errorf("seed %d: the token gives %s %s, want %s %s:\n%s\n%s", plan.Seed,
				again.Verdict, again.Category, r.Verdict, r.Category, r.Text(), again.Text())
		}
		t.Logf("seed %d: %s after %d orders, token %s", plan.Seed, r.Category, r.Schedules, r.Token)
	}
}

// TestExploreSettled: the pair needs no bubble to pass.
func TestExploreSettled(t *testing.T) {
	explore.Explore(t, explore.Plan{Schedules: 12, Engine: explore.Settle, Setup: twoCalls(newest)})
}
