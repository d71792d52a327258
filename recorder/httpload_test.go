package recorder

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// scale returns the count of the mode: short, or that of a soak run.
func scale(short, soak int) int {
	if os.Getenv("MCPREC_SOAK") == "" {
		return short
	}
	return soak
}

// Many clients at once, each with a session, a listening stream and calls that answer
// with events: every frame is recorded once, in its session, in its exchange's order.
func TestProxyManyStreams(t *testing.T) {
	clients, calls, events := scale(20, 200), scale(50, 50), 3
	var streams sync.Map // session → what its listening stream is to say
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("Mcp-Session-Id")
		switch {
		case r.Method == http.MethodGet:
			said, _ := streams.LoadOrStore(id, make(chan string))
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for s := range said.(chan string) {
				sse(w, "event: message\ndata: "+s+"\n\n")
			}
		case strings.Contains(string(body), "initialize"):
			w.Header().Set("Mcp-Session-Id", "s"+strings.TrimSuffix(strings.TrimPrefix(string(body), `{"initialize":`), "}"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		default:
			said, _ := streams.LoadOrStore(id, make(chan string))
			said.(chan string) <- string(body)
			for i := range events {
				sse(w, fmt.Sprintf("event: message\ndata: {\"n\":%d,\"of\":%s}\n\n", i, body))
			}
		}
	}, HTTPOptions{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			id := fmt.Sprint("s", c)
			call(t, "POST", tt.url, "", fmt.Sprintf(`{"initialize":%d}`, c))
			listening := do(t, "GET", tt.url, id, "")
			for i := range calls {
				call(t, "POST", tt.url, id, fmt.Sprintf(`{"c":%d,"i":%d}`, c, i))
			}
			said, _ := streams.Load(id)
			close(said.(chan string))
			_, _ = io.Copy(io.Discard, listening.Body)
		})
	}
	all.Wait()
	tt.close()
	if len(tt.logs) != clients {
		t.Errorf("%d recordings of %d sessions", len(tt.logs), clients)
	}
	for _, s := range tt.logs {
		checkStreams(t, s.events, calls, events)
	}
}

// checkStreams checks the log of one client of TestProxyManyStreams.
func checkStreams(t *testing.T, log []store.Event, calls, events int) {
	t.Helper()
	var whole store.Validator
	asked, answered, heard := map[uint64]string{}, map[uint64]int{}, 0
	for _, e := range log {
		if err := whole.Check(e); err != nil {
			t.Error(err)
		}
		var m struct {
			N  int
			Of json.RawMessage
		}
		switch {
		case e.Kind != store.Frame:
		case e.Dir == transport.ClientToServer:
			asked[e.Stream] = string(e.Payload)
		case json.Unmarshal(e.Payload, &m) == nil && m.Of != nil:
			if string(m.Of) != asked[e.Stream] || m.N != answered[e.Stream] {
				t.Errorf("exchange %d: event %d of %s, want %d of %s", e.Stream, m.N, m.Of, answered[e.Stream], asked[e.Stream])
			}
			answered[e.Stream]++
		case asked[e.Stream] == "":
			heard++
		}
	}
	for stream, n := range answered {
		if n != events {
			t.Errorf("exchange %d: %d events", stream, n)
		}
	}
	if len(asked) != calls+1 || len(answered) != calls || heard != calls {
		t.Errorf("%d asked, %d answered, %d heard; want %d calls", len(asked), len(answered), heard, calls)
	}
}
