package picture

import (
	"sort"

	"github.com/mcprec/mcprec/replay/state"
)

// States keeps states of a session at about equal distances, so that the state at any event
// needs no fold from the first. The zero States is ready. One goroutine at a time may use it.
type States struct {
	list     []*state.State
	interval uint64 // events between two states
	open     int    // of all states: see state.State.Open
}

// When there are keptStates states, every second one is dropped. Half of them are then left,
// so that an interval is at most a 64th of the session. Fewer are kept if together they
// hold more than keptOpen open calls and the like.
const (
	keptStates = 128
	keptOpen   = 100_000
)

// Add keeps a clone of the state if the last kept state is far enough behind. The caller
// calls Add after each event.
func (s *States) Add(now *state.State) {
	s.interval = max(s.interval, 1)
	for s.isDue(now) {
		if len(s.list) < keptStates && (len(s.list) < 2 || s.open+now.Open() <= keptOpen) {
			s.list = append(s.list, now.Clone())
			s.open += now.Open()
			return
		}
		s.thin()
	}
}

func (s *States) isDue(now *state.State) bool {
	last := uint64(0)
	if len(s.list) > 0 {
		last = s.list[len(s.list)-1].Seq()
	}
	return now.Seq() >= last+s.interval
}

// thin drops every second state.
func (s *States) thin() {
	kept := s.list[:0]
	s.open = 0
	for i := 1; i < len(s.list); i += 2 {
		kept = append(kept, s.list[i])
		s.open += s.list[i].Open()
	}
	clear(s.list[len(kept):])
	s.list = kept
	s.interval *= 2
}

// Nearest returns a clone of the latest kept state at or before an event, for the caller to
// fold on; the state before the first event if there is none.
func (s *States) Nearest(seq uint64) *state.State {
	after := sort.Search(len(s.list), func(i int) bool { return s.list[i].Seq() > seq })
	if after == 0 {
		return state.New()
	}
	return s.list[after-1].Clone()
}
