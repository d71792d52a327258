package gomcp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThinkInAIXYZ/go-mcp/client"
	"github.com/ThinkInAIXYZ/go-mcp/pkg"
	"github.com/ThinkInAIXYZ/go-mcp/protocol"
	gomcp "github.com/ThinkInAIXYZ/go-mcp/transport"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// The client hands each progress notification to the caller's channel on the
// goroutine that reads, and waits a second for it
// (https://github.com/ThinkInAIXYZ/go-mcp/commit/432b9cd): the response is behind
// notifications that the caller reads after the call. Each costs a second and is then
// dropped. Only timers bring the call to its end. A channel that holds all of them
// hides it. No release is without it.

const progress = 3 // notifications before the response

// quiet does not say which notifications the SDK drops.
type quiet struct{ pkg.Logger }

func (quiet) Errorf(string, ...any) {}

func TestProgressStallsReader(t *testing.T) {
	pkg.DefaultLogger = quiet{pkg.DefaultLogger}
	calling(t, "go-mcp progress, channel 0", 0, zoo.Want{Session: "gomcp-progress", Verdict: explore.CheckFailed,
		Says: []string{"the call took 3s, and 0 of 3 notifications were delivered"}})
}

func TestProgressFits(t *testing.T) {
	calling(t, "go-mcp progress, channel 3", progress, zoo.Want{})
}

func calling(t *testing.T, name string, channel int, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  client.NewClient,
		Plan: explore.Plan{Schedules: 30, Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) { serve(ctx, r.Server()) })
			r.Op("call", func(ctx context.Context) error { return call(ctx, r.Client(), channel) })
		}},
		Want: map[string]zoo.Want{"v0.2.29": want},
	}.Run(t)
}

// call fails if the SDK held the call, or dropped a notification.
func call(ctx context.Context, conn transport.Conn, channel int) error {
	stream := transport.NewByteStream(conn)
	c, err := client.NewClient(gomcp.NewMockClientTransport(stream, stream))
	if err != nil {
		return err
	}
	defer c.Close()
	told := make(chan *protocol.ProgressNotification, channel)
	start := time.Now()
	if _, err := c.CallToolWithProgressChan(ctx, &protocol.CallToolRequest{Name: "work"}, told); err != nil {
		return err
	}
	took, seen := time.Since(start), 0
	for range told {
		seen++
	}
	if took > 0 {
		return fmt.Errorf("the call took %v, and %d of %d notifications were delivered", took, seen, progress)
	}
	return nil
}

// The same calls, but the server is the recorded one of the golden session.

func TestSessionStallsReader(t *testing.T) {
	pkg.DefaultLogger = quiet{pkg.DefaultLogger}
	playing(t, "go-mcp progress, channel 0, session", 0, zoo.Want{Verdict: explore.CheckFailed,
		Says: []string{"the call took 3s, and 0 of 3 notifications were delivered"}})
}

func TestSessionFits(t *testing.T) {
	playing(t, "go-mcp progress, channel 3, session", progress, zoo.Want{})
}

func playing(t *testing.T, name string, channel int, want zoo.Want) {
	plan := zoo.Played(t, "gomcp-progress", fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
		if err := call(t.Context(), conn, channel); err != nil {
			t.Error(err)
		}
	})
	plan.Schedules = 30
	zoo.Case{Name: name, SDK: client.NewClient, Plan: plan, Want: map[string]zoo.Want{"v0.2.29": want}}.Run(t)
}

// serve answers a call after its progress.
func serve(ctx context.Context, conn transport.Conn) {
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return
		}
		messages, err := f.Messages()
		if err != nil {
			return
		}
		switch m := messages[0]; m.Method {
		case "initialize":
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}}`, m.ID)
		case "tools/call":
			for i := range progress {
				write(ctx, conn, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ProgressToken(), i+1)
			}
			write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
	}
}

func write(ctx context.Context, conn transport.Conn, format string, args ...any) {
	conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}
