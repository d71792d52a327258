package mcpgo037

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestTornFrames is https://github.com/mark3labs/mcp-go/issues/528: the stdio server
// answers each tool call on a goroutine of its own, and none locks stdout. A pipe
// that takes a long write in pieces mixes the answers. Since v0.38.0 there is a lock.
//
// When a writer stands between two pieces is a scheduling point here. The server keeps
// its session in a package variable, outside of every bubble, so the engine is the
// one that settles.
func TestTornFrames(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 528 torn frames",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{Engine: explore.Settle, Schedules: 60, Setup: func(r *explore.Run) {
			r.Go(func(ctx context.Context) { talk(ctx, r.Server()) })
			r.Op("two calls", func(ctx context.Context) error { return twoCalls(ctx, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v0.37.0": {Session: "mcpgo-528", Verdict: explore.CheckFailed, Says: []string{"not JSON"}},
			"v0.38.0": {},
		},
	}.Run(t)
}

// TestSessionTornFrames has the recorded client of the golden session, which makes both
// calls at once.
func TestSessionTornFrames(t *testing.T) {
	zoo.Case{
		Name: "mcp-go 528 torn frames, session",
		SDK:  server.NewStdioServer,
		Plan: explore.Plan{
			Engine: explore.Settle, Schedules: 60, Session: zoo.Golden(t, "mcpgo-528").Events(),
			Setup: func(r *explore.Run) {
				r.Go(func(ctx context.Context) { talk(ctx, &torn{r.Server(), r}) })
				r.RecordedClient()
			},
		},
		Want: map[string]zoo.Want{
			"v0.37.0": {Verdict: explore.CheckFailed, Says: []string{"not JSON"}},
			"v0.38.0": {},
		},
	}.Run(t)
}

// torn is a server's Conn that fails the run at the first frame which is no message:
// the calls that it was to answer stay open.
type torn struct {
	transport.Conn
	run *explore.Run
}

func (c *torn) Write(ctx context.Context, f transport.Frame) error {
	if _, err := f.Messages(); err != nil {
		c.run.Fail(fmt.Errorf("the answer %q: %w", f.Bytes, err))
	}
	return c.Conn.Write(ctx, f)
}

// talk is the SDK's stdio server over a pipe that takes every write in two.
func talk(ctx context.Context, conn transport.Conn) {
	s := server.NewMCPServer("talking", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("talk"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("a long answer"), nil
	})
	stream := transport.NewByteStream(conn)
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(io.Discard, "", 0)) // it would say that a run is over
	stdio.Listen(ctx, stream, &pieces{ctx: ctx, out: stream})
}

// pieces takes every write in two.
type pieces struct {
	ctx context.Context
	out *transport.ByteStream

	mu   sync.Mutex // never held across a wait
	line []byte     // so far
}

func (p *pieces) Write(b []byte) (int, error) {
	if err := p.append(b[:len(b)/2]); err != nil {
		return 0, err
	}
	explore.Point(p.ctx, "the second piece")
	return len(b), p.append(b[len(b)/2:])
}

func (p *pieces) append(b []byte) error {
	p.mu.Lock()
	p.line = append(p.line, b...)
	n := bytes.LastIndexByte(p.line, '\n') + 1
	lines := bytes.Clone(p.line[:n])
	p.line = p.line[n:]
	p.mu.Unlock()
	_, err := p.out.Write(lines)
	return err
}

// twoCalls calls twice at once and reads two answers.
func twoCalls(ctx context.Context, conn transport.Conn) error {
	write := func(frame string) error { return conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}) }
	if err := write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"scripted","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := conn.Read(ctx); err != nil {
		return err
	}
	if err := write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	for id := 2; id <= 3; id++ {
		if err := write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"talk"}}`, id)); err != nil {
			return err
		}
	}
	for range 2 {
		f, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if _, err := f.Messages(); err != nil {
			return fmt.Errorf("the answer %q: %w", f.Bytes, err)
		}
	}
	return nil
}
