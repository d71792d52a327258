package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// lookedAt is a context that ends when it has been looked at so many times.
type lookedAt struct {
	context.Context
	cancel context.CancelFunc
	until  int64
	looks  atomic.Int64
}

func endingAt(t *testing.T, look int64) *lookedAt {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &lookedAt{Context: ctx, cancel: cancel, until: look}
}

// Err counts a look.
func (c *lookedAt) Err() error {
	if c.looks.Add(1) > c.until {
		c.cancel()
	}
	return c.Context.Err()
}

// manyOpen returns a session with many calls; one in three is answered, and the ends send to each other before they
// read.
func manyOpen(word string, calls int) []store.Event {
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: store.DeriveSessionID([]byte(word)), Transport: "stdio", Command: []string{word}}.Encode()}}
	add := func(dir transport.Direction, text string, args ...any) {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), At: time.Duration(len(events)) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, text, args...)})
	}
	for i := range calls {
		add(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","arguments":{"%s":%d}}}`, i, word, i*i)
		add(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"%s":%d}}`, i, word, i*i)
		if i%3 == 0 {
			add(transport.ServerToClient, `{"jsonrpc":"2.0","id":%d,"result":{"content":[],"%s":%d}}`, i, word, i)
		}
	}
	return events
}

// TestAnswersEndWithContext holds that the work for an answer of each tool, about a large session, ends with its
// context, wherever it is then.
func TestAnswersEndWithContext(t *testing.T) {
	const calls, places = 3000, 12
	l := newLibrary(t)
	first, second := l.add(t, manyOpen("first", calls)), l.add(t, manyOpen("second", calls))
	db, err := session.OpenReadOnly(t.Context(), session.Home{Place: l.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	x := New(db, "test")
	questions := map[string]string{
		"get_session": `{"session":%q,"limit":100}`, "get_event": `{"session":%q,"seq":7000}`, "diff_sessions": `{"a":%q,"b":"` + string(second) + `"}`,
		"state_at": `{"session":%q,"at":"90%%"}`, "search": `{"text":"nowhere"}`, "list_sessions": `{"state":"stuck"}`,
		"explain_hang": `{"session":%q,"client_model":"single-threaded","server_model":"single-threaded"}`,
	}
	for _, tool := range tools() {
		question, isListed := questions[tool.name]
		if !isListed {
			question = `{"session":%q}`
		}
		if tool.name != "search" && tool.name != "list_sessions" {
			question = fmt.Sprintf(question, first)
		}
		args, err := parseArguments(tool.name, tool.takes, json.RawMessage(question))
		if err != nil {
			t.Fatal(tool.name, err)
		}
		looks := int64(0)
		for range 2 { // the first time some is kept for the next
			whole := endingAt(t, 1<<62)
			if _, err := tool.answer(whole, x.recordings, args); err != nil {
				t.Fatalf("%s %s: %v", tool.name, question, err)
			}
			looks = whole.looks.Load()
		}
		for at := int64(0); at < looks; at += 1 + looks/places {
			ctx := endingAt(t, at)
			_, err := tool.answer(ctx, x.recordings, args)
			if err == nil {
				err = ctx.Err() // as within does
			}
			if late := ctx.looks.Load() - at; !errors.Is(err, context.Canceled) || late > 40 {
				t.Errorf("%s, whose context ends at look %d of %d: %d looks more, %v", tool.name, at, looks, late, err)
			}
		}
	}
}
