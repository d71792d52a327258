package picture

import (
	"sort"

	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
)

// States keeps states of a session at about equal distances, so that the state at any event
// needs no fold from the first. The zero States is ready. One goroutine at a time may use it.
type States struct {
	list     []Point
	interval uint64 // events between two states
	open     int    // of all states: see state.State.Open
}

// Point is a place of a session: its model, and the state that goes on with the model's steps.
type Point struct {
	Model *timeline.Model
	State *state.State
}

// NewPoint returns the point before the first event of a session.
func NewPoint() Point { return Point{timeline.NewModel(timeline.Remembered), state.New()} }

// clone returns a point that goes on apart from p.
func (p Point) clone() Point {
	model, copies := p.Model.Clone()
	return Point{model, p.State.Clone(copies)}
}

// When there are keptStates states, every second one is dropped. Half of them are then left,
// so that an interval is at most a 64th of the session. Fewer are kept if together they
// hold more than keptOpen open calls and the like.
const (
	keptStates = 128
	keptOpen   = 100_000
)

// Add keeps a clone of the point if the last kept one is far enough behind. The caller
// calls Add after each event.
func (s *States) Add(now Point) {
	s.interval = max(s.interval, 1)
	for s.isDue(now.State.Seq()) {
		open := now.State.Open()
		if len(s.list) < keptStates && (len(s.list) < 2 || s.open+open <= keptOpen) {
			s.list = append(s.list, now.clone())
			s.open += open
			return
		}
		s.thin()
	}
}

func (s *States) isDue(seq uint64) bool {
	last := uint64(0)
	if len(s.list) > 0 {
		last = s.list[len(s.list)-1].State.Seq()
	}
	return seq >= last+s.interval
}

// thin drops every second state.
func (s *States) thin() {
	kept := s.list[:0]
	s.open = 0
	for i := 1; i < len(s.list); i += 2 {
		kept = append(kept, s.list[i])
		s.open += s.list[i].State.Open()
	}
	clear(s.list[len(kept):])
	s.list = kept
	s.interval *= 2
}

// Nearest returns a clone of the latest kept point at or before an event, for the caller to
// fold on; the point before the first event if there is none.
func (s *States) Nearest(seq uint64) Point {
	after := sort.Search(len(s.list), func(i int) bool { return s.list[i].State.Seq() > seq })
	if after == 0 {
		return NewPoint()
	}
	return s.list[after-1].clone()
}
