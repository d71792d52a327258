package shrink

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// passes goes over one candidate; each pass takes what the one before has left.
func (s *shrink) passes(f *found) {
	for _, pass := range [...]func(*found) *found{
		s.rendezvous, s.guess, s.truncate, s.dropGroups, s.dropParts, s.swap, s.serialise, s.stripPayloads,
	} {
		if g := pass(f); g != nil {
			f = g
		}
	}
}

// rendezvous takes the room away: both directions', or one's.
func (s *shrink) rendezvous(f *found) *found {
	if s.opt.KeepCapacity || f.capacity == (replay.Capacity{}) {
		return nil
	}
	for _, c := range [...]replay.Capacity{{}, {S2C: f.capacity.S2C}, {C2S: f.capacity.C2S}} {
		x := f.choice.clone()
		x.capacity = c
		if g := s.accept(x); g != nil {
			return g
		}
	}
	return nil
}

// guess keeps only the parts that the failure is said to be about, or else their
// groups.
func (s *shrink) guess(f *found) *found {
	if len(f.outcome.Involved) == 0 {
		return nil
	}
	parts, groups := f.choice.only(nil), f.choice.only(nil)
	for _, seq := range f.outcome.Involved {
		p := s.partOf[f.from[seq]]
		parts.keep[p] = true
		for _, p := range s.groups[s.groupOf[p]] {
			groups.keep[p] = f.keep[p]
		}
	}
	for _, x := range [...]choice{parts, groups} {
		x.extras = false
		s.raise(x.keep)
		if g := s.accept(x); g != nil {
			return g
		}
	}
	return nil
}

// truncate drops the parts of which nothing was said, and what is no frame.
func (s *shrink) truncate(f *found) *found {
	x := f.choice.clone()
	x.extras = false
	left := map[transport.Direction]int{transport.ClientToServer: f.outcome.C2S, transport.ServerToClient: f.outcome.S2C}
	if f.outcome.C2S+f.outcome.S2C > 0 {
		clear(x.keep)
	}
	for _, i := range s.order(f.choice) {
		if dir := s.frames[i].Dir; left[dir] > 0 {
			left[dir]--
			x.keep[s.partOf[i]] = true
		}
	}
	s.raise(x.keep)
	return s.accept(x)
}

// dropGroups drops whole groups, big pieces first.
func (s *shrink) dropGroups(f *found) *found {
	with := func(groups []int) choice {
		var parts []int
		for _, g := range groups {
			for _, p := range s.groups[g] {
				if f.keep[p] {
					parts = append(parts, p)
				}
			}
		}
		return f.choice.only(parts)
	}
	groups := Minimize(s.keptGroups(f.choice), func(groups []int) bool { return s.accept(with(groups)) != nil })
	return s.accept(with(groups))
}

// dropParts drops single parts: notifications, and what groups have inside.
func (s *shrink) dropParts(f *found) *found {
	parts := Minimize(f.choice.parts(), func(parts []int) bool { return s.accept(f.choice.only(parts)) != nil })
	return s.accept(f.choice.only(parts))
}

// serialise lets groups stand alone: all of them, or as many as may.
func (s *shrink) serialise(f *found) *found {
	if s.overlap(s.order(f.choice)) == 0 {
		return nil
	}
	with := func(mixed []int) choice {
		x := f.choice.clone()
		for g := range x.alone {
			x.alone[g] = !slices.Contains(mixed, g)
		}
		return x
	}
	mixed := Minimize(s.keptGroups(f.choice), func(mixed []int) bool {
		x := with(mixed)
		return s.ordered(x, s.order(x)) && s.accept(x) != nil
	})
	return s.accept(with(mixed))
}

// stripPayloads takes out what no schema wants: everywhere, or where it may.
func (s *shrink) stripPayloads(f *found) *found {
	var all []edit
	for _, i := range s.order(f.choice) {
		all = append(all, edits(i, s.frames[i])...)
	}
	with := func(left []edit) choice {
		x := f.choice.clone()
		x.bare = map[edit]bool{}
		for _, e := range all {
			if !slices.Contains(left, e) {
				x.bare[e] = true
			}
		}
		return x
	}
	left := Minimize(all, func(left []edit) bool { return s.accept(with(left)) != nil })
	return s.accept(with(left))
}

// keptGroups lists the groups of which anything is kept.
func (s *shrink) keptGroups(x choice) []int {
	var groups []int
	for g, parts := range s.groups {
		if slices.ContainsFunc(parts, func(p int) bool { return x.keep[p] }) {
			groups = append(groups, g)
		}
	}
	return groups
}

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
