package check

import (
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// A client is taken for silent behind an answer when it says nothing for silentFor and
// for silentTimes as long as it ever took before to go on.
const (
	silentFor   = time.Second
	silentTimes = 10
)

// silence watches for a client that does not go on behind an answer before which
// notifications stood: what a hang looks like where pipes hold all that is not read.
type silence struct {
	call    string // the last of the client's that was answered behind notifications
	notices int
	seq, at uint64        // its answer, and what ended the silence
	since   time.Duration // of the answer
	until   time.Duration
	thought time.Duration // the longest that the client took before
}

// speaks takes note of a frame of the client.
func (s *silence) speaks(f *Fold, e store.Event) {
	if behind := f.last[transport.ServerToClient].at; behind > f.last[transport.ClientToServer].at {
		s.thought = max(s.thought, e.At-behind)
	}
	s.seq = 0
}

// answered takes note of an answer to the client.
func (s *silence) answered(e store.Event, c *call, notices int) {
	if s.seq = 0; notices > 0 && e.Stream == 0 {
		*s = silence{call: c.String(), notices: notices, seq: e.Seq, since: e.At, thought: s.thought}
	}
}

// ends takes note of the first event that ends the wait.
func (s *silence) ends(e store.Event) {
	if s.at == 0 {
		s.at, s.until = e.Seq, e.At
	}
}

// tell says what there was, at the end of a session in which nothing else waits.
func (s *silence) tell(f *Fold) {
	if s.seq == 0 || s.at == 0 || f.hangs {
		return
	}
	if took := s.until - s.since; took >= silentFor && took >= silentTimes*s.thought {
		f.finds(silent, transport.ClientToServer, f.scopes.session.rules.Revision(), []uint64{s.seq, s.at},
			"the client said nothing for %v after it was sent the answer to %s, until #%d; notifications before that answer: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --client inbox:0)",
			phrase.Brief(took), s.call, s.at, s.notices)
	}
}
