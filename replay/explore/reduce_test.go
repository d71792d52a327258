package explore

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// The schedules of the planted bugs shrink to at most two deviations, that of the
// depth-3 one to three; it is the same bug, and the token holds.
func TestReducePlanted(t *testing.T) {
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			for trial := range scale(3, 31) {
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
	return s.following(parsed, false).fingerprint()
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
		!strings.HasPrefix(r.Notes[0], "the token gave the same again 10 of 20 times. The first time it was: pass") {
		t.Errorf("%+v\n%s", r.Shrunk, r.Text())
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
		"plain":                         "plain",
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
		r.chooser = Random.Begin(1, number, 60)
		r.play(t, s.plan)
		var order []uint32
		for _, step := range r.steps {
			order = append(order, uint32(step.Hash()))
		}
		same, none := s.newRun(Capacity{}), s.newRun(Capacity{})
		same.chooser, none.chooser = newLate(order).choose, newLate(nil).choose
		same.play(t, s.plan)
		none.play(t, s.plan)
		if !reflect.DeepEqual(same.choices, r.choices) || len(none.choices) > 0 {
			t.Errorf("run %d: %v, want %v; none put off: %v", number, same.choices, r.choices, none.choices)
		}
	}
}

// The boundary of a schedule: of one direction, the other as it is.
func TestReduceBoundary(t *testing.T) {
	for _, test := range []struct {
		plan Plan
		want string
	}{
		{Plan{Setup: headOn(4), Capacities: fixed(0, 0)}, "shows at c2s=0 to 6, not at 7; shows at s2c=0 to 6, not at 7"},
		{Plan{Setup: headOn(4), Capacities: fixed(3, 3)}, "shows at c2s=3, not at 4; shows at s2c=3, not at 4"},
		{Plan{Setup: seed(2, 0)}, ""},
	} {
		if r := Search(t, test.plan); r.Boundary != test.want {
			t.Errorf("%s, want %s\n%s", r.Boundary, test.want, r.Text())
		}
	}
}
