package recording

import (
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestRenewWithoutWaits: a server that was slow to read on a busy machine makes no other recording.
func TestRenewWithoutWaits(t *testing.T) {
	session := func(isBusy bool, result string) (events []store.Event) {
		add := func(kind store.Kind, dir transport.Direction, payload []byte) {
			events = append(events, store.Event{Seq: uint64(len(events) + 1), At: time.Millisecond, Kind: kind, Dir: dir, Payload: payload})
		}
		add(store.Opened, transport.NoDirection, store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191af", Transport: "stdio"}.Encode())
		add(store.Frame, transport.ClientToServer, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if isBusy {
			add(store.Stalled, transport.ClientToServer, store.EncodePayload(store.StalledInfo{Unread: 9, Blocked: true}))
			add(store.Delivered, transport.ClientToServer, store.EncodePayload(store.DeliveredInfo{Upto: 2, Blocked: time.Second}))
		}
		add(store.Frame, transport.ServerToClient, []byte(`{"jsonrpc":"2.0","id":1,"result":`+result+`}`))
		return events
	}
	renewed, err := Fill{}.Renew(session(false, `{}`), session(true, `{"a":1}`), match.Rules{})
	want := session(false, `{"a":1}`)
	if err != nil || len(renewed) != len(want) {
		t.Fatalf("%v, %d events, want %d", err, len(renewed), len(want))
	}
	for i, e := range renewed {
		if e.Seq != want[i].Seq || e.Kind != want[i].Kind || string(e.Payload) != string(want[i].Payload) {
			t.Errorf("event %d is #%d %s %s, want %s %s", i+1, e.Seq, e.Kind, e.Payload, want[i].Kind, want[i].Payload)
		}
	}
}
