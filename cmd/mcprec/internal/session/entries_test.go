package session

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestReadingBounded: the end of a long session is read without its beginning, and a response
// from whose request it is too far says that the request was not looked up.
func TestReadingBounded(t *testing.T) {
	const length = 100_000
	for _, row := range []struct {
		reading   Reading
		requestAt uint64
		from      uint64
		want      string
	}{
		{Reading{First: length}, length - pairingReach, length - pairingReach, "response result of ping id 1 after 0s (25 B)"},
		{Reading{First: length}, length - pairingReach - 1, length - pairingReach, "response result id 1 (request not looked up) (25 B)"},
		{Reading{First: pairingReach}, 2, 1, "response result of ping id 1 after 0s (25 B)"},
		{Reading{First: length, Whole: true}, 2, 1, "response result of ping id 1 after 0s (25 B)"},
		{Reading{First: length, Ahead: true}, 2, 1, "response result of ping id 1 after 0s (25 B)"},
	} {
		asked := uint64(0)
		events := func(_ context.Context, from uint64, _ store.ReadOptions) iter.Seq2[store.Event, error] {
			asked = from
			return func(yield func(store.Event, error) bool) {
				for seq := from; seq <= length; seq++ {
					e := store.Event{Seq: seq, Kind: store.Delivered}
					switch seq {
					case row.requestAt:
						e = store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"id":1,"method":"ping"}`)}
					case length:
						e = store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"id":1,"result":{"a":1}}`)}
					}
					if !yield(e, nil) {
						return
					}
				}
			}
		}
		last := ""
		transcript := timeline.NewTranscript(func(e timeline.Entry) error {
			if e.Seq == length {
				last = e.Summary()
			}
			return nil
		})
		if err := row.reading.project(t.Context(), events, transcript); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("from #%d: %s", asked, last); got != fmt.Sprintf("from #%d: %s", row.from, row.want) {
			t.Errorf("%+v: %s, want from #%d: %s", row.reading, got, row.from, row.want)
		}
	}
}
