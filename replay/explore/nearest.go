package explore

import (
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
)

// addSchedules gives a report the steps of its failing run, and of the nearest schedule that
// passes.
func addSchedules(s *search, report *Report, run *Run) {
	report.Failing = nil
	report.Passing = nil
	report.Apart = 0
	if run.outcome.schedule == nil {
		return
	}
	report.Failing = &Schedule{Token: report.Token, Verdict: run.outcome.verdict, Capacity: run.terms.capacity, Steps: run.outcome.schedule}
	report.Apart = len(run.outcome.schedule)
	passed := nearest(s, run)
	if passed != nil {
		report.Passing = &Schedule{
			Token: passed.asToken().String(), Verdict: passed.outcome.verdict, Capacity: passed.terms.capacity, Steps: passed.outcome.schedule,
		}
		report.Apart = apart(run.outcome.schedule, passed.outcome.schedule)
		report.Passing.cut(report.Apart)
	}
	report.Failing.cut(report.Apart)
}

// The most runs for each way to search for a schedule that passes. A settled run takes real
// time.
const (
	nearestRuns        = 100
	nearestRunsSettled = 8
)

// neighbours searches for a schedule that passes and is like a failing one.
type neighbours struct {
	*search
	failed *Run
	order  []uint32 // the hashes of the failing run's steps
	left   int      // runs that are still allowed
}

// nearest returns a passing run that begins as the failing run does, for as long as possible;
// nil if it finds none. First it puts off each step of the failing run, the last step first:
// the first run that passes has the longest beginning in common. If all these runs fail, it
// takes away deviations of the failing schedule. At last it keeps the order and gives the
// transport more room.
func nearest(s *search, failed *Run) *Run {
	if !failed.shrinks() || failed.outcome.verdict == Different || s.plan.Shrink <= 0 {
		return nil
	}
	n := &neighbours{search: s, failed: failed, order: failed.shownHashes()}
	for _, try := range []func() *Run{n.puttingOffOne, n.withoutChoices, n.withRoom} {
		n.left = nearestRuns
		if failed.terms.engine == schedule.Settle {
			n.left = nearestRunsSettled
		}
		passed := try()
		if passed != nil {
			return passed
		}
	}
	return nil
}

// passes plays a run and, if it passes, plays its token. It returns the second run if that
// passes, too, and otherwise nil.
func (n *neighbours) passes(run *Run) *Run {
	if n.left <= 0 || n.limits.ended() != "" {
		return nil
	}
	n.left--
	run.play(n.t)
	if run.costly() {
		n.left = 0
	}
	if run.outcome.verdict != Pass || run.outcome.cut {
		return nil
	}
	again := n.newRun(run.terms.capacity)
	again.terms.engine = run.terms.engine
	again.terms.level = run.terms.level
	again.course.follower = &schedule.Follower{Token: run.asToken()}
	again.terms.untraced = true
	again.terms.keeps = true
	again.play(n.t)
	if again.outcome.verdict != Pass {
		return nil
	}
	return again
}

// neighbour returns a run at a capacity, limited to about four times the failing steps.
func (n *neighbours) neighbour(capacity schedule.Capacity) *Run {
	run := n.newRun(capacity)
	run.terms.engine = n.failed.terms.engine
	run.terms.level = n.failed.terms.level
	run.terms.limit = min(run.terms.limit, 1000+4*len(n.failed.course.steps))
	return run
}

// puttingOffOne follows the failing steps up to one, puts that step off for as long as
// another is enabled, and goes on in the plain order.
func (n *neighbours) puttingOffOne() *Run {
	var choices []int // steps of the failing run with an alternative
	probe := n.neighbour(n.failed.terms.capacity)
	probe.course.chooser = func(at int, enabled []gate.Step) int {
		i := n.find(at, enabled)
		if i >= 0 && at <= len(n.order) {
			choices = append(choices, at)
		}
		return max(i, 0)
	}
	if n.limits.ended() != "" {
		return nil
	}
	probe.play(n.t)
	for _, place := range slices.Backward(choices) {
		if n.left <= 0 {
			return nil
		}
		run := n.neighbour(n.failed.terms.capacity)
		parted := false
		run.course.chooser = func(at int, enabled []gate.Step) int {
			parted = parted || at >= place
			if !parted {
				return max(n.find(at, enabled), 0)
			}
			return max(slices.IndexFunc(enabled, func(step gate.Step) bool {
				return step.Kind != gate.Time && uint32(step.Hash()) != n.order[place-1]
			}), 0)
		}
		passed := n.passes(run)
		if passed != nil {
			return passed
		}
	}
	return nil
}

// find returns the place, among the enabled steps, of the step that the failing run chose at
// this point; -1 if it is not enabled.
func (n *neighbours) find(at int, enabled []gate.Step) int {
	if at > len(n.order) {
		return -1
	}
	return slices.IndexFunc(enabled, func(step gate.Step) bool { return uint32(step.Hash()) == n.order[at-1] })
}

// withoutChoices leaves out deviations of the failing schedule from the plain order, the last
// one first: a choice together with all later choices, and then each hold.
func (n *neighbours) withoutChoices() *Run {
	token := n.failed.asToken()
	follow := func(token schedule.Token) *Run {
		run := n.neighbour(token.Capacity)
		run.course.follower = &schedule.Follower{Token: token}
		run.terms.untraced = true
		return n.passes(run)
	}
	for i := range slices.Backward(token.Choices) {
		other := token
		other.Choices = token.Choices[:i]
		passed := follow(other)
		if passed != nil {
			return passed
		}
	}
	for i := range slices.Backward(token.Holds) {
		other := token
		other.Holds = slices.Delete(slices.Clone(token.Holds), i, i+1)
		passed := follow(other)
		if passed != nil {
			return passed
		}
	}
	return nil
}

// withRoom gives the transport more room and keeps the failing steps in their order, for as
// long as one of them is enabled.
func (n *neighbours) withRoom() *Run {
	at := n.failed.terms.capacity
	tried := []schedule.Capacity{at}
	ranks := map[uint64]int{} // of the failing steps, and of each give that was part of a take
	for i, s := range n.failed.shown() {
		ranks[s.Hash()] = 2 * i
		if s.Kind == gate.Take && s.Flight.Given == i+1 {
			s.Kind = gate.Give
			ranks[s.Hash()] = 2*i + 1
		}
	}
	rank := func(step gate.Step) int {
		place, known := ranks[step.Hash()]
		if !known {
			place = 2 * len(n.failed.course.steps)
		}
		return place
	}
	for _, more := range []int{1, 2, 4, 8, 16, 64, 256, schedule.Unbounded} {
		room := func(old int) int {
			if old < 0 || more < 0 {
				return schedule.Unbounded
			}
			return old + more
		}
		c2s := schedule.Capacity{C2S: room(at.C2S), S2C: at.S2C}
		s2c := schedule.Capacity{C2S: at.C2S, S2C: room(at.S2C)}
		for _, c := range []schedule.Capacity{c2s, s2c, {C2S: c2s.C2S, S2C: s2c.S2C}} {
			if slices.Contains(tried, c) {
				continue
			}
			tried = append(tried, c)
			run := n.neighbour(c)
			run.course.chooser = func(_ int, enabled []gate.Step) int {
				best := 0
				for i, s := range enabled {
					if rank(s) < rank(enabled[best]) {
						best = i
					}
				}
				return best
			}
			passed := n.passes(run)
			if passed != nil {
				return passed
			}
		}
	}
	return nil
}
