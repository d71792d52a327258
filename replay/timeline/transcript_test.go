package timeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// everyKind is a session with an event of every kind.
func everyKind(t *testing.T) []store.Event {
	events := replaytest.Session(t, `> 0:initialize
		< 0=
		> ~initialized
		< Server starting
		> "a":call!
		< ~progress
		< 1:roots/list
		> 1!
		> ~cancelled:"a"
		< {"jsonrpc":"2.0","id":"a","result":{"content":[],"isError":true}}
		< ~progress
		< 99=
		< {"error":{"code":-32700,"message":"Parse\nerror"}}
		> [5:resources/read 6:ping ~x]
		> []
		> 42
		< [5= 6=]
		> {"id":7,"method":"resources/read","params":{"uri":"file:///tmp/\u0007x"}}
		< @20`)
	add := func(kind store.Kind, dir transport.Direction, payload string) {
		n := len(events)
		events = append(events, store.Event{Seq: uint64(n + 1), At: time.Duration(n) * time.Millisecond, Kind: kind, Dir: dir, Payload: []byte(payload)})
	}
	add(store.Stderr, 0, "warning: \x1b[31mred\x1b[0m")
	add(store.HTTP, transport.ClientToServer, `{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s1"]}}`)
	add(store.Lost, 0, `{"frames":3,"bytes":120,"reason":"disk full"}`)
	add(store.Note, 0, "here it hung")
	add("invented", 2, "\xff\xfe"+strings.Repeat("long ", 40))
	add(store.Frame, 1, `{"id":8,"method":"pi`)
	events[len(events)-1].Unterminated = true
	add(store.Stalled, 1, `{"read":131072,"passed":70000,"unread":65536,"for_ns":512000000,"blocked":true}`)
	add(store.Stalled, 2, `{"read":1000,"passed":1000,"unread":143,"for_ns":600000000}`)
	add(store.Stalled, 2, `{"read":1000,"passed":1000,"for_ns":3000000000,"over":true}`)
	add(store.Signal, 0, `{"signal":"interrupt","passed":true}`)
	add(store.EOF, 1, `{"by":"sender"}`)
	add(store.EOF, 2, `{"by":"receiver","error":"broken pipe","read":7,"passed":5}`)
	add(store.Exited, 0, `{"code":-1,"signal":"killed"}`)
	add(store.Lost, 0, `not JSON`)
	add(store.Closed, 0, `{"frames":19,"lost":3}`)
	return events
}

func TestTranscript(t *testing.T) {
	var b strings.Builder
	transcript := NewTranscript(func(e Entry) error {
		fmt.Fprintln(&b, e)
		return nil
	})
	events := everyKind(t)
	if err := Project(Steps(replaytest.SequenceOf(events)), transcript); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != len(events) {
		t.Errorf("%d lines for %d events", lines, len(events))
	}
	replaytest.Golden(t, "transcript.txt", b.String())
}

// TestTranscriptStreams: an entry is there when its event was applied, and the
// caller can stop after a page.
func TestTranscriptStreams(t *testing.T) {
	enough, page := errors.New("enough"), 0
	transcript := NewTranscript(func(Entry) error {
		if page++; page == 20 {
			return enough
		}
		return nil
	})
	read := 0
	err := Project(Steps(func(yield func(store.Event, error) bool) {
		for i := range 1_000_000 {
			read++
			e := store.Event{Seq: uint64(i + 1), Kind: store.Frame, Dir: 1, Payload: []byte(`{"id":1,"method":"ping"}`)}
			if !yield(e, nil) {
				return
			}
		}
	}), transcript)
	if !errors.Is(err, enough) || read != 20 {
		t.Errorf("read %d events, %v", read, err)
	}
}

func TestProjectStops(t *testing.T) {
	torn := errors.New("torn")
	err := Project(Steps(func(yield func(store.Event, error) bool) { yield(store.Event{}, torn) }), &Calls{})
	if !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
}

