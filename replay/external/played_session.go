package external

import (
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// playedSession is the session of one play: the frames of the recorded end, in the order in which they went out, and
// those of the process, as they were heard. Its Model is the only index of open requests that a player has; what a
// player knows of a call beside, it keeps by the Call.
type playedSession struct {
	*timeline.Model
	events uint64 // so far
}

func newPlayedSession() *playedSession { return &playedSession{Model: timeline.NewModel(timeline.All)} }

// take takes a frame. A play is one session of one client, so ids are unique in it, over HTTP as well. An answer
// whose id is the request's but for its type is none here: an end under test has to give the id as it got it.
func (s *playedSession) take(dir transport.Direction, frame transport.Frame) timeline.Step {
	s.events++
	step := s.Take(store.Event{Seq: s.events, Kind: store.Frame, Dir: dir, Payload: frame.Bytes})
	for i := range step.Messages {
		if m := &step.Messages[i]; m.Role == timeline.Answers && m.Retyped {
			s.Lose(step.Messages[i : i+1])
			m.Call, m.Role = nil, timeline.Unlinked
		}
	}
	return step
}

// nameOf names a call, such as "tools/call echo".
func nameOf(call *timeline.Call) string {
	return strings.TrimSpace(call.Method + " " + call.Target)
}
