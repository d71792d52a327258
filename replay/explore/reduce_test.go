package explore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport"
)

// The schedules of the planted bugs shrink to at most two deviations, that of the
// depth-3 one to three; it is the same bug, and the token holds.
func TestReducePlanted(t *testing.T) {
	t.Parallel()
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			for trial := range scale(1, 31) {
				p := Plan{Setup: bug.setup, Check: bug.check, Capacities: fixed(bug.capacity, bug.capacity),
					Schedules: 500, Seed: uint64(trial)}
				r := Search(t, p)
				p.Shrink = -1
				found := Search(t, p)
				most := 2
				if strings.HasPrefix(bug.name, "depth-3") {
					most = 3
				}
				if s := r.Shrunk; s.To > most || s.To > s.From || s.Runs > 40 || s.Held != 20 || s.Verified != 20 {
					t.Errorf("trial %d: %+v\n%s", trial, s, r.Text())
				}
				if got, want := fingerprintOf(t, p, r.Token), fingerprintOf(t, p, found.Token); got != want || r.Schedules != found.Schedules {
					t.Errorf("trial %d: shrunk to «%s», was «%s»", trial, got, want)
				}
				if len(r.Choices) != r.Shrunk.To {
					t.Errorf("trial %d: choices %q, want %d", trial, r.Choices, r.Shrunk.To)
				}
			}
		})
	}
}

func fingerprintOf(t *testing.T, p Plan, token string) string {
	parsed, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	s := search{t: t, plan: withDefaults(p)}
	return s.following(parsed, false).outcome.fingerprint()
}

func TestReduceIsDeterministic(t *testing.T) {
	p := Plan{Setup: staleList(6), Check: checkFresh}
	a, b := Search(t, p), Search(t, p)
	if a.Token != b.Token || !reflect.DeepEqual(a.Shrunk, b.Shrunk) || a.Text() != b.Text() {
		t.Errorf("%s\n%s", a.Text(), b.Text())
	}
}

func TestReduceBudget(t *testing.T) {
	p := Plan{Setup: registerAfterWrite(6), Schedules: 500}
	for budget, want := range map[int]int{-1: 0, 1: 1, 2: 2} {
		p.Shrink = budget
		r := Search(t, p)
		if r.Shrunk.Runs != want || r.Shrunk.To > r.Shrunk.From || r.Shrunk.Held != 20 {
			t.Errorf("budget %d: %+v", budget, r.Shrunk)
		}
	}
}

// A peer that fails every other time has a token that does not hold; a report must
// say so.
func TestReduceUnsteady(t *testing.T) {
	runs := 0
	r := Search(t, Plan{Setup: func(r *Run) {
		runs++
		odd := runs%2 == 1
		r.Op("toss", func(context.Context) error {
			if odd {
				return errors.New("tails")
			}
			return nil
		})
	}})
	if r.Shrunk.Held != 10 || r.Shrunk.Verified != 20 || len(r.Notes) != 1 ||
		r.Notes[0] != "the token gave the same again 10 of 20 times. The first time it was: pass. "+unsteady {
		t.Errorf("%+v\n%s", r.Shrunk, r.Text())
	}
}

