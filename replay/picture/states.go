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
}

// keptStates is the most states that are kept. After every second one was dropped, half of
// them are left: an interval is at most a 64th of the session.
const keptStates = 128

// Add keeps a clone of the state, if the last kept one is far enough behind. The caller adds
// the state after each event.
func (s *States) Add(now *state.State) {
	s.interval = max(s.interval, 1)
	last := uint64(0)
	if len(s.list) > 0 {
		last = s.list[len(s.list)-1].Seq()
	}
	if now.Seq() < last+s.interval {
		return
	}
	if len(s.list) == keptStates {
		kept := s.list[:0]
		for i := 1; i < keptStates; i += 2 {
			kept = append(kept, s.list[i])
		}
		clear(s.list[len(kept):])
		s.list = kept
		s.interval *= 2
		if now.Seq() < s.list[len(s.list)-1].Seq()+s.interval {
			return
		}
	}
	s.list = append(s.list, now.Clone())
}

// Nearest returns the latest state that is kept of the session up to an event, of which the
// caller may fold the clone on: the state before the first event if none is kept.
func (s *States) Nearest(seq uint64) *state.State {
	after := sort.Search(len(s.list), func(i int) bool { return s.list[i].Seq() > seq })
	if after == 0 {
		return state.New()
	}
	return s.list[after-1].Clone()
}
