package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// framesOf makes events of lines: "> frame" of the client, "< frame" of the server.
func framesOf(lines string) (events []store.Event) {
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		mark, frame, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir := map[string]transport.Direction{">": transport.ClientToServer, "<": transport.ServerToClient}[mark]
		events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: []byte(frame)})
	}
	return events
}

// An error without an id is illegal on a pipe; over HTTP it may be what a status such as 400 comes with.
func TestErrorWithoutID(t *testing.T) {
	t.Parallel()
	for isHTTP, want := range map[bool]int{false: 1, true: 0} {
		found := 0
		s := newPlayedSession(transport.ServerToClient, isHTTP, func(*fault, transport.Frame) { found++ })
		for _, e := range framesOf(`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
			< {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`) {
			s.take(e.Dir, e.AsFrame())
		}
		if found != want {
			t.Errorf("over HTTP: %t, %d rules are broken, want %d", isHTTP, found, want)
		}
	}
}

// A player waits for the answers that the Model of its session has as open: also of two calls with one id, and not
// of a question that the server has cancelled.
func TestWaitsOfPlayedSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		frames           string
		calls, questions string
	}{
		"an answer": {`> {"id":1,"method":"ping"}
			> {"id":2,"method":"tools/list"}
			< {"id":1,"result":{}}`, "tools/list", ""},
		"two calls with one id": {`> {"id":1,"method":"tools/list"}
			> {"id":1,"method":"ping"}
			< {"id":1,"result":{"tools":[]}}`, "ping", ""},
		"a cancelled call": {`> {"id":1,"method":"ping"}
			> {"method":"notifications/cancelled","params":{"requestId":1}}`, "", ""},
		"an id of another type": {`> {"id":1,"method":"ping"}
			< {"id":"1","result":{}}`, "ping", ""},
		"a question": {`< {"id":1,"method":"roots/list"}
			> {"id":1,"method":"ping"}
			< {"id":1,"result":{}}`, "", "roots/list"},
		"a cancelled question": {`< {"id":1,"method":"roots/list"}
			< {"method":"notifications/cancelled","params":{"requestId":1}}`, "", ""},
	} {
		p := clientPlayer{session: newPlayedSession(transport.ClientToServer, false, func(*fault, transport.Frame) {})}
		for _, e := range framesOf(test.frames) {
			p.session.take(e.Dir, e.AsFrame())
		}
		names := func(calls []*timeline.Call) string {
			var list []string
			for _, call := range calls {
				list = append(list, nameOf(call))
			}
			return strings.Join(list, " ")
		}
		if calls, questions := names(p.calls()), names(p.questions()); calls != test.calls || questions != test.questions {
			t.Errorf("%s: the calls %q and the questions %q are open, want %q and %q", name, calls, questions, test.calls, test.questions)
		}
	}
}

// An id that a client uses again, after it has given up the first call with it, is owed an answer.
func TestDroppedIn(t *testing.T) {
	t.Parallel()
	got := droppedIn(framesOf(`> {"id":1,"method":"ping"}
		> {"method":"notifications/cancelled","params":{"requestId":1}}
		> {"id":1,"method":"ping"}
		< {"id":1,"result":{}}
		> {"id":2,"method":"subscriptions/listen"}`))
	var events []uint64
	for request := range maps.Keys(got) {
		events = append(events, request.event)
	}
	slices.Sort(events)
	if !slices.Equal(events, []uint64{1, 5}) {
		t.Errorf("dropped: events %v, want 1 and 5", events)
	}
}

const c2s, s2c = transport.ClientToServer, transport.ServerToClient

// newSession begins a recorded session. say adds a frame to it.
func newSession() (events *[]store.Event, say func(dir transport.Direction, format string, args ...any)) {
	header := store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191af", Transport: "stdio"}
	events = &[]store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	return events, func(dir transport.Direction, format string, args ...any) {
		seq := uint64(len(*events) + 1)
		*events = append(*events, store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, format, args...)})
	}
}