// What became of a run has no empty part, and no word twice.
func TestOutcome(t *testing.T) {
	for want, ended := range map[string]outcome{
		"pass":                    {verdict: Pass},
		"check failed: no answer": {verdict: CheckFailed, why: "no answer\nto call 1"},
		"hang both sides write and neither reads: both are at a write":                                  {verdict: Hang, category: BothWrite, why: "both are at a write"},
		"this token belongs to another recording or another version of the code: at step 3 wanted 1, …": {verdict: Diverged, why: "this token belongs to another recording or another version of the code: at step 3 wanted 1, …"},
	} {
		if got := ended.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A schedule is not taken for simpler because it failed once by chance.
func TestReduceKeepsWhatHolds(t *testing.T) {
	failed, chance := false, false
	r := Search(t, Plan{Setup: func(r *Run) {
		order := ""
		lucky := failed && !chance
		chance = failed
		r.Data = &order
		for _, name := range []string{"a", "b"} {
			r.Op(name, func(context.Context) error {
				order += name
				if order == "ba" || lucky && order == "ab" {
					failed = true
					return errors.New("wrong order")
				}
				return nil
			})
		}
	}})
	if r.Shrunk.To != 1 || r.Shrunk.Held != 20 || len(r.Notes) > 0 {
		t.Errorf("%+v\n%s", r.Shrunk, r.Text())
	}
}

func TestAnonymous(t *testing.T) {
	for in, want := range map[string]string{
		`progress of "c" after 3 steps`: "progress of _ after _ steps",
		`tool "a \"b\" c": no`:          "tool _: no",
		"default":                       "default",
	} {
		if got := anonymous(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// With no step put off late is eager; with all of a run's it is that run.
func TestLate(t *testing.T) {
	s := search{t: t, plan: withDefaults(Plan{Setup: conforming})}
	for number := range 20 {
		r := s.newRun(Capacity{})
		r.course.chooser = Random.Begin(1, number, 60)
		r.play(t)
		var order []uint32
		for _, step := range r.course.steps {
			order = append(order, uint32(step.Hash()))
		}
		same, none := s.newRun(Capacity{}), s.newRun(Capacity{})
		same.course.chooser, none.course.chooser = schedule.NewDelayed(order).Choose, schedule.NewDelayed(nil).Choose
		same.play(t)
		none.play(t)
		if !reflect.DeepEqual(same.course.choices, r.course.choices) || len(none.course.choices) > 0 {
			t.Errorf("run %d: %v, want %v; none put off: %v", number, same.course.choices, r.course.choices, none.course.choices)
		}
	}
}

// The boundary of a schedule: of one direction, the other as it is.
func TestReduceBoundary(t *testing.T) {
	for _, test := range []struct {
		plan Plan
		want string
	}{
		{Plan{Setup: headOn(4), Capacities: fixed(0, 0)}, "it fails with room for 0 and for 6 messages from client to server, not for 7; it fails with room for 0 and for 6 messages from server to client, not for 7"},
		{Plan{Setup: headOn(4), Capacities: fixed(3, 3)}, "it fails with room for 3 messages from client to server, not for 4; it fails with room for 3 messages from server to client, not for 4"},
		{Plan{Setup: seed(2, 0)}, ""},
	} {
		if r := Search(t, test.plan); r.Boundary != test.want {
			t.Errorf("%s, want %s\n%s", r.Boundary, test.want, r.Text())
		}
	}
}

// unsignedSecond is an operation whose second request is written under a context that
// does not name it, as SDKs do with requests of the session, to a server that has stopped
// reading.
func unsignedSecond(r *Run) {
	client, server := newPeer(r.Client()), newPeer(r.Server())
	r.Go(client.read)
	r.Go(func(ctx context.Context) {
		f, err := server.conn.Read(ctx)
		if err == nil {
			_ = server.send(ctx, `{"jsonrpc":"2.0","id":%s,"result":{}}`, messages(f)[0].ID)
		}
	})
	r.Op("connect", func(ctx context.Context) error {
		if _, err := client.call(ctx, "server/discover", `{}`); err != nil {
			return err
		}
		_, err := client.call(context.WithoutCancel(r.Context()), "subscriptions/listen", `{}`)
		return err
	})
}

// A schedule is one failure whether or not its goroutines are traced, and the report
// describes the traced run.
func TestTracedAlike(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for name, setup := range map[string]func(*Run){
		"the second request is unsigned": unsignedSecond, "the reader writes": alone, "it went on": after, "a call within a call": nested,
		"both sides write and neither reads": headOn(4), "blocked behind a notification": seed(2, 0), "callback": callback, "silenced": silenced,
	} {
		p := Plan{Setup: setup, Capacities: fixed(0, 0)}
		r := Search(t, p)
		if r.Shrunk.Held != verifications || r.Shrunk.Verified != verifications {
			t.Errorf("%s: it held %d of %d times\n%s", name, r.Shrunk.Held, r.Shrunk.Verified, r.Text())
		}
		token, err := ParseToken(r.Token)
		if err != nil {
			t.Fatal(err)
		}
		s := search{t: t, plan: withDefaults(p)}
		if bare, traced := s.following(token, false), s.following(token, true); bare.outcome.fingerprint() != traced.outcome.fingerprint() {
			t.Errorf("%s: «%s», and traced «%s»", name, bare.outcome.fingerprint(), traced.outcome.fingerprint())
		}
	}
	r := Search(t, Plan{Setup: unsignedSecond, Capacities: fixed(0, 0)})
	if want := "operation connect needs subscriptions/listen#1"; !strings.Contains(r.Explanation, want) {
		t.Errorf("%q is not said:\n%s", want, r.Text())
	}
}

// A report names a boundary only for an order that was seen to fail in the same way at the
// capacity where it was found. One that failed only with another choice of goroutines has
// none.
func TestReduceBoundaryMeasured(t *testing.T) {
	d := &reduction{search: &search{t: t, plan: withDefaults(Plan{Setup: conforming})}, want: "hang both sides write and neither reads: ", left: 1}
	d.failed = d.newRun(Capacity{})
	d.failed.outcome.verdict, d.best = Hang, d.failed
	if b := d.boundary(); b != "" {
		t.Errorf("of an order that passes: %s", b)
	}
}

// Some order fails at each capacity and the one that is shown at one alone: the two
// lines do not contradict each other.
func TestBoundaryBesideSlack(t *testing.T) {
	r := Report{Verdict: Hang, Boundary: "it fails with room for 0 messages from client to server, not for 1; it fails with room for 0 messages from server to client, not for 1"}
	r.Slack = slackText(Hang, Capacity{}, []Tried{{Capacity: Capacity{C2S: 1, S2C: 1}, Verdict: Hang}}, r.Boundary, false)
	if want := "  buffers: some order hangs at all tried: 0, 1; no buffer of the transport hides it\n  this very order: it fails with room for 0 messages from client to server, not for 1"; !strings.Contains(r.Text(), want) {
		t.Errorf("%q is not said:\n%s", want, r.Text())
	}
}

// A hang behind a mutex is shrunk, too, though each run that hangs is given up.
func TestReduceBehindMutex(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	setup := func(r *Run) {
		client, _ := pair(r)
		var a, b sync.Mutex
		both := func(first, second *sync.Mutex) func(context.Context) error {
			return func(ctx context.Context) error {
				Point(ctx, "begin")
				first.Lock()
				defer first.Unlock()
				Point(ctx, "between")
				second.Lock()
				defer second.Unlock()
				return nil
			}
		}
		r.Op("ab", both(&a, &b))
		r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
		r.Op("other call", func(ctx context.Context) error { return client.tool(ctx, "y") })
		r.Op("ba", both(&b, &a)).After("call")
	}
	r := Search(t, Plan{Setup: setup, Strategy: Random, Capacities: fixed(0, 0)})
	if s := r.Shrunk; r.Verdict != Hang || r.Category != Lock || s.From <= s.To || s.To > 2 || s.Held != 3 || s.Verified != 3 || s.Runs > mostFrozen {
		t.Errorf("%+v\n%s", s, r.Text())
	}
}

// A failure that does not come each time is shrunk as far as most of three tries show it, and the
// report says how often the token held.
func TestReduceMostTries(t *testing.T) {
	runs, failed := 0, 0
	plan := Plan{Strategy: Random, Capacities: fixed(0, 0), Setup: func(r *Run) {
		client, server := pair(r)
		runs++
		run, first := runs, ""
		server.request = func(ctx context.Context, m transport.Message) {
			if first == "" {
				first = string(transport.Member(m.Params, "name"))
			}
			server.answer(ctx, m, `{}`)
		}
		for _, name := range []string{"a", "b", "c"} {
			r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
		}
		r.Data = func() error {
			if first != `"c"` {
				return nil
			}
			if failed == 0 {
				failed = run
			}
			if (run-failed)%3 == 2 {
				return nil
			}
			return errors.New("c came first")
		}
	}, Check: func(r *Run) error { return r.Data.(func() error)() }}
	r := Search(t, plan)
	s := r.Shrunk
	if r.Verdict != CheckFailed || s.From <= s.To || s.To > 3 || s.Held < 13 || s.Held > 14 || s.Verified != verifications ||
		!strings.Contains(strings.Join(r.Notes, "\n"), fmt.Sprintf("the token gave the same again %d of 20 times", s.Held)) {
		t.Errorf("%+v\n%s", s, r.Text())
	}
}
