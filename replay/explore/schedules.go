package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// Schedule is a schedule that was run, with its steps. The JSON form is stable.
type Schedule struct {
	Token    string            `json:"token"`
	Verdict  string            `json:"verdict"`
	Capacity schedule.Capacity `json:"buffer"`
	// Steps are at most MostSteps steps, around the place where the failing and the passing
	// schedule part. First is the index of the first of all Total steps.
	Steps []ScheduleStep `json:"steps"`
	First int            `json:"first"`
	Total int            `json:"total"`
	// Frames describes the frames of Steps by name, such as c2s.1.
	Frames map[string]ScheduleFrame `json:"messages"`
}

// ScheduleFrame describes a frame of a schedule.
type ScheduleFrame struct {
	Label string `json:"label"` // the content name, without the direction
	Kind  string `json:"kind"`  // request, response, notification, invalid, batch or noise
	Dir   string `json:"dir"`
}

// MostSteps is the greatest number of steps in a [Schedule].
const MostSteps = 3000

// ScheduleStep is a step of a schedule, or an effect of a step: the offer of a frame, which
// is the call of Write, and the give of a frame that a take handed to a waiting reader.
type ScheduleStep struct {
	// Name is the content name, the same in every run, such as c2s take tools/call "x"#1.
	Name string `json:"name"`
	Op   string `json:"op"`  // start, offer, take, ack, give, eof, close, half-close, relent, reach or time
	Dir  string `json:"dir"` // c2s, s2c, or "" for a start, a reach and time
	N    int    `json:"n"`   // the frame's number in its direction, in the order of offers; 0 without a frame
	// Tick is the line on which the step is drawn, from 1. The give has the line of the take
	// if it is an effect of the take, an offer has the line of the next step, and an ack has
	// a line of its own unless it follows the take or the give of its frame.
	Tick int `json:"tick"`
	// Operation is the operation that the step starts, or that wrote the frame; "" for none.
	Operation string `json:"operation,omitempty"`

	flight *gate.Flight
}

// same reports whether two steps are the same movement.
func (s ScheduleStep) same(other ScheduleStep) bool { return s.Op == other.Op && s.Name == other.Name }

// scheduleSteps lists the steps of a run with their effects. The gate is locked.
func scheduleSteps(steps []gate.Step, lanes []*gate.Lane) []ScheduleStep {
	offers := map[int][]*gate.Flight{} // by the number of steps before
	offer := func(f *gate.Flight) {
		at := f.Round
		for at < len(steps) && steps[at].Do != nil { // f.Round does not count these steps
			at++
			if steps[at-1].What == f.Op {
				break
			}
		}
		for at < len(steps) && onSameLine(steps, at) { // no offer between a step and its ack
			at++
		}
		offers[at] = append(offers[at], f)
	}
	for _, s := range steps {
		if s.Kind == gate.Take {
			offer(s.Flight)
		}
	}
	for _, l := range lanes {
		for _, f := range l.Waiting {
			offer(f)
		}
	}
	var list []ScheduleStep
	tick := 0
	// Goroutines that the same step woke write in an order that the Go scheduler chooses and no
	// token holds. So the frames offered after the same step are numbered by name.
	numbers := map[*gate.Flight]int{}
	offered := map[transport.Direction]int{}
	add := func(kind string, f *gate.Flight) {
		list = append(list, ScheduleStep{
			Name: f.Dir.String() + " " + kind + " " + f.Name, Op: kind, Dir: f.Dir.String(), N: numbers[f],
			Tick: tick, Operation: f.Op, flight: f,
		})
	}
	for at := 0; at <= len(steps); at++ {
		slices.SortStableFunc(offers[at], func(a, b *gate.Flight) int {
			return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Name, b.Name))
		})
		for _, f := range offers[at] {
			offered[f.Dir]++
			numbers[f] = offered[f.Dir]
			add(transport.Offer.String(), f)
			list[len(list)-1].Tick++ // the next line
		}
		if at == len(steps) {
			break
		}
		s := steps[at]
		if !onSameLine(steps, at) {
			tick++
		}
		if s.Flight == nil {
			list = append(list, ScheduleStep{Name: s.Name(), Op: s.Kind.String(), Dir: s.Dir.String(), Tick: tick, Operation: startedBy(s)})
			continue
		}
		add(s.Kind.String(), s.Flight)
		if s.Kind == gate.Take && s.Flight.Given == at+1 {
			add(gate.Give.String(), s.Flight)
		}
	}
	return list
}

// onSameLine reports whether a step is an ack right after the take or the give of its frame.
func onSameLine(steps []gate.Step, at int) bool {
	return steps[at].Kind == gate.Ack && at > 0 && steps[at-1].Flight == steps[at].Flight
}

// startedBy returns the operation of a start; "" for other steps.
func startedBy(step gate.Step) string {
	if step.Kind == gate.Start {
		return step.What
	}
	return ""
}

// apart returns the index of the first step at which two schedules are not the same.
func apart(failing, passing []ScheduleStep) int {
	at := 0
	for at < len(failing) && at < len(passing) && failing[at].same(passing[at]) {
		at++
	}
	return at
}

// cut keeps the steps around an index, and their frames.
func (s *Schedule) cut(around int) {
	s.Total = len(s.Steps)
	s.First = max(0, min(around-MostSteps/3, len(s.Steps)-MostSteps))
	s.Steps = s.Steps[s.First:min(s.First+MostSteps, len(s.Steps))]
	s.Frames = map[string]ScheduleFrame{}
	for _, step := range s.Steps {
		if step.flight != nil {
			s.Frames[fmt.Sprintf("%s.%d", step.Dir, step.N)] = ScheduleFrame{
				Label: step.flight.Name, Kind: kindOf(step.flight.Frame), Dir: step.Dir,
			}
		}
	}
}

// kindOf names the kind of a frame as the rows of a picture do.
func kindOf(frame transport.Frame) string {
	messages := timeline.MessagesOf(frame)
	switch {
	case len(messages) == 0:
		return "stray output"
	case frame.IsBatch():
		return "batch"
	}
	return messages[0].Kind().String()
}

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
