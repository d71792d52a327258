package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// beside is a server that sends its progress beside the response: whether it comes
// after it depends on the order.
func beside(r *Run) {
	client, server := pair(r)
	server.request = func(ctx context.Context, m transport.Message) {
		go func() {
			_ = server.send(ctx, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ProgressToken())
		}()
		server.answer(ctx, m, `{}`)
	}
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// A live peer that breaks a rule fails the run with the rule and its section.
func TestIllegal(t *testing.T) {
	r := Search(t, Plan{Setup: beside})
	if r.Verdict != Illegal || r.Category != "P3" || len(r.Broken) != 1 {
		t.Fatal(r.Text())
	}
	if b := r.Broken[0]; b.Rule != "P3" || b.Section != "basic/utilities/progress, Implementation Notes" ||
		b.Frame != `s2c notifications/progress (tools/call "x" by call#1)#1` || b.Step == 0 {
		t.Errorf("%+v", b)
	}
	again := Search(t, Plan{Setup: beside, Token: r.Token})
	if again.Verdict != Illegal || again.Explanation != r.Explanation {
		t.Error(again.Text())
	}
	Explore(t, Plan{Setup: beside, Lawless: true})
}

// What a recorded peer says is not held against it, nor is what a client could
// not know.
func TestIllegalIsOfLivePeers(t *testing.T) {
	Explore(t, Plan{Session: recording("> 1:x\n< 1=done\n< %1"), Setup: func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		r.Go(client.read)
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}})
}

// A SHOULD is a note, said once.
func TestWarning(t *testing.T) {
	r := Explore(t, Plan{Setup: func(r *Run) {
		client, _ := pair(r)
		r.Op("call", func(ctx context.Context) error {
			_, err := client.call(ctx, "initialize", `{"protocolVersion":"2025-06-18"}`)
			if err != nil {
				return err
			}
			return client.tool(ctx, "x")
		})
	}})
	want := "P4 warning: the client sent tools/call before initialized (before initialized the client asks only for pings; 2025-06-18, basic/lifecycle, Initialization)"
	if !slices.Equal(r.Notes, []string{want}) {
		t.Errorf("notes %q", r.Notes)
	}
}

// forgetful is a server that forgets every second call; the client gives each a
// minute, and asks tells whether it then cancels.
func forgetful(cancels bool, answers time.Duration) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		server.request = func(ctx context.Context, m transport.Message) {
			if answers > 0 {
				time.Sleep(answers)
				server.answer(ctx, m, `{}`)
			}
		}
		r.Op("call", func(ctx context.Context) error {
			short, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			if client.tool(short, "x") != nil && cancels {
				return client.send(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			}
			return nil
		})
	}
}

// A request that was read and is answered to nobody is a verdict, though the
// operations have returned; a late answer and a cancelled request are not.
func TestLost(t *testing.T) {
	t.Parallel()
	r := Search(t, Plan{Setup: forgetful(false, 0)})
	if r.Verdict != Lost || !strings.Contains(r.Explanation, `read tools/call "x" by call#1 of the client at step 2`) {
		t.Error(r.Text())
	}
	again := Search(t, Plan{Setup: forgetful(false, 0), Token: r.Token})
	if again.Verdict != Lost {
		t.Error(again.Text())
	}
	Explore(t, Plan{Setup: forgetful(true, 0)})
	Explore(t, Plan{Setup: forgetful(false, 10*time.Hour)})
	Explore(t, Plan{Setup: forgetful(false, 0), Lawless: true})
}

// A peer whose Write gave up, or had no time left, may cancel what it believes to
// have sent.
func TestCancelOfWithdrawn(t *testing.T) {
	for _, left := range []time.Duration{0, time.Second} {
		Explore(t, Plan{Setup: func(r *Run) {
			r.Op("call", func(ctx context.Context) error {
				short, stop := context.WithTimeout(ctx, left)
				defer stop()
				if err := r.Client().Write(short, frame(`{"id":7,"method":"x"}`)); err == nil {
					return nil
				}
				return r.Client().Write(ctx, frame(`{"method":"notifications/cancelled","params":{"requestId":7}}`))
			})
			r.Go(func(ctx context.Context) {
				time.Sleep(time.Minute)
				for _, err := r.Server().Read(ctx); err == nil; _, err = r.Server().Read(ctx) {
				}
			})
		}, Capacities: fixed(0, 0)})
	}
	r := Search(t, Plan{Setup: func(r *Run) {
		_, _ = pair(r)
		r.Op("cancel", func(ctx context.Context) error {
			return r.Client().Write(ctx, frame(`{"method":"notifications/cancelled","params":{"requestId":7}}`))
		})
	}})
	if r.Verdict != Illegal || r.Category != "P6" {
		t.Error(r.Text())
	}
}

