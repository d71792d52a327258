package gosdk180

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestEOFDropsResponse is https://github.com/modelcontextprotocol/go-sdk/issues/1061: a
// client that closes its writing side behind its last request, as a shell's
// pipe does, ends the session of a server that reads the end of the file before its
// answer is written. No release is without it.
func TestEOFDropsResponse(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 1061 EOF drops response",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Lawless: true, Setup: func(r *explore.Run) {
			if _, err := newServer().Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
				panic(err)
			}
			r.Op("pipe", func(ctx context.Context) error { return pipe(ctx, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v1.8.0": {Verdict: explore.CheckFailed},
		},
	}.Run(t)
}

// pipe is printf … | server: it writes, says that this is all, and reads to the end.
func pipe(ctx context.Context, conn transport.Conn) error {
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"printf","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet"}}`,
	} {
		if err := conn.Write(ctx, transport.Frame{Bytes: []byte(frame)}); err != nil {
			return err
		}
	}
	if err := conn.(transport.HalfCloser).CloseWrite(); err != nil {
		return err
	}
	for answers := 0; ; answers++ {
		_, err := conn.Read(ctx)
		switch {
		case errors.Is(err, io.EOF) && answers < 2:
			return fmt.Errorf("2 requests were answered %d times", answers)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
