package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// recording makes events of lines: "> frame" goes c2s, "< frame" s2c. Words
// stand for frames:
//
//	id:tool    a call of the tool, with a progress token like its id; "id:a/b" is
//	           a request of method a/b
//	id=text    a result
//	%id        progress of the call with the id
//	~method    a notification
//	anything else is taken as it is
func recording(lines string) []store.Event {
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: "019a0000-0000-7000-8000-000000000000", Transport: "memory"}.Encode()}}
	for line := range strings.SplitSeq(lines, "\n") {
		mark, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir := map[string]transport.Direction{">": transport.ClientToServer, "<": transport.ServerToClient}[mark]
		if dir != transport.NoDirection {
			events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: []byte(expand(word))})
		}
	}
	return events
}

func expand(word string) string {
	id, rest, _ := strings.Cut(word, ":")
	answered, result, isAnswer := strings.Cut(word, "=")
	switch {
	case strings.ContainsAny(word, "{["):
		return word
	case word[0] == '~':
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s"}`, word[1:])
	case word[0] == '%':
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, word[1:])
	case isAnswer:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":%q}}`, answered, result)
	case strings.Contains(rest, "/"), rest == "initialize", rest == "ping":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, rest)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%s}}}`, id, rest, id)
}

const twoTools = `
	> 1:initialize
	< 1=hello
	> ~initialized
	> 2:one
	> 3:two
	< %3
	< %2
	< 3=second
	< ~tools/list_changed
	< 2=first`

// liveTools calls the two tools, at once or one after the other.
func liveTools(atOnce bool) func(*Run) {
	return func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		r.Go(client.read)
		ready, first := make(chan bool), make(chan bool)
		r.Op("one", func(ctx context.Context) error {
			if _, err := client.call(ctx, "initialize", "{}"); err != nil {
				return err
			}
			if err := client.tell(ctx, "notifications/initialized"); err != nil {
				return err
			}
			if close(ready); !atOnce {
				defer close(first)
			}
			return client.tool(ctx, "one")
		})
		r.Op("two", func(ctx context.Context) error {
			<-ready
			if !atOnce {
				<-first
			}
			return client.tool(ctx, "two")
		})
	}
}

// A live client plays against a recorded server, also where it calls one by one
// what was recorded at once.
func TestRecordedServer(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		Explore(t, Plan{Session: recording(twoTools), Setup: liveTools(atOnce), Schedules: 100, Check: func(r *Run) error {
			if f := r.Findings(); len(f) > 0 {
				return fmt.Errorf("findings: %v", f)
			}
			return nil
		}})
	}
}

// A fault of the live client is found, as against a live server.
func TestRecordedServerFindsFault(t *testing.T) {
	r := Search(t, Plan{Session: recording("> 1:x\n< %1\n< ~message\n< 1=done"), Setup: func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		client.registerLate = true
		r.Go(client.read)
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}})
	if r.Verdict != Hang || r.Category != AnswerLost {
		t.Error(r.Text())
	}
}

// What was never recorded fails the run, and the nearest recorded request is
// named.
func TestRecordedServerMiss(t *testing.T) {
	r := Search(t, Plan{Session: recording("> 1:x\n< 1=done"), Setup: func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		r.Go(client.read)
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "y") })
	}})
	want := `the recording does not cover this run: no recorded answer for tools/call; nearest is #2: differs at /params/name: recorded "x", got "y"`
	if r.Verdict != CheckFailed || r.Explanation != want {
		t.Error(r.Text())
	}
}

// serveTools answers the two tools, each call on a goroutine of its own, as the
// recorded server did or in another way.
func serveTools(r *Run) *peer {
	server := newPeer(r.Server())
	server.request = func(ctx context.Context, m transport.Message) {
		if m.Method == "tools/call" {
			_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ProgressToken())
		}
		server.answer(ctx, m, `{"text":"live"}`)
	}
	r.Go(server.read)
	return server
}

// A recorded client plays against a live server. That the list does not change
// here, as it did in the recording, holds nothing up.
func TestRecordedClient(t *testing.T) {
	for _, level := range []Level{DeliveryOrder, SendingOrder} {
		Explore(t, Plan{Level: level, Session: recording(twoTools), Schedules: 100, Setup: func(r *Run) {
			serveTools(r)
			r.RecordedClient()
		}, Check: func(r *Run) error {
			if f := r.Findings(); len(f) != 3 || f[2].String() != `mismatch: #11, the answer to tools/call one, differs at /result/text: recorded "first", got "live"` {
				return fmt.Errorf("findings: %v", f)
			}
			return nil
		}})
	}
}

