package shrink

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/transport"
)

// rendezvous takes the room of both directions away, or of one.
func (s *shrink) rendezvous(found *found) *found {
	if s.opt.keepCapacity || found.capacity == (closed.Capacity{}) {
		return nil
	}
	for _, c := range [...]closed.Capacity{{}, {S2C: found.capacity.S2C}, {C2S: found.capacity.C2S}} {
		x := found.choice.clone()
		x.capacity = c
		if g := s.accept(x); g != nil {
			return g
		}
	}
	return nil
}

// guess keeps only the parts of the failure, or else the groups of these parts.
func (s *shrink) guess(found *found) *found {
	if len(found.outcome.Involved) == 0 {
		return nil
	}
	parts := found.choice.only(nil)
	groups := found.choice.only(nil)
	for _, seq := range found.outcome.Involved {
		p := s.partOf[found.from[seq]]
		parts.keep[p] = true
		for _, p := range s.groups[s.groupOf[p]] {
			groups.keep[p] = found.keep[p]
		}
	}
	for _, x := range [...]choice{parts, groups} {
		x.extras = false
		s.addNeeds(x.keep)
		if g := s.accept(x); g != nil {
			return g
		}
	}
	return nil
}

// truncate drops the parts of which no frame was sent, and the events that are no frames.
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
	s.addNeeds(x.keep)
	return s.accept(x)
}

// drop drops whole groups, then single parts: notifications, and the inner parts of groups.
func (s *shrink) drop(found *found) *found {
	with := func(groups []int) choice {
		var parts []int
		for _, g := range groups {
			for _, p := range s.groups[g] {
				if found.keep[p] {
					parts = append(parts, p)
				}
			}
		}
		return found.choice.only(parts)
	}
	groups := Minimize(s.keptGroups(found.choice), func(groups []int) bool { return s.accept(with(groups)) != nil })
	if g := s.accept(with(groups)); g != nil {
		found = g
	}
	return s.accept(found.choice.only(Minimize(found.choice.parts(), func(parts []int) bool {
		return s.accept(found.choice.only(parts)) != nil
	})))
}

// serialise lets as many groups as possible stand alone.
func (s *shrink) serialise(found *found) *found {
	if s.overlap(s.order(found.choice)) == 0 {
		return nil
	}
	with := func(mixed []int) choice {
		x := found.choice.clone()
		for g := range x.alone {
			x.alone[g] = !slices.Contains(mixed, g)
		}
		return x
	}
	mixed := Minimize(s.keptGroups(found.choice), func(mixed []int) bool {
		x := with(mixed)
		return s.ordered(x, s.order(x)) && s.accept(x) != nil
	})
	return s.accept(with(mixed))
}

// keptGroups lists the groups with a kept part.
func (s *shrink) keptGroups(choice choice) []int {
	var groups []int
	for g, parts := range s.groups {
		if slices.ContainsFunc(parts, func(p int) bool { return choice.keep[p] }) {
			groups = append(groups, g)
		}
	}
	return groups
}

// swap replaces one or two kept parts by a dropped part with, inner parts included, fewer
// frames: dropping alone cannot reach such a candidate.
func (s *shrink) swap(found *found) *found {
	ins := s.dropped(found.choice)
	var ones, twos [][]int // the kept parts, except inner parts of a single part
	for _, p := range found.choice.parts() {
		if slices.ContainsFunc(s.parts[p].needs, func(need need) bool { return need.inside && len(need.any) == 1 }) {
			continue
		}
		for _, one := range ones {
			twos = append(twos, []int{one[0], p})
		}
		ones = append(ones, []int{p})
	}
	for _, out := range append(ones, twos...) {
		for _, in := range ins {
			x := found.choice.clone()
			for _, p := range out {
				x.keep[p] = false
			}
			s.dropIllegal(x.keep)
			for _, p := range in {
				x.keep[p] = true
			}
			s.addNeeds(x.keep)
			if s.size(x.parts()) >= found.cost.frames {
				continue
			}
			if g := s.accept(x); g != nil {
				return g
			}
		}
	}
	return nil
}

// dropped lists the dropped parts and groups, the smallest first. Of several with the same
// directions between the same kept frames it lists the first.
func (s *shrink) dropped(choice choice) [][]int {
	before := make([]int, len(s.frames)) // how many kept frames stand in front
	kept := 0
	for f, p := range s.partOf {
		before[f] = kept
		if choice.keep[p] {
			kept++
		}
	}
	var list [][]int
	seen := map[string]bool{}
	add := func(parts []int) {
		profile := ""
		for _, p := range parts {
			for _, f := range s.parts[p].frames {
				profile += fmt.Sprint(s.frames[f].Dir, before[f], " ")
			}
			profile += "/"
		}
		if !seen[profile] {
			seen[profile] = true
			list = append(list, parts)
		}
	}
	for p, keep := range choice.keep {
		if !keep {
			add([]int{p})
		}
	}
	for _, parts := range s.groups {
		if !slices.ContainsFunc(parts, func(p int) bool { return choice.keep[p] }) {
			add(parts)
		}
	}
	slices.SortStableFunc(list, func(a, b []int) int { return s.size(a) - s.size(b) })
	return list
}
