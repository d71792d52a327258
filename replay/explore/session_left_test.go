package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// lookedOnce is a session of one call, recorded on stdio.
const lookedOnce = `
	> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
	< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
	> ~initialized
	> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look"}}
	< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
`

// keeper is a server over HTTP that keeps a goroutine for each session, as long as the session lasts.
type keeper struct {
	delete func(keeper, http.ResponseWriter)
	over   chan struct{} // closed when the session ends
	leaks  bool          // it keeps another goroutine, which the end of the session does not end
	polls  bool          // the goroutine of the session looks after it a thousand times a second
}

func (k keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	messages, _ := (transport.Frame{Bytes: body}).Messages()
	switch {
	case r.Method == http.MethodDelete && r.Header.Get(mcp.HeaderSessionID) == "kept":
		k.delete(k, w)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case len(messages) == 0 || messages[0].Kind() != transport.Request:
		w.WriteHeader(http.StatusAccepted)
	case messages[0].Method == mcp.MethodInitialize:
		go k.keep()
		if k.leaks {
			go func() { <-make(chan struct{}) }()
		}
		w.Header().Set(mcp.HeaderSessionID, "kept")
		w.Header().Set("Content-Type", mcp.MediaJSON)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, messages[0].ID)
	default:
		w.Header().Set("Content-Type", mcp.MediaJSON)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, messages[0].ID)
	}
}

func (k keeper) keep() {
	var poll <-chan time.Time
	if k.polls {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		select {
		case <-k.over:
			return
		case <-poll:
		}
	}
}

func endSession(k keeper, _ http.ResponseWriter) { close(k.over) }

func refuseToEnd(_ keeper, w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) }

func neverAnswer(keeper, http.ResponseWriter) { select {} }

func lockTwice(keeper, http.ResponseWriter) {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

func endWithPanic(k keeper, _ http.ResponseWriter) {
	close(k.over)
	panic("after the end")
}

// A session that no DELETE ends is no leak of its server. What its end leaves behind is one.
func TestSessionLeftOpen(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	const note = "a session that was not ended"
	for name, test := range map[string]struct {
		keeper
		deletes bool // the client
		engine  Engine
		want    string
		note    string
	}{
		"never deleted":               {keeper{delete: endSession}, false, Bubble, Pass, ""},
		"never deleted, polls":        {keeper{delete: endSession, polls: true}, false, Bubble, Pass, ""},
		"never deleted, in real time": {keeper{delete: endSession}, false, Settle, Pass, ""},
		"deleted":                     {keeper{delete: endSession}, true, Bubble, Pass, ""},
		"refused":                     {keeper{delete: refuseToEnd}, true, Bubble, Pass, note},
		"refused, polls":              {keeper{delete: refuseToEnd, polls: true}, true, Bubble, Pass, note},
		"would be refused":            {keeper{delete: refuseToEnd}, false, Bubble, Pass, note},
		"would have no answer":        {keeper{delete: neverAnswer}, false, Bubble, Pass, note},
		"would wait for a mutex":      {keeper{delete: lockTwice}, false, Bubble, Pass, note},
		"would panic":                 {keeper{delete: endWithPanic}, false, Bubble, Pass, ""},
		"never deleted, and a leak":   {keeper{delete: endSession, leaks: true}, false, Bubble, Leak, ""},
		"deleted, and a leak":         {keeper{delete: endSession, leaks: true}, true, Bubble, Leak, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(t, Plan{
				Session: recording(lookedOnce), HTTP: &HTTP{}, Schedules: 5, Shrink: -1, Engine: test.engine,
				Setup: func(r *Run) {
					server := test.keeper
					server.over = make(chan struct{})
					r.Handle(server)
					r.RecordedClient()
					if test.deletes {
						r.Op("end", func(context.Context) error { return r.Client().Close() }).AfterAll()
					}
				},
			})
			if r.Verdict != test.want || !strings.Contains(strings.Join(r.Notes, "\n"), test.note) {
				t.Errorf("want %s, with a note on %q:\n%s", test.want, test.note, r.Text())
			}
		})
	}
}
