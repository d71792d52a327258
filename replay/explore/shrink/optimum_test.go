package shrink

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
)

// scale returns the count of the mode: short, or that of a soak run.
func scale(short, soak int) int {
	if os.Getenv("MCPREC_NIGHT") != "" {
		return soak
	}
	return short
}

// optimum tries every session that can be made of the parts as recorded.
func optimum(s *shrink, c closed.Capacity) int {
	best := len(s.frames)
	for set := 1; set < 1<<len(s.parts); set++ {
		x := s.all()
		x.extras, x.capacity = false, c
		for p := range x.keep {
			x.keep[p] = set>>p&1 == 1
		}
		if s.size(x.parts()) >= best || !s.isLower(x.keep) {
			continue
		}
		events, _ := s.build(x)
		if s.try(Candidate{Events: events, Capacity: c}).Fingerprint == s.want {
			best = s.size(x.parts())
		}
	}
	return best
}

func (c *cut) isLower(keep []bool) bool {
	for i, p := range c.parts {
		if keep[i] && slices.ContainsFunc(p.needs, func(n need) bool { return !n.met(keep) }) {
			return false
		}
	}
	return true
}

// The result has at most two frames more than the best session there is, in 99 of
// 100 cases, though the capacity may not move, which would make it easy.
func TestOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	excess, cases, beyond := map[int]int{}, 0, 0
	for cases < scale(50, 1000) {
		events := randomSession(rng, 10+rng.IntN(30), rng.IntN(3) == 0)
		c := closed.Capacity{C2S: closed.Room(rng.IntN(4)), S2C: closed.Room(rng.IntN(4))}
		try := Closed(randomModel(rng), randomModel(rng))
		s := &shrink{cut: takeApart(events, false), try: try}
		s.want = try(Candidate{Events: events, Capacity: c}).Fingerprint
		if s.want == "" || len(s.parts) < 7 || len(s.parts) > scale(12, 16) {
			continue
		}
		cases++
		want := optimum(s, c)
		r := Session(events, try, Options{Capacity: c, keepCapacity: true})
		excess[r.To-want]++
		if r.To > want+2 {
			beyond++
			t.Logf("%s, %d parts, at %v: %d → %d messages, the optimum is %d (%d tries)\n%s", s.want, len(s.parts), c, r.From, r.To, want, r.Tries, lines(events))
		}
	}
	if beyond*100 > cases {
		t.Errorf("%d of %d results are not within two messages of the optimum", beyond, cases)
	}
	t.Logf("frames above the optimum: %v", excess)
}

// Every result, and every session made of some parts, is whole, legal, and plays.
func TestLegal(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	hangs := 0
	for range scale(150, 20000) {
		events := randomSession(rng, rng.IntN(60), true)
		if fault := illegal(events); fault != "" {
			t.Fatalf("the session itself: %s\n%s", fault, lines(events))
		}
		s := &shrink{cut: takeApart(events, false)}
		x := s.all()
		for p := range x.keep {
			x.keep[p] = rng.IntN(3) > 0
		}
		s.dropIllegal(x.keep)
		for g := range x.alone {
			x.alone[g] = rng.IntN(3) == 0
		}
		if !s.ordered(x, s.order(x)) {
			clear(x.alone)
		}
		some, _ := s.build(x)
		c := closed.Capacity{C2S: closed.Room(rng.IntN(3)), S2C: closed.Room(rng.IntN(3))}
		r := Session(events, Closed(randomModel(rng), randomModel(rng)), Options{Capacity: c})
		if r.Fingerprint != "" {
			hangs++
		}
		for _, made := range []Candidate{{Events: some}, r.Candidate} {
			if fault := whole(made.Events) + illegal(made.Events); fault != "" {
				t.Fatalf("%s\nof\n%s\nbecame\n%s", fault, lines(events), lines(made.Events))
			}
		}
	}
	if hangs < 10 {
		t.Errorf("only %d sessions hang: they say little", hangs)
	}
}
