package explore

import "github.com/mcprec/mcprec/transport"

// starve picks its victim anew for each run: one kind of step in one direction, a
// whole direction, or every step of about one frame in eight. The others are
// released at random, victims only when nothing else is enabled.
func starve(seed uint64, run, _ int) Chooser {
	r := dice(seed, run)
	victim := victims(r.IntN(3), r.Uint64())
	return func(_ int, enabled []Step) int {
		n := 0
		for _, s := range enabled {
			if !victim(s) {
				n++
			}
		}
		if n == 0 {
			return r.IntN(len(enabled))
		}
		k := r.IntN(n)
		for i, s := range enabled {
			if victim(s) {
				continue
			}
			if k == 0 {
				return i
			}
			k--
		}
		return 0
	}
}

func victims(how int, salt uint64) func(Step) bool {
	dir := transport.ClientToServer + transport.Direction(salt>>8&1)
	switch how {
	case 0:
		kind := Ack + Kind(salt>>16%3) // ack, give or take
		return func(s Step) bool { return s.Kind == kind && s.Dir == dir }
	case 1:
		return func(s Step) bool { return s.Dir == dir }
	}
	return func(s Step) bool { return scramble(salt^s.content())&7 == 0 }
}
