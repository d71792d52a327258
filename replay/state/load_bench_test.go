package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// BenchmarkTake folds calls and their answers, some 330 bytes each.
func BenchmarkTake(b *testing.B) {
	const calls = 1000
	var events []store.Event
	add := func(dir transport.Direction, text string) {
		n := len(events)
		events = append(events, store.Event{Seq: uint64(n + 2), At: time.Duration(n) * time.Microsecond, Kind: store.Frame, Dir: dir, Payload: []byte(text)})
	}
	size := 0
	for i := range calls {
		add(transport.ClientToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":%q,"limit":10},"_meta":{"progressToken":%d}}}`, i, strings.Repeat("lorem ipsum ", 14), i))
		add(transport.ServerToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}],"isError":false}}`, i, strings.Repeat("the answer ", 24)))
		size += len(events[2*i].Payload) + len(events[2*i+1].Payload)
	}
	b.SetBytes(int64(size / len(events)))
	b.ReportAllocs()
	s := newSession()
	for i := range b.N {
		if err := s.take(events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClone copies the state of a session with few open calls.
func BenchmarkClone(b *testing.B) {
	s := newSession()
	for i := range uint64(20) {
		s.take(store.Event{Seq: i, Kind: store.Frame, Dir: 1, Payload: fmt.Appendf(nil, `{"id":%d,"method":"ping"}`, i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		s.clone()
	}
}
