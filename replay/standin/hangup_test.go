package standin

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// abandoned is a session over HTTP: what a subscription tells, on exchange 1, comes
// before the answer to a call, on exchange 2. Then the client hangs up on the
// subscription and says more on exchange 3.
func abandoned() []store.Event {
	events := recordPlaybook(`
		> {"id":1,"method":"subscriptions/listen"}
		< {"method":"notifications/subscriptions/acknowledged"}
		> {"id":2,"method":"tools/call"}
		< {"method":"notifications/tools/list_changed"}
		< {"id":2,"result":{}}
		> {"id":3,"method":"tools/list"}
		< {"id":3,"result":{"tools":[]}}`)
	for i, stream := range []uint64{1, 1, 2, 1, 2, 3, 3} {
		events[i+1].Stream = stream
	}
	var over []store.Event
	asked := map[uint64]bool{}
	for _, e := range events {
		if e.Stream == 3 && !asked[3] {
			over = append(over, store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: 1, Payload: store.EncodePayload(store.HTTPInfo{What: store.HTTPAbort})})
		}
		if e.Kind == store.Frame && !asked[e.Stream] {
			asked[e.Stream] = true
			over = append(over, store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: e.Stream, Payload: store.EncodePayload(store.HTTPInfo{What: store.HTTPRequest, Method: "POST", Path: "/mcp"})})
		}
		over = append(over, e)
	}
	for i := range over {
		over[i].Seq = uint64(i + 1)
	}
	return over
}

// TestDriveHearsBeforeItHangsUp has the answer to the call overtake what comes on the
// stream that the client hangs up on: the one HTTP response may be read before the
// other. The client hangs up when it has heard both, or when the server has been
// silent, and goes on only then.
func TestDriveHearsBeforeItHangsUp(t *testing.T) {
	const acknowledged, changed = `{"method":"notifications/subscriptions/acknowledged"}`, `{"method":"notifications/tools/list_changed"}`
	const called, listed = `{"id":2,"result":{}}`, `{"id":3,"result":{"tools":[]}}`
	for _, tt := range []struct {
		name    string
		called  []string // what the server says to the call
		arrived bool     // what the client has heard when it hangs up
		took    time.Duration
		without string
	}{
		{"as recorded", []string{changed, called}, true, 0, ""},
		{"the answer first", []string{called, changed}, true, 0, ""},
		{"the answer alone", []string{called}, false, defaultPatience, "#7 (notifications/tools/list_changed)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := NewDriver(abandoned(), match.Rules{})
				var hungUp []uint64
				hangUp := func(exchange uint64) {
					hungUp = append(hungUp, exchange)
					if d.messages[1].arrived != tt.arrived || d.frames[2].sent {
						t.Errorf("hung up: the notification has come: %v; the next request is sent: %v", d.messages[1].arrived, d.frames[2].sent)
					}
				}
				pipe := transport.NewPipe(0, 0, nil)
				server := liveServer{conn: pipe.Server(), said: [][]string{{acknowledged}, tt.called, {listed}}}
				go server.run(t.Context())
				start := time.Now()
				end, err := Drive(t.Context(), pipe.Client(), d, DriveOptions{Timeout: time.Minute, HangUp: hangUp})
				if took := time.Since(start); err != nil || end != Complete || took != tt.took {
					t.Errorf("%s, %v after %v", end, err, took)
				}
				if without := strings.Join(d.Without(), "; "); !slices.Equal(hungUp, []uint64{1}) || without != tt.without {
					t.Errorf("hung up on %d, without %q", hungUp, without)
				}
			})
		})
	}
}
