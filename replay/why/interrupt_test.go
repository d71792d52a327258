package why

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestReportEndsWithContext holds that a report on many open calls, questions and tasks gives up wherever its context
// ends, and that it looks at the context all along.
func TestReportEndsWithContext(t *testing.T) {
	const calls = 3000
	var events []store.Event
	add := func(dir transport.Direction, text string, args ...any) {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), At: time.Duration(len(events)) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, text, args...)})
	}
	for i := range calls {
		add(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{}}`, i)
		add(transport.ClientToServer, `{"jsonrpc":"2.0","id":"t%d","method":"tools/call","params":{"name":"x","task":{}}}`, i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","id":"t%d","result":{"task":{"taskId":"t%d","status":"working"}}}`, i, i)
	}
	var fold Fold
	for step, err := range timeline.Steps(jsonl.Each(events)) {
		if err = errors.Join(err, fold.Take(step)); err != nil {
			t.Fatal(err)
		}
	}
	looks := replaytest.Interrupt(t, func(ctx context.Context) error {
		_, err := fold.ReportContext(ctx, Live{}, time.Millisecond)
		return err
	})
	if looks < 3*calls/256 {
		t.Errorf("%d looks at %d calls and as many questions and tasks", looks, calls)
	}
}
