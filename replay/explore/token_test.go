package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
)

// Tokens of failing schedules give the same failure, every time.
func TestTokenReplay(t *testing.T) {
	t.Parallel()
	bugs := planted[3:]
	for i := range scale(len(bugs), 10000) / len(bugs) {
		for _, bug := range bugs {
			p := Plan{Setup: bug.setup, Check: bug.check, Capacities: fixed(bug.capacity, bug.capacity), Schedules: 500, Seed: uint64(i % 3)}
			if tokens[bug.name] == nil || i < 3 {
				tokens[bug.name] = append(tokens[bug.name], Search(t, p).Token)
			}
			p.Token = tokens[bug.name][i%len(tokens[bug.name])]
			if r := Search(t, p); r.Verdict != bug.verdict || r.Category != bug.category || r.Token != p.Token {
				t.Fatalf("%s, replay %d of %s\n%s", bug.name, i, p.Token, r.Text())
			}
		}
	}
}

var tokens = map[string][]string{} // by planted bug

// The token of any schedule gives that schedule again, step for step and at the same times: with
// twins among the operations, with recorded ends, over HTTP, with timers that fire while frames
// wait, in real time, and where a mutex is held over a Write.
func TestToken(t *testing.T) {
	dialogue := recording(twoTools + "\n< ~message\n< ~message\n> 4:x\n> 5:x\n< ~message\n< %5\n< 4=a\n< 5=b")
	bothRecorded := func(r *Run) {
		r.RecordedServer()
		r.RecordedClient()
	}
	overHTTP := func(r *Run) {
		bothRecorded(r)
		r.Op("end", func(context.Context) error { return r.Client().Close() }).AfterAll()
	}
	twin := recording(strings.ReplaceAll(twoTools, ":two", ":one"))
	web := twoCalls(2, 2)
	for _, law := range []struct {
		name        string
		few, many   int // schedules of a test, and of a night
		plan        Plan
		timersFire  bool
		readsStacks bool // of the whole process
	}{
		{"twins", 40, 10000, Plan{Setup: conforming}, false, false},
		{"recorded, DeliveryOrder", 20, 5000, Plan{Setup: bothRecorded, Session: dialogue, Level: DeliveryOrder}, false, false},
		{"recorded, SendingOrder", 20, 5000, Plan{Setup: bothRecorded, Session: dialogue, Level: SendingOrder}, false, false},
		{"HTTP", 20, 2000, web, false, false},
		{"HTTP recorded, DeliveryOrder", 8, 1000, Plan{Setup: overHTTP, Session: twin, Level: DeliveryOrder, HTTP: &HTTP{Cuts: 2}}, false, false},
		{"HTTP recorded, SendingOrder", 8, 1000, Plan{Setup: overHTTP, Session: twin, Level: SendingOrder, HTTP: &HTTP{Cuts: 2}}, false, false},
		{"timers", 40, 10000, Plan{Setup: restless, Timers: 3, Lawless: true}, true, false},
		{"real time", 3, 100, Plan{Setup: conforming, Engine: Settle}, false, false},
		{"a mutex", 8, 1000, Plan{Setup: func(r *Run) { locking(r) }}, false, true},
	} {
		t.Run(law.name, func(t *testing.T) {
			if law.readsStacks && !inOwnProcess(t) {
				return
			}
			var searches []*search // each learns of a mutex once
			for _, strategy := range []Strategy{POS, Starve, PCT, Random} {
				plan := law.plan
				plan.Strategy = strategy
				searches = append(searches, &search{t: t, plan: withDefaults(plan), length: 60})
			}
			fired := 0
			for n := range scale(law.few, law.many) {
				one := searches[n%len(searches)]
				one.plan.Timers = law.plan.Timers
				first := one.run(Sweep[n%len(Sweep)], n)
				token, err := schedule.ParseToken(first.asToken().String())
				if err != nil {
					t.Fatal(err)
				}
				one.plan.Timers = 0 // the token says which fire
				again := one.rerun(token, n%10 == 0)
				if first.outcome.verdict != Pass || again.outcome.verdict != Pass || !slices.Equal(namesOf(first), namesOf(again)) || passed(first) != passed(again) {
					t.Fatalf("order %d, %v, %s: %s\n%s\n%s\n%s\n%s", n, one.plan.Strategy, token, again.outcome.why,
						strings.Join(namesOf(first), "\n"), passed(first), strings.Join(namesOf(again), "\n"), passed(again))
				}
				fired += first.clock.timers.fired
			}
			if law.timersFire && fired == 0 {
				t.Error("no timer fired")
			}
		})
	}
}

