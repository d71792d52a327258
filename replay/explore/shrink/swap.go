package shrink

import (
	"fmt"
	"slices"
)

// swap puts something that was dropped in the place of one or two parts that
// were kept and have, with what is inside of them, more frames: what dropping
// alone cannot reach. Of what has frames alike, between the same kept ones, only one is tried.
func (s *shrink) swap(f *found) *found {
	ins := s.ins(f.choice)
	for _, out := range s.outs(f.choice) {
		for _, in := range ins {
			x := s.swapped(f.choice, in, out)
			if s.count(x) >= f.cost.frames {
				continue
			}
			if g := s.accept(x); g != nil {
				return g
			}
		}
	}
	return nil
}

// ins are the parts that were dropped, each with what it needs, and the groups
// that were.
func (s *shrink) ins(x choice) [][]int {
	var list [][]int
	seen := map[string]bool{}
	before := s.before(x)
	add := func(parts []int) {
		p := s.profile(parts)
		for _, part := range parts {
			for _, f := range s.parts[part].frames {
				p += fmt.Sprint(before[f], " ")
			}
		}
		if !seen[p] {
			seen[p] = true
			list = append(list, parts)
		}
	}
	for p, keep := range x.keep {
		if !keep {
			add([]int{p})
		}
	}
	for _, parts := range s.groups {
		if !slices.ContainsFunc(parts, func(p int) bool { return x.keep[p] }) {
			add(parts)
		}
	}
	slices.SortStableFunc(list, func(a, b []int) int { return s.size(a) - s.size(b) })
	return list
}

// size is how many frames the parts have.
func (s *shrink) size(parts []int) int {
	n := 0
	for _, p := range parts {
		n += len(s.parts[p].frames)
	}
	return n
}

// before counts, for every frame, the kept ones in front of it.
func (s *shrink) before(x choice) []int {
	counts := make([]int, len(s.frames))
	n := 0
	for f := range s.frames {
		counts[f] = n
		if x.keep[s.partOf[f]] {
			n++
		}
	}
	return counts
}

// outs are the parts that were kept, those apart that go with one other part:
// one at a time, then two.
func (s *shrink) outs(x choice) [][]int {
	var ones, twos [][]int
	for _, p := range x.parts() {
		if slices.ContainsFunc(s.parts[p].needs, func(n need) bool { return n.inside && len(n.any) == 1 }) {
			continue
		}
		for _, one := range ones {
			twos = append(twos, []int{one[0], p})
		}
		ones = append(ones, []int{p})
	}
	return append(ones, twos...)
}

func (s *shrink) swapped(x choice, in, out []int) choice {
	x = x.clone()
	for _, p := range out {
		x.keep[p] = false
	}
	s.lower(x.keep)
	for _, p := range in {
		x.keep[p] = true
	}
	s.raise(x.keep)
	return x
}

// profile is the directions of the frames of parts.
func (s *shrink) profile(parts []int) string {
	text := ""
	for _, p := range parts {
		for _, f := range s.parts[p].frames {
			text += fmt.Sprint(s.frames[f].Dir, " ")
		}
		text += "/"
	}
	return text
}

// count is how many frames a choice has.
func (s *shrink) count(x choice) int {
	n := 0
	for p, keep := range x.keep {
		if keep {
			n += len(s.parts[p].frames)
		}
	}
	return n
}