// Where time is real, an answer may still come: nothing is said to be lost.
func TestNothingLostInRealTime(t *testing.T) {
	p := Plan{Schedules: 1, Setup: func(r *Run) {
		client, server := pair(r)
		server.request = func(context.Context, transport.Message) {}
		r.Op("send", func(ctx context.Context) error { return client.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"x"}`) })
	}}
	if r := Search(t, p); r.Verdict != Lost {
		t.Error(r.Text())
	}
	p.Engine = Settle
	Explore(t, p)
}

// Nothing is owed to an end that has closed.
func TestNothingLostAtClose(t *testing.T) {
	for _, closer := range []func(*Run) transport.Conn{(*Run).Client, (*Run).Server} {
		Explore(t, Plan{Strategy: Random, Setup: func(r *Run) {
			client, server := pair(r)
			server.request = func(context.Context, transport.Message) {}
			r.Op("call", func(ctx context.Context) error {
				return client.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
			})
			r.Op("close", func(context.Context) error { return closer(r).Close() })
		}, Check: func(*Run) error { return nil }})
	}
}

// An end that closes its writing side alone still waits for its answers: a server
// that takes the end of the file for the end of the session drops them.
func TestLostAtHalfClose(t *testing.T) {
	for i := range 4 {
		drains, closes := i&1 == 1, i&2 == 2
		r := Search(t, Plan{Setup: func(r *Run) {
			client, server := newPeer(r.Client()), newPeer(r.Server())
			handled := make(chan struct{})
			server.request = func(ctx context.Context, m transport.Message) {
				server.answer(ctx, m, `{}`)
				close(handled)
			}
			r.Go(func(ctx context.Context) {
				server.read(ctx)
				if drains {
					<-handled
				}
				r.Server().Close()
			})
			r.Op("call", func(ctx context.Context) error {
				defer func() {
					client.read(ctx)
					if closes { // which says nothing of what was read before
						r.Client().Close()
					}
				}()
				if err := client.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`); err != nil {
					return err
				}
				return r.Client().(transport.HalfCloser).CloseWrite()
			})
		}})
		if lost := r.Verdict == Lost && strings.Contains(r.Explanation, "had closed its writing side alone"); lost == drains {
			t.Errorf("drains %v, closes %v: %s", drains, closes, r.Text())
		}
	}
}

// The faults of an excused end are notes. Those of the other end are verdicts still, and so is
// what the excused end makes of the other.
func TestExcuse(t *testing.T) {
	for verdict, plan := range map[string]Plan{
		Illegal:   {Setup: beside},
		Lost:      {Setup: forgetful(false, 0)},
		Different: {Setup: counting(first), SameAnswers: true},
	} {
		plan.Excuse = TheClient
		if r := Search(t, plan); r.Verdict != verdict {
			t.Errorf("the client excused: want %s\n%s", verdict, r.Text())
		}
		plan.Excuse = TheServer
		r := Search(t, plan)
		want := map[string]string{
			Illegal: "the server is excused: P3 error: ", Lost: `the server is excused: the server read tools/call "x" by call#1`,
			Different: `the answer to tools/call "x"`,
		}[verdict]
		said := 0
		for _, n := range r.Notes {
			if strings.HasPrefix(n, want) {
				said++
			}
		}
		if r.Verdict != Pass || said == 0 || said > 1 && verdict != Different {
			t.Errorf("the server excused: want a note %q\n%s", want, r.Text())
		}
	}
	if r := Search(t, Plan{Setup: registerAfterWrite(0), Excuse: TheServer}); r.Verdict != Hang {
		t.Error(r.Text())
	}
	Explore(t, Plan{Setup: forgetful(false, 10*time.Hour), Excuse: TheServer, Check: func(r *Run) error {
		if r.peers.gate.Names.Calls[0].Response == nil {
			return errors.New("the run did not wait for the late answer")
		}
		return nil
	}})
}

func TestReportNamesRules(t *testing.T) {
	text := Search(t, Plan{Setup: lateProgress, Check: checkLate}).Text()
	for _, want := range []string{"CHECK FAILED", "rules broken:\n    step ", "P3 error: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, fmt.Sprint(text))
		}
	}
}
