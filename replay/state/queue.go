package state

import (
	"sort"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// lane is one direction of one HTTP exchange; of the whole session on stdio.
type lane struct {
	dir    transport.Direction
	stream uint64
}

// queue has the Seqs of a lane's frames that nothing shows to be taken.
type queue []uint64

// queues puts a frame into its lane. What is a whole body of an answer over HTTP is in
// none.
func (s *State) queues(e store.Event) {
	if _, open := s.streams[e.Stream]; e.Stream != 0 && !open {
		return
	}
	l := lane{way(e.Dir), e.Stream}
	s.lanes[l] = append(s.lanes[l], e.Seq)
	s.queued[l.dir]++
}

// taken notes that the frames of a lane up to a Seq are in their receiver's hands.
func (s *State) taken(dir transport.Direction, stream, upto uint64) {
	l := lane{way(dir), stream}
	q := s.lanes[l]
	if len(q) == 0 || q[0] > upto {
		return
	}
	n := sort.Search(len(q), func(i int) bool { return q[i] > upto })
	s.queued[l.dir] -= n
	if n == len(q) {
		delete(s.lanes, l)
		return
	}
	s.lanes[l] = q[n:]
}