// A call that a live server never answers is a hang that names the recorded call.
func TestRecordedClientHangs(t *testing.T) {
	r := Search(t, Plan{Session: recording(twoTools), Setup: func(r *Run) {
		server := serveTools(r)
		answer := server.request
		server.request = func(ctx context.Context, m transport.Message) {
			if !strings.Contains(string(m.Params), `"two"`) {
				answer(ctx, m)
			}
		}
		r.RecordedClient()
	}})
	if r.Verdict != Hang || r.Category != AnswerLost || len(r.Unfinished) != 1 || r.Unfinished[0] != `tools/call "two"#1` {
		t.Error(r.Text())
	}
}

// What the recorded server did not answer, as its recording was cut where it hung, the
// live one must: under every engine, at every capacity, and also where the client would
// close when its operations have returned.
func TestRecordedClientUnanswered(t *testing.T) {
	for name, test := range map[string]struct {
		session  string
		request  func(*peer, context.Context, transport.Message)
		inline   bool
		category string
	}{
		"never answered": {"> 1:x", func(*peer, context.Context, transport.Message) {}, false, AnswerLost},
		"asks in its reader": {"> 1:x\n< 7:roots/list\n> 7=roots", func(p *peer, ctx context.Context, m transport.Message) {
			_, _ = p.call(ctx, "roots/list", "{}")
			p.answer(ctx, m, "{}")
		}, true, BehindRequest},
	} {
		setup := func(inline bool) func(*Run) {
			return func(r *Run) {
				server := newPeer(r.Server())
				server.inline = inline
				server.request = func(ctx context.Context, m transport.Message) { test.request(server, ctx, m) }
				r.Go(server.read)
				r.RecordedClient()
				r.Op("end", func(context.Context) error { return r.Client().Close() }).AfterAll()
			}
		}
		for engine, word := range map[Engine]string{Bubble: Hang, Settle: Stall} {
			for _, c := range Sweep {
				p := Plan{Session: recording(test.session), Setup: setup(test.inline), Engine: engine, Capacities: []Capacity{c}, Schedules: 2, Patience: 20 * time.Millisecond}
				r := Search(t, p)
				if r.Verdict != word || r.Category != test.category || len(r.Unfinished) == 0 || r.Unfinished[0] != `tools/call "x"#1` {
					t.Errorf("%s, %s, %v: want %s %s\n%s", name, engine, c, word, test.category, r.Text())
				}
				if p.Setup = setup(false); test.inline {
					if r = Search(t, p); r.Verdict != Pass {
						t.Errorf("%s, handled beside the reader: %s", name, r.Text())
					}
				}
			}
		}
	}
}

// What the live server does not answer when it closes, though nobody did when it was
// recorded, fails the call.
func TestRecordedClientClosedOn(t *testing.T) {
	for _, engine := range []Engine{Bubble, Settle} {
		r := Search(t, Plan{Session: recording("> 1:x"), Engine: engine, Schedules: 3, Patience: 20 * time.Millisecond, Setup: func(r *Run) {
			r.Go(func(ctx context.Context) {
				_, _ = r.Server().Read(ctx)
				_ = r.Server().Close()
			})
			r.RecordedClient()
		}})
		if want := `operation tools/call "x"#1: the call was not answered: the server has closed`; r.Verdict != CheckFailed || r.Explanation != want {
			t.Errorf("%s: %s", engine, r.Text())
		}
	}
}

// Both halves of a recording play against each other, without a live peer.
func TestRecordedPair(t *testing.T) {
	for _, level := range []Level{DeliveryOrder, SendingOrder} {
		Explore(t, Plan{Level: level, Session: recording(twoTools), Schedules: 200, Setup: func(r *Run) {
			r.RecordedServer()
			r.RecordedClient()
		}, Check: func(r *Run) error {
			if f := r.Findings(); len(f) > 0 {
				return fmt.Errorf("findings: %v", f)
			}
			return nil
		}})
	}
}

// A hang against a recorded server says what the recording has to do with it.
func TestRecordedServerUnanswered(t *testing.T) {
	r := Search(t, Plan{Session: recording("> 1:one\n> 2:two\n< 2=b"), Setup: func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		r.Go(client.read)
		r.Op("one", func(ctx context.Context) error { return client.tool(ctx, "one") })
	}})
	if r.Verdict != Hang || !slices.Equal(r.Notes, []string{`the recording itself has no answer to tools/call "one"#1`}) {
		t.Error(r.Text())
	}
}

// Recorded halves play under the engine without a bubble, too.
func TestRecordedSettled(t *testing.T) {
	for _, level := range []Level{DeliveryOrder, SendingOrder} {
		Explore(t, Plan{Engine: Settle, Level: level, Session: recording(twoTools), Schedules: 6, Setup: func(r *Run) {
			r.RecordedServer()
			r.RecordedClient()
		}})
	}
}
