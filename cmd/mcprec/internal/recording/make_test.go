package recording

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/workload"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestMadeText holds that the requests of a made session are those of its client.
func TestMadeText(t *testing.T) {
	frame := func(seq uint64, dir transport.Direction, text string) store.Event {
		return store.Event{Seq: seq, Kind: store.Frame, Dir: dir, Payload: []byte(text)}
	}
	made := external.Made{Events: []store.Event{
		frame(1, transport.ClientToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`),
		frame(2, transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`),
		frame(3, transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`),
	}}
	const want = "the session has 1 request; 1 answered with an error, the first is tools/call search: --call 'TOOL {…}' gives better arguments"
	if got := madeText(made); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// TestLeaveOutSlow holds which calls are too slow for a search: a call that waits for the one in front of it is not slow by itself, and
// one that is slow says nothing of others of its tool that are not.
func TestLeaveOutSlow(t *testing.T) {
	type call struct {
		arguments      string
		asked, replied time.Duration // since the beginning
		result         string
	}
	const fine, failed = `{"content":[]}`, `{"content":[],"isError":true}`
	for name, row := range map[string]struct {
		calls   []call
		isAny   bool
		tooSlow []string
		without bool
	}{
		"quick":                            {[]call{{`{}`, 0, time.Second, fine}}, false, nil, false},
		"slow":                             {[]call{{`{}`, 0, 3 * time.Second, fine}, {`{}`, 3 * time.Second, 6 * time.Second, fine}}, true, nil, true},
		"two of them, one after the other": {[]call{{`{}`, 0, 1500 * time.Millisecond, fine}, {`{}`, 0, 3 * time.Second, fine}}, false, nil, false},
		"slow with other arguments":        {[]call{{`{}`, 0, time.Second, fine}, {`{"n":9}`, time.Second, 4 * time.Second, fine}}, true, []string{`{"n":9}`}, false},
		"quick to fail":                    {[]call{{`{}`, 0, 3 * time.Second, fine}, {`{"n":9}`, 3 * time.Second, 3 * time.Second, failed}}, true, nil, true},
	} {
		type moment struct {
			at   time.Duration
			dir  transport.Direction
			text string
		}
		var moments []moment
		for id, c := range row.calls {
			moments = append(moments,
				moment{c.asked, transport.ClientToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":%s}}`, id, c.arguments)},
				moment{c.replied, transport.ServerToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, c.result)})
		}
		slices.SortStableFunc(moments, func(a, b moment) int { return int(a.at - b.at) })
		var made external.Made
		for i, m := range moments {
			made.Events = append(made.Events, store.Event{Seq: uint64(i + 1), At: m.at, Kind: store.Frame, Dir: m.dir, Payload: []byte(m.text)})
		}
		m := Making{Wishes: workload.Wishes{Without: map[string]string{}}, Say: func(string) {}}
		isAny := m.leaveOutSlow(made)
		var tooSlow []string
		for _, call := range m.Wishes.TooSlow {
			tooSlow = append(tooSlow, string(call.Arguments))
		}
		if isAny != row.isAny || !slices.Equal(tooSlow, row.tooSlow) || (m.Wishes.Without["search"] != "") != row.without {
			t.Errorf("%s: %v, too slow %q, without %q", name, isAny, tooSlow, m.Wishes.Without)
		}
	}
}