// The same peers give the same names on every run of the same strategy.
func TestSameNames(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		want := oneSchedule(t, conforming, Sweep[n%3], Mix, n+1, nil)
		for i := range scale(50, 10000) {
			got := oneSchedule(t, conforming, Sweep[n%3], Mix, n+1, nil)
			if !slices.Equal(namesOf(got), namesOf(want)) {
				t.Fatalf("order %d, run %d:\n%s\nwant\n%s", n, i, strings.Join(namesOf(got), "\n"), strings.Join(namesOf(want), "\n"))
			}
		}
	}
}

// oneSchedule runs one schedule, or follows a token.
func oneSchedule(t *testing.T, setup func(*Run), c Capacity, s Strategy, number int, token *Token) *Run {
	one := search{t: t, plan: withDefaults(Plan{Setup: setup, Strategy: s}), length: 60}
	r := one.newRun(c)
	r.course.chooser, r.terms.untraced = s.Begin(1, number, one.length), true
	if token != nil {
		r.course.follower = &schedule.Follower{Token: *token}
	}
	r.play(t)
	return r
}

func namesOf(r *Run) []string {
	names := make([]string, len(r.course.steps))
	for i, s := range r.course.steps {
		names[i] = s.Name()
	}
	return names
}

// A token that another process printed gives the same failure here.
func TestTokenFromElsewhere(t *testing.T) {
	r := Search(t, Plan{Setup: registerAfterWrite(2),
		Token: "mcprec1.0-0.delivery.a.3:763f0e9d-4:caf0bfa9-5:0acf3846-6:63ddeea9-7:9ddd4b3e-8:ca9718a6"})
	if r.Verdict != Hang || r.Category != AnswerLost {
		t.Error(r.Text())
	}
}

func TestDiverged(t *testing.T) {
	for token, want := range map[string]string{
		"mcprec1.0-0.delivery.a.1:12345678":   "this token belongs to another recording or another version of the code: at step 1 wanted 12345678, enabled: start first; start second; start ping",
		"mcprec1.0-0.delivery.a.999:12345678": "this token belongs to another recording or another version of the code: at step 999 wanted 12345678, the run ended after 31 steps",
	} {
		r := Search(t, Plan{Setup: conforming, Token: token})
		if r.Verdict != Diverged || r.Explanation != want {
			t.Errorf("%s: %s", token, r.Text())
		}
	}
}

// A step that is put off waits while anything else can go on; those put off keep
// their order. A token that puts off what is not enabled diverges.
func TestHold(t *testing.T) {
	setup := func(r *Run) {
		order := ""
		r.Data = &order
		for _, name := range []string{"a", "b", "c", "d"} {
			r.Op(name, func(context.Context) error {
				order += name
				return nil
			})
		}
	}
	hash := func(name string) uint32 { return uint32(Step{Kind: gate.Start, What: name}.Hash()) }
	for _, test := range []struct {
		token Token
		want  string // the order, or the words of the divergence
	}{
		{Token{}, "abcd"},
		{Token{Holds: []Choice{{Step: 1, Hash: hash("a")}}}, "bcda"},
		{Token{Holds: []Choice{{Step: 1, Hash: hash("c")}, {Step: 1, Hash: hash("a")}}}, "bdca"},
		{Token{Holds: []Choice{{Step: 2, Hash: hash("b")}}, Choices: []Choice{{Step: 1, Hash: hash("d")}}}, "dacb"},
		{Token{Holds: []Choice{{Step: 2, Hash: hash("a")}}}, "this token belongs to another recording or another version of the code: at step 2 wanted %08x to put it off, enabled: start b; start c; start d"},
		{Token{Holds: []Choice{{Step: 9, Hash: hash("a")}}}, "this token belongs to another recording or another version of the code: at step 9 wanted %08x to put it off, the run ended after 4 steps"},
	} {
		got := ""
		r := Search(t, Plan{Setup: setup, Token: test.token.String(), Check: func(r *Run) error {
			got = *r.Data.(*string)
			return nil
		}})
		if r.Verdict == Diverged {
			got, test.want = r.Explanation, fmt.Sprintf(test.want, hash("a"))
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.token, got, test.want)
		}
	}
}
