package schedule

import (
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

var strategies = map[string]Strategy{"default": Eager, "random": Random, "pos": POS, "starve": Starve, "pct": PCT, "mix": Mix}

// somewhere is a set of enabled steps as a run meets them.
var somewhere = []gate.Step{
	{Kind: gate.Start, What: "list"},
	{Kind: gate.Ack, Dir: transport.ClientToServer, What: "ping#1"},
	{Kind: gate.Ack, Dir: transport.ServerToClient, What: "notifications/message#1"},
	{Kind: gate.Give, Dir: transport.ServerToClient, What: "notifications/message#1"},
	{Kind: gate.Take, Dir: transport.ServerToClient, What: "notifications/message#2"},
	{Kind: gate.Close, Dir: transport.ServerToClient},
}

// picks are the choices of a run's first hundred steps.
func picks(s Strategy, seed uint64, run int) []int {
	choose := s.Begin(seed, run, 100)
	list := make([]int, 100)
	for i := range list {
		list[i] = choose(i+1, somewhere)
	}
	return list
}

func TestStrategiesArePure(t *testing.T) {
	for name, s := range strategies {
		for run := range 100 {
			if a, b := picks(s, 7, run), picks(s, 7, run); !slices.Equal(a, b) {
				t.Fatalf("%s, run %d: %v and %v", name, run, a, b)
			}
		}
	}
}

// Every strategy but eager picks every step first in some run, and seeds differ.
func TestStrategiesReach(t *testing.T) {
	for name, s := range strategies {
		seen := map[int]bool{}
		differ := false
		for run := range 300 {
			seen[picks(s, 7, run)[0]] = true
			differ = differ || !slices.Equal(picks(s, 7, run), picks(s, 8, run))
		}
		if want := len(somewhere); name != "default" && (len(seen) != want || !differ) {
			t.Errorf("%s: %d of %d steps come first in some run; seeds differ: %v", name, len(seen), want, differ)
		}
		if name == "default" && (len(seen) != 1 || !seen[0]) {
			t.Errorf("eager: %v", seen)
		}
	}
}

// A Time step is never eager's, is picked by every other strategy in fewer than half of the runs'
// steps, and changes no other choice of a run without it.
func TestStrategiesLetTimePass(t *testing.T) {
	timed := append(slices.Clone(somewhere), gate.TimeStep(1))
	victims := []gate.Step{{Kind: gate.Give, Dir: transport.ServerToClient, What: "ping#1"}, gate.TimeStep(1)}
	for name, s := range strategies {
		passed, steps, without := 0, 0, 0
		for run := range 300 {
			choose := s.Begin(7, run, 100)
			var list []int
			for at := range 100 {
				enabled := timed
				if at%10 == 9 {
					enabled = victims
				}
				i := choose(at+1, enabled)
				if steps++; enabled[i].Kind == gate.Time {
					passed++
				}
				if at < 9 {
					list = append(list, i)
				}
			}
			if !slices.Contains(list, len(somewhere)) && slices.Equal(list, picks(s, 7, run)[:9]) {
				without++
			}
		}
		switch {
		case name == "default" && passed > 0, name != "default" && (passed == 0 || passed > steps/4):
			t.Errorf("%s: time passes in %d of %d steps", name, passed, steps)
		case without < 100:
			t.Errorf("%s: %d of 300 runs are as without timers", name, without)
		}
	}
	if h := uint32(gate.TimeStep(1).Hash()); gate.TimeStep(1).Name() != "time passes#1" || h != 0xb9ba1d5d {
		t.Errorf("%s: %08x", gate.TimeStep(1).Name(), h) // tokens depend on it
	}
}

// A Time step is in a schedule that puts steps off only if it is one of them.
func TestDelayedTime(t *testing.T) {
	take := somewhere[4]
	enabled := []gate.Step{take, gate.TimeStep(1)}
	hash := func(s gate.Step) uint32 { return uint32(s.Hash()) }
	for _, test := range []struct {
		order []uint32
		want  int
	}{
		{nil, 0},
		{[]uint32{hash(take)}, 0},
		{[]uint32{hash(enabled[1])}, 0},
		{[]uint32{hash(take), hash(enabled[1])}, 0},
		{[]uint32{hash(enabled[1]), hash(take)}, 1},
	} {
		delayed := NewDelayed(test.order)
		i := delayed.Choose(1, enabled)
		token := Token{Holds: delayed.Holds(1)}
		followed, diverged := (&Follower{Token: token}).Choose(1, enabled)
		if i != test.want || followed != i || diverged != "" {
			t.Errorf("%08x: chosen %d, by the token %d %s, want %d", test.order, i, followed, diverged, test.want)
		}
		if n := token.Timers(); (n == 1) != slices.Contains(test.order, hash(enabled[1])) {
			t.Errorf("%08x: the token names %d timers", test.order, n)
		}
	}
}

// What waits is picked in the end: a starved step when it alone is left.
func TestStrategiesPickTheOnlyStep(t *testing.T) {
	for name, s := range strategies {
		for run := range 50 {
			choose := s.Begin(1, run, 10)
			for at := range 20 {
				if i := choose(at+1, somewhere[3:4]); i != 0 {
					t.Fatalf("%s: index %d of 1", name, i)
				}
			}
		}
	}
}

func TestStepNames(t *testing.T) {
	for i, want := range []string{"start list", "c2s ack ping#1", "s2c ack notifications/message#1",
		"s2c give notifications/message#1", "s2c take notifications/message#2", "s2c close"} {
		if got := somewhere[i].Name(); got != want {
			t.Errorf("step %d: %s, want %s", i, got, want)
		}
	}
	// Tokens depend on these; they may never change.
	if h := somewhere[1].Hash(); uint32(h) != 0x8d4151bf {
		t.Errorf("hash of %s: %08x", somewhere[1].Name(), uint32(h))
	}
}

// What a search has seen is counted by class and by race.
func TestCoverage(t *testing.T) {
	c := NewTally()
	a, b := somewhere[1], somewhere[2] // acks of both directions, which commute
	d := somewhere[4]
	for _, order := range [][]gate.Step{{a, b, d}, {b, a, d}, {a, b, d}, {d, b, a}} {
		run := Trail{Touching: Touching{Split: true}}
		for i := range order {
			run.Step(order[i:], 0)
		}
		c.Add(&run)
	}
	// The take wakes the client, as the first ack does; the server's ack is apart.
	if got, want := c.Coverage(), (Coverage{Classes: 2, Unseen: 0.25, Races: 1, Reversed: 1, Recent: 4, New: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
