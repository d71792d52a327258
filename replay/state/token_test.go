package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// withTokenByScan is withToken by going through all open calls.
func withTokenByScan(t *callTable, dir transport.Direction, key mcp.Key) (latest *call) {
	for _, c := range t.all() {
		if c.Dir == dir && c.TokenKey() == key {
			latest = c
		}
	}
	return latest
}

// TestWithToken holds that the calls with a token are listed as they are open, whenever that is first asked, and
// that a question goes through no call that has been closed.
func TestWithToken(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newSession()
	asked := 0
	for seq := uint64(1); seq < 2000; seq++ {
		id, token := random.IntN(40), random.IntN(4)
		text, dir := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"_meta":{"progressToken":%d}}}`, id, token), transport.ClientToServer
		if random.IntN(2) == 0 {
			text, dir = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id), transport.ServerToClient
		}
		if err := s.take(store.Event{Seq: seq, Kind: store.Frame, Dir: dir, Payload: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		if seq == 1000 {
			s = s.clone()
		}
		if seq < 100 {
			continue
		}
		for token := range 5 {
			key := mcp.KeyOf(fmt.Append(nil, token))
			for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
				if got, want := s.calls.withToken(dir, key), withTokenByScan(&s.calls, dir, key); got != want {
					t.Fatalf("#%d, %v with token %d: %v, want %v", seq, dir, token, got, want)
				} else if got != nil {
					asked++
				}
			}
		}
	}
	if asked == 0 {
		t.Error("no call was ever found")
	}
	for named, list := range s.calls.tokens {
		if len(list) > 0 && list[len(list)-1].closed {
			t.Errorf("%v: a closed call is listed last", named)
		}
	}
}
