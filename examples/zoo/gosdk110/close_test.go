package gosdk110

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// TestCloseAfterCancel is https://github.com/modelcontextprotocol/go-sdk/issues/662:
// a call that was cancelled stays on the client's books until it is answered, and
// Close waits for the books to be empty. The specification says that the receiver
// of a cancellation should not answer, and this server obeys.
//
// The answer is never sent, and no capacity changes that. Since v1.2.0 the books
// forget the call.
func TestCloseAfterCancel(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 662 close after cancel",
		SDK:  mcp.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			r.Go(scripted(r.Server(), func(transport.Message) {}))
			r.Op("cancel, close", func(ctx context.Context) error { return cancelAndClose(ctx, r.Client()) })
		}},
		Want: map[string]zoo.Want{
			"v1.1.0": {Session: "gosdk-662", Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				`tools/call "slow" by cancel, close#1`, "operation cancel, close", "in mcp.(*ClientSession).Close"}},
			"v1.2.0": {},
		},
	}.Run(t)
}

// TestSessionCloseAfterCancel has the recorded server of the golden session, which reads
// the cancellation and answers nothing, as it should.
func TestSessionCloseAfterCancel(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 662 close, session",
		SDK:  mcp.NewClient,
		Plan: zoo.Played(t, "gosdk-662", fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
			if err := cancelAndClose(t.Context(), conn); err != nil {
				t.Error(err)
			}
		}),
		Want: map[string]zoo.Want{
			"v1.1.0": {Verdict: explore.Hang, Category: explore.AnswerLost, Says: []string{
				`tools/call "slow" by client#1`, "in mcp.(*ClientSession).Close"}},
			"v1.2.0": {},
		},
	}.Run(t)
}

func cancelAndClose(ctx context.Context, conn transport.Conn) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil)
	session, err := client.Connect(ctx, gosdk.Transport(conn), nil)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := session.CallTool(short, &mcp.CallToolParams{Name: "slow"}); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the call was not cancelled: %v", err)
	}
	return session.Close()
}
