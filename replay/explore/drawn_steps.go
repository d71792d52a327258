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
