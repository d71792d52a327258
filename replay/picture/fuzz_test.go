package picture_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// FuzzIndex: whatever the events are, rows from any of them are those of the whole session,
// and nobody sees in a label what cannot be seen. Each line of the input is an event: the
// first byte chooses its kind, the second its direction and exchange, the rest is the payload.
func FuzzIndex(f *testing.F) {
	kinds := []store.Kind{
		store.Frame, store.Frame, store.Frame, store.Frame, store.HTTP, store.Stderr, store.Lost, store.Delivered,
		store.EOF, store.Exited, store.Signal, store.Stalled, store.Note, store.Closed, store.Opened, "other",
	}
	f.Add([]byte("00{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"_meta\":{\"progressToken\":1}}}\n" +
		"01{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n01[{\"id\":1,\"result\":{\"isError\":true}},{\"id\":1,\"result\":{}}]\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		var events []store.Event
		for line := range bytes.SplitSeq(input, []byte("\n")) {
			if len(line) < 2 || len(events) == 100 {
				continue
			}
			e := store.Event{
				Seq: uint64(len(events) + 1), At: time.Duration(len(events)%7) * time.Second, Kind: kinds[line[0]%16],
				Dir: transport.Direction(line[1]%4) + 1, Stream: uint64(line[1] / 4 % 4), Payload: line[2:],
			}
			if line[1] >= 0x80 {
				e.Cut = uint64(line[1])
			}
			events = append(events, e)
		}
		checkAnyStart(t, events)
	})
}
