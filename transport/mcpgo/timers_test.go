package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// deadlines is a conforming pair, in which each call has a deadline. One call has the server
// ask the client's model, and one operation makes the server tell of a new tool.
func deadlines(r *explore.Run) {
	s := server.NewMCPServer("server", "1", server.WithToolCapabilities(true))
	s.EnableSampling()
	s.AddTool(mcp.NewTool("work"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(said.Model), nil
	})
	r.Go(func(ctx context.Context) { _ = mcpgo.ServeInProcess(ctx, s, r.Server()) })
	c := client.NewClient(mcpgo.Client(r.Client()), client.WithSamplingHandler(brief{}))
	r.Op("connect", func(context.Context) error { return initialize(r.Context(), c) })
	use(r, c)
	change(r, s)
}

// brief is a client's model that says little.
type brief struct{}

func (brief) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "done", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: "hello"},
	}}, nil
}

// nilResponse is what a call over HTTP may say at its deadline: mcp-go v1.2.1 selects between the end of
// its stream and that of the context (streamable_http.go:983).
const nilResponse = "unexpected nil response"

// use adds the operations of a client that is connected. No two of the deadlines can pass at the same
// moment: which of two calls the SDK would cancel first is in no token.
func use(r *explore.Run, c *client.Client) {
	within := func(deadline time.Duration, do func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, deadline)
			defer stop()
			err := do(ctx)
			if ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), nilResponse)) {
				return nil // that is the schedule's right
			}
			return err
		}
	}
	work := func(ctx context.Context) error {
		request := mcp.CallToolRequest{}
		request.Params.Name = "work"
		result, err := c.CallTool(ctx, request)
		if err != nil {
			return err
		}
		if text, ok := result.Content[0].(mcp.TextContent); !ok || text.Text != "done" {
			err = fmt.Errorf("call work: it said %v", result.Content[0])
		}
		return err
	}
	list := func(ctx context.Context) error {
		listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		if err == nil && len(listed.Tools) == 0 {
			err = errors.New("the server has no tools")
		}
		return err
	}
	r.Op("call", within(60*time.Second, work)).After("connect")
	r.Op("list", within(70*time.Second, list)).After("connect")
	r.Op("list again", within(85*time.Second, list)).After("call")
	r.Op("close", func(context.Context) error { return c.Close() }).AfterAll()
}

// change adds an operation that gives the server another tool, which it tells the client.
func change(r *explore.Run, s *server.MCPServer) {
	r.Op("change", func(context.Context) error {
		s.AddTool(mcp.NewTool("more"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
		return nil
	}).After("connect")
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

// TestExploreTimers: a pair of the SDK is right in any order, also where deadlines pass while
// frames are on their way.
func TestExploreTimers(t *testing.T) {
	fired := passes(t, explore.Plan{Setup: deadlines, Timers: 3, Schedules: scale(200, 200_000)})
	if fired == 0 {
		t.Error("no timer fired while frames waited")
	}
}

// TestExploreTokens: any schedule is the same again by its token. A Write returns when its frame
// is taken: if the response came and the deadline passed before, the SDK would select between
// the two at random.
func TestExploreTokens(t *testing.T) {
	sameAgain(t, explore.Plan{Setup: deadlines, Timers: 3, AckWithTake: true}, scale(25, 4000))
}

// sameAgain makes runs of a plan, each of which fails a check and so has a token, and follows
// the tokens.
func sameAgain(t *testing.T, plan explore.Plan, runs int) {
	t.Helper()
	stop, timed := errors.New("stop"), 0
	plan.Check = func(*explore.Run) error { return stop }
	for i := range runs {
		plan := plan
		plan.Strategy, plan.Seed, plan.Schedules, plan.Shrink = []explore.Strategy{explore.POS, explore.Random}[i%2], uint64(i), 1, -1
		if plan.HTTP == nil {
			plan.Capacities = explore.Sweep[i/2%len(explore.Sweep):][:1]
		}
		first := explore.Search(t, plan)
		plan.Token = first.Token
		again := explore.Search(t, plan)
		if again.Token != first.Token || again.Verdict != first.Verdict || !slices.Equal(again.Sequence, first.Sequence) {
			t.Fatalf("seed %d:\n%s\n%s", i, first.Text(), again.Text())
		}
		if len(first.Timers) > 0 {
			timed++
		}
	}
	t.Logf("%d tokens without a divergence", runs)
	if timed == 0 {
		t.Errorf("time passed in none of %d schedules", runs)
	}
}
