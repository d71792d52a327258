package gosdk170

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// Both cases are https://github.com/modelcontextprotocol/go-sdk/issues/1150: a call
// whose context has ended returns only when its notifications/cancelled is written.
// The server works on the goroutine that reads, and is at the very call. A transport
// with room for one frame hides it. Since v1.8.0 the caller does not wait for the
// Write.

var anyRoom = []explore.Capacity{{C2S: 1, S2C: 1}, {C2S: explore.Unbounded, S2C: explore.Unbounded}}

// TestCancelHangs is over a pipe to a process, where nothing ends a Write.
func TestCancelHangs(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1150 cancel, pipe",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) { slowCall(r, pipe{r.Client()}) }},
		Want: map[string]zoo.Want{
			"v1.7.0": {Session: "gosdk-1150", Verdict: explore.Hang, Category: explore.BehindRequest, Says: []string{
				"operation call", "the Write of notifications/cancelled", `holds      tools/call "slow" by call#1`, "cancel_test.go"}, Hidden: anyRoom},
			"v1.8.0": {},
		},
	}.Run(t)
}

// TestCancelLate is over a Conn whose Write obeys its context: the five seconds that
// the SDK gives the notification end the call.
func TestCancelLate(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1150 cancel, context obeyed",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) { slowCall(r, r.Client()) }},
		Want: map[string]zoo.Want{
			"v1.7.0": {Verdict: explore.CheckFailed, Category: explore.TimerOnly, Says: []string{
				"with 1s to live took 6s"}, Hidden: anyRoom},
			"v1.8.0": {},
		},
	}.Run(t)
}

// slowCall is a call with a second to live, of a server that never answers it and
// reads no more.
func slowCall(r *explore.Run, conn transport.Conn) {
	r.Go(scripted(r.Server(), func(m transport.Message) {
		if m.Method == "tools/call" {
			<-r.Context().Done()
		}
	}))
	calling(r, conn)
}

// TestSessionCancelHangs has the recorded server of the golden session: it has read the
// call when the session ends, and nothing behind it.
func TestSessionCancelHangs(t *testing.T) {
	golden := zoo.Golden(t, "gosdk-1150")
	zoo.Case{
		Name: "go-sdk 1150 cancel, pipe, session",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) { zoo.LimitedServer(ctx, golden, r.Server()) })
			calling(r, pipe{r.Client()})
		}},
		Want: map[string]zoo.Want{
			"v1.7.0": {Verdict: explore.Hang, Category: explore.BehindRequest, Says: []string{
				"operation call", "the Write of notifications/cancelled", `holds      tools/call "slow" by call#1`, "cancel_test.go"}, Hidden: anyRoom},
			"v1.8.0": {},
		},
	}.Run(t)
}

// calling is the client's call.
func calling(r *explore.Run, conn transport.Conn) {
	r.Op("call", func(ctx context.Context) error {
		client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil)
		session, err := client.Connect(ctx, gosdk.Transport(conn), nil)
		if err != nil {
			return err
		}
		start := time.Now()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = session.CallTool(short, &mcp.CallToolParams{Name: "slow"})
		if took := time.Since(start); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the call with 1s to live took %v: %w", took, err)
		}
		return nil
	})
}

// pipe is a Conn whose Write nothing ends but a reader or a close.
type pipe struct{ transport.Conn }

func (p pipe) Write(ctx context.Context, f transport.Frame) error {
	return p.Conn.Write(context.WithoutCancel(ctx), f)
}
