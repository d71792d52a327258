package closed

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// longCrossing is a session that hangs at capacity 0 under rigid ends, late, behind many calls.
func longCrossing(calls int) *Recording {
	var events []store.Event
	add := func(dir transport.Direction, text string, args ...any) {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, text, args...)})
	}
	for i := range calls {
		add(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)
	}
	add(transport.ClientToServer, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"x"}}`)
	add(transport.ServerToClient, `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}`)
	r, err := Load(jsonl.Each(events))
	if err != nil {
		panic(err)
	}
	return r
}

// TestReplayEndsWithContext holds that a replay gives up wherever its context ends, and that it looks at the context
// all along: while it makes the scripts, plays, and searches for changes.
func TestReplayEndsWithContext(t *testing.T) {
	const calls = 1000
	r := longCrossing(calls)
	for _, setup := range []Setup{
		{Client: SingleThreaded, Server: SingleThreaded}, {Client: NotificationQueue(0)}, {Client: BlockingHandlers, Server: BlockingHandlers}, {Client: AnswersInline, Server: AnswersInline}, {},
	} {
		looks := replaytest.Interrupt(t, func(ctx context.Context) (err error) {
			_, err = ReplayContext(ctx, r, setup)
			return err
		})
		if plays := 1 + len(Replay(r, setup).Changes); looks < plays*calls/200 {
			t.Errorf("%v: %d looks while it makes %d plays or more of %d calls", setup, looks, plays, calls)
		}
	}
}
