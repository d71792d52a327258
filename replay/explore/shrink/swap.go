package shrink

import (
	"fmt"
	"slices"
)

// swap puts something that was dropped in the place of one or two groups that
// were kept and together have more frames: what dropping alone cannot reach. Of
// parts and groups that have frames alike only one is tried.
func (s *shrink) swap(f *found) *found {
	out := s.outs(f.choice)
	for _, in := range s.ins(f.choice) {
		for _, groups := range out {
			x := s.swapped(f.choice, in, groups)
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
	add := func(parts []int) {
		if p := s.profile(parts); !seen[p] {
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
	return list
}

// outs are the groups that were kept, one at a time, then two.
func (s *shrink) outs(x choice) [][]int {
	groups := s.keptGroups(x)
	var list [][]int
	seen := map[string]bool{}
	for i, a := range groups {
		if p := s.profile(s.partsOf(x, a)); !seen[p] {
			seen[p] = true
			list = append(list, []int{a})
		}
		for _, b := range groups[:i] {
			if p := s.profile(s.partsOf(x, b)) + "+" + s.profile(s.partsOf(x, a)); !seen[p] {
				seen[p] = true
				list = append(list, []int{b, a})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b []int) int { return len(a) - len(b) })
	return list
}

func (s *shrink) swapped(x choice, in, out []int) choice {
	x = x.clone()
	for _, g := range out {
		for _, p := range s.groups[g] {
			x.keep[p] = false
		}
	}
	s.lower(x.keep)
	for _, p := range in {
		x.keep[p] = true
	}
	s.raise(x.keep)
	return x
}

// partsOf lists the parts of a group that are kept.
func (s *shrink) partsOf(x choice, group int) []int {
	var list []int
	for _, p := range s.groups[group] {
		if x.keep[p] {
			list = append(list, p)
		}
	}
	return list
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
