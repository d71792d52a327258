package diff_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// unlike returns a session whose calls and notifications differ from those with another word.
func unlike(word string, calls int) (events []store.Event) {
	add := func(dir transport.Direction, text string, args ...any) {
		events = append(events, store.Event{Seq: uint64(len(events) + 2), Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, text, args...)})
	}
	events = append(events, store.Event{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: store.SessionID("019a0000-0000-7000-8000-00000000000" + word), Transport: "memory"}.Encode()})
	for i := range calls {
		add(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","arguments":{"%s":"%s %d"}}}`, i, word, word, i*i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s %d"}}`, word, i*i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"%s":%d}]}}`, i, word, i*i)
	}
	return events
}

// TestReportEndsWithContext holds that a comparison gives up wherever its context ends, and that it looks at the
// context all along.
func TestReportEndsWithContext(t *testing.T) {
	const calls = 600
	a, b := unlike("a", calls), unlike("b", calls)
	looks := replaytest.Interrupt(t, func(ctx context.Context) error {
		_, err := read(t, diff.Options{}, a, b).ReportContext(ctx)
		return err
	})
	if looks < calls/20 {
		t.Errorf("%d looks of %d calls", looks, calls)
	}
}