func TestCalls(t *testing.T) {
	c := &Calls{}
	if err := Project(Steps(replaytest.SequenceOf(everyKind(t))), c); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, call := range c.All() {
		fmt.Fprintf(&b, "%v #%d %s %q id %s token %q: response #%d after %v %s, progress %v, cancelled #%d\n", call.Dir, call.Request,
			call.Method, call.Target, call.ID, call.Token, call.Response, call.Latency, call.Failure, call.Progress, call.Cancelled)
	}
	for _, call := range c.Unanswered() {
		fmt.Fprintf(&b, "unanswered #%d %s\n", call.Request, call.Method)
	}
	replaytest.Golden(t, "calls.txt", b.String())
}

// TestCallsFirstOpen: ids are a direction's own, and may come again; a response belongs
// to the first open request.
func TestCallsFirstOpen(t *testing.T) {
	c := &Calls{}
	if err := Project(Steps(replaytest.SequenceOf(replaytest.Session(t, "> 1:a\n< 1:b\n> 1=\n< 1=\n> 1:c\n> 1:d\n< 1=\n< 1=\n< 1="))), c); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, call := range c.All() {
		got += fmt.Sprintf("%s %d-%d ", call.Method, call.Request, call.Response)
	}
	if want := "a 2-5 b 3-4 c 6-8 d 7-9 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTranscriptExchanges: of two requests with one id, as two clients may have over
// HTTP, an answer belongs to that of its exchange, and a second one to no other; an
// answer that comes elsewhere belongs to the first that is open.
func TestTranscriptExchanges(t *testing.T) {
	events := replaytest.Session(t, "> 1:a\n> 1:b\n> 1:c\n< 1=\n< 1=\n< 1=\n< 1=")
	for i, stream := range []uint64{0, 1, 2, 3, 1, 9, 2, 1} {
		events[i].Stream = stream
	}
	endings := NewEndings()
	if err := Project(Steps(replaytest.SequenceOf(events)), endings); err != nil {
		t.Fatal(err)
	}
	var got []string
	transcript := NewTranscript(func(e Entry) error {
		got = append(got, e.Pairs())
		return nil
	})
	transcript.Foresee(endings)
	if err := Project(Steps(replaytest.SequenceOf(events)), transcript); err != nil {
		t.Fatal(err)
	}
	want := []string{"", "answered by #5 after 3ms", "answered by #6 after 3ms", "not answered for 4ms", "to #2", "to #3", "to #3", "to #2"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func BenchmarkTranscriptPage(b *testing.B) {
	events := replaytest.Session(b, strings.Repeat(replaytest.Plain+"\n", 10))[:50]
	for b.Loop() {
		transcript := NewTranscript(func(e Entry) error { _ = e.String(); return nil })
		if err := Project(Steps(replaytest.SequenceOf(events)), transcript); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLatencyUntilNow holds that an open call of a session that goes on has a latency, and no
// other one without an answer has.
func TestLatencyUntilNow(t *testing.T) {
	events := replaytest.Session(t, "> 1:ping\n> 2:ping\n> ~cancelled:2")
	for now, want := range map[time.Duration]string{0: "not answered for 2ms", 5 * time.Second: "not answered for 5s"} {
		endings := NewEndings()
		if err := Project(Steps(replaytest.SequenceOf(events)), endings); err != nil {
			t.Fatal(err)
		}
		if now > 0 {
			now += events[1].At
		}
		endings.Close(now)
		var pairs []string
		transcript := NewTranscript(func(e Entry) error { pairs = append(pairs, e.Pairs()); return nil })
		transcript.Foresee(endings)
		if err := Project(Steps(replaytest.SequenceOf(events)), transcript); err != nil {
			t.Fatal(err)
		}
		if pairs[1] != want || pairs[2] != "cancelled by #4, not answered" {
			t.Errorf("at %v: %q", now, pairs)
		}
	}
}
