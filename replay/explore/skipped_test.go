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

// oneCall lets a live client call a tool of a recorded server.
func oneCall(late bool) func(*Run) {
	return func(r *Run) {
		r.RecordedServer()
		client := newPeer(r.Client())
		client.registerLate = late
		r.Go(client.read)
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
	}
}

// A client that wrote blank lines, and stray ones, is not waited for: the fault
// shows that the order around its call brings out.
func TestRecordedNoiseHidesNothing(t *testing.T) {
	for _, noise := range []string{"", " \r", "a stray line"} {
		session := recording("> 1:x\n> {\n< 1=done\n> {")
		session[2].Payload, session[4].Payload = []byte(noise), []byte(noise)
		if r := Search(t, Plan{Session: session, Setup: oneCall(true)}); r.Verdict != Hang || r.Category != AnswerLost {
			t.Errorf("%q: %s", noise, r.Text())
		}
	}
}

// What a recorded half went on without is said, with how often it was.
func TestSkipped(t *testing.T) {
	session := recording("> 1:x\n> ~message\n> ~other\n> ~third\n> 2:y\n< 1=done\n< 2=done")
	plan := Plan{Session: session, Setup: oneCall(false), Schedules: 40}
	r := Search(t, plan)
	want := "the recorded server had to go on without #3 (notifications/message), #4 (notifications/other), #5 (notifications/third) and 1 more in 40 of 40 orders; orders around it were not tried"
	if r.Verdict != Pass || !slices.Contains(r.Notes, want) {
		t.Error(r.Text())
	}
	plan.Token = "mcprec1.0-0.delivery.a.default"
	if r := Search(t, plan); r.Verdict != Pass || !slices.Contains(r.Notes, strings.Replace(want, "40 of 40 orders", "1 of 1 order", 1)) {
		t.Error(r.Text())
	}
}

// A plan in which nothing must return cannot find a hang, and its report says so. If it
// checks nothing either, it fails.
func TestNothingAwaited(t *testing.T) {
	for name, setup := range map[string]func(*Run){
		"an end alone":     func(r *Run) { r.Op("end", func(context.Context) error { return nil }).AfterAll() },
		"nothing is asked": func(r *Run) { r.RecordedClient() },
	} {
		r := Search(t, Plan{Setup: setup, Schedules: 4})
		if r.Verdict != Pass || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "nothing is awaited: ") }) {
			t.Errorf("%s: %s", name, r.Text())
		}
	}
	none := Plan{Setup: func(r *Run) { pair(r) }, Schedules: 4}
	if r := Search(t, none); r.Verdict != CheckFailed || r.Err == nil || !strings.Contains(r.Explanation, "add with Run.Op what must return") {
		t.Errorf("no operation: %s", r.Text())
	}
	none.Check = func(*Run) error { return nil }
	if r := Search(t, none); r.Verdict != Pass || len(r.Notes) != 1 {
		t.Errorf("no operation, but a check: %s", r.Text())
	}
	if r := Search(t, Plan{Session: recording("> 1:x\n< 1=done"), Setup: oneCall(false), Schedules: 4}); len(r.Notes) > 0 {
		t.Errorf("%s", r.Text())
	}
}

// The gate refuses a frame with a newline, as stdio would have to.
func TestGateRefusesNewline(t *testing.T) {
	r := Search(t, Plan{Schedules: 2, Setup: func(r *Run) {
		r.Op("write", func(ctx context.Context) error {
			return r.Client().Write(ctx, transport.Frame{Bytes: []byte("{}\n")})
		})
	}})
	if r.Verdict != CheckFailed || !errors.Is(r.Err, transport.ErrNewline) || r.Steps != 1 {
		t.Error(r.Text())
	}
}

// A client that does not answer what it is asked, and closes, is not taken for one
// that does; nor is one that answers late for one that does not.
func TestAnswerNotGiven(t *testing.T) {
	const missing = "missing: #4, the answer to roots/list, was not given"
	for _, c := range []struct {
		name   string
		answer func(p *peer, ctx context.Context, m transport.Message)
		want   []string
	}{
		{"at once", func(p *peer, ctx context.Context, m transport.Message) { p.answer(ctx, m, "{}") }, nil},
		{"after a second", func(p *peer, ctx context.Context, m transport.Message) {
			time.Sleep(time.Second)
			p.answer(ctx, m, "{}")
		}, nil},
		{"never", func(*peer, context.Context, transport.Message) {}, []string{missing}},
	} {
		for _, level := range []Level{DeliveryOrder, SendingOrder} {
			r := Search(t, Plan{
				Session: recording("> 1:x\n< 7:roots/list\n> 7=roots\n< 1=done"), Level: level, Schedules: 30,
				Setup: func(r *Run) {
					r.RecordedServer()
					client := newPeer(r.Client())
					client.request = func(ctx context.Context, m transport.Message) { c.answer(client, ctx, m) }
					r.Go(client.read)
					r.Op("call", func(ctx context.Context) error {
						err := client.tool(ctx, "x")
						time.Sleep(2 * time.Second)
						return errors.Join(err, r.Client().Close())
					})
				},
				Check: func(r *Run) error {
					var got []string
					for _, f := range r.Findings() {
						got = append(got, f.String())
					}
					if !slices.Equal(got, c.want) {
						return fmt.Errorf("findings %q", got)
					}
					return nil
				},
			})
			if r.Verdict != Pass {
				t.Errorf("%s: %s", c.name, r.Text())
			}
		}
	}
}

// What the helpers around the ends keep from being tried is said once, of a pass and of a
// token's run.
func TestHidden(t *testing.T) {
	const hidden = "ByteStream passes on whole messages, one after the other: bytes of two writers that mix in a pipe are not tried"
	for _, token := range []string{"", "mcprec1.0-0.delivery.a.default"} {
		r := Search(t, Plan{Schedules: 4, Token: token, Setup: func(r *Run) {
			client, server := transport.NewByteStream(r.Client()), transport.NewByteStream(r.Server())
			r.Go(func(context.Context) { _, _ = server.Read(make([]byte, 100)) })
			r.Op("write", func(context.Context) error {
				_, err := client.Write([]byte("{}\n"))
				return err
			})
		}})
		if said := strings.Count(r.Text(), hidden); r.Verdict != Pass || said != 1 {
			t.Errorf("token %q, said %d times:\n%s", token, said, r.Text())
		}
	}
}
