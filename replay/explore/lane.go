package explore

import (
	"io"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// lane is one direction. A frame moves waiting → queue → its reader; until its
// Write has returned it is in unacked too.
type lane struct {
	dir      transport.Direction
	cap      int
	said     int       // frames that were offered and named
	fresh    []*flight // offered since the engine last looked; not named
	waiting  []*flight // in their writers' hands; by round of the offer, then by name
	queue    []*flight // taken, not given
	unacked  []*flight // taken, their Write has not returned
	readers  []*reader
	last     *flight  // the frame that was given last
	holder   []string // the goroutine that has it and its parent, of a traced gate
	before   []string // those of the frame before it
	quit     bool     // that has ended, as stacks show at a hang
	eof      int      // the step that told the reader of the end; 0 before
	ended    bool     // the sender has closed
	halved   bool     // it closed this direction alone
	deafened bool     // the receiver has closed
	ending   bool     // the sender asked to close: no frame is taken any more
	leaving  bool     // the receiver asked to close: no frame is given any more
	idle     string   // why a recorded receiver does not read
	read     bool     // a recorded receiver has read all that there is
	turn     int      // in the recorded order, of a recorded sender's next frame
}

// flight is one frame on its way.
type flight struct {
	name    string
	hash    uint64 // of the name
	dir     transport.Direction
	frame   transport.Frame
	said    *said         // what it says; when it is named
	known   order.Mark    // what its writer had been given at the offer
	place   int           // in the recorded order of a sender that does not keep it
	op      string        // the operation that wrote it, where its context says so
	quiet   bool          // op is not in the name
	ping    bool          // keepalive: a ping or an answer to one
	round   int           // of the offer
	number  int           // in its direction, from 1
	answers *call         // the request that it answers first
	offered time.Duration // since the run began
	writers []string      // the goroutine that wrote it and its parent, of a traced gate
	wrote   []spot        // where that stood
	reader  []string      // the goroutine that it was given to, and its parent
	alive   map[int]bool  // the goroutines that there were then
	until   map[int]bool  // those that there were when the next frame was given
	taken   int           // the step that took it; 0 before
	given   int           // the step that gave it; 0 before
	done    chan error
}

type reader struct {
	got       chan received
	goroutine []string // and its parent
}

type received struct {
	frame transport.Frame
	err   error
}

// offers reports whether a frame is in its writer's hand.
func (l *lane) offers() bool { return len(l.fresh)+len(l.waiting) > 0 }

// refuse ends the writers whose frames were not taken.
func (l *lane) refuse() {
	for _, f := range slices.Concat(l.fresh, l.waiting) {
		f.done <- transport.ErrClosed
	}
	l.fresh, l.waiting = nil, nil
}

// wake ends the waiting readers without a frame.
func (l *lane) wake(err error) {
	for _, r := range l.readers {
		r.got <- received{err: err}
	}
	l.readers = nil
}

// drained reports whether nothing can come to a reader any more.
func (l *lane) drained() bool { return l.ended && len(l.queue) == 0 && l.heard() }

// heard reports whether a reader waits and its end was not asked to close.
func (l *lane) heard() bool { return len(l.readers) > 0 && !l.leaving }

// room reports whether a frame may be taken. At capacity 0 a frame goes from
// hand to hand: a reader must be there.
func (l *lane) room() bool {
	if l.ending || l.deafened {
		return false
	}
	return l.cap < 0 || len(l.queue) < l.cap || l.cap == 0 && l.heard()
}

// take moves a frame out of its writer's hand; at capacity 0 its reader has it.
func (l *lane) take(f *flight, step int) {
	i := slices.Index(l.waiting, f)
	l.waiting = slices.Delete(l.waiting, i, i+1)
	f.taken = step
	l.unacked = append(l.unacked, f)
	l.queue = append(l.queue, f)
	if l.cap == 0 {
		l.give(step)
	}
}

// give hands the first queued frame to the reader that waits longest.
func (l *lane) give(step int) {
	f := l.queue[0]
	l.queue = l.queue[1:]
	f.given, l.last = step, f
	l.before, l.holder = l.holder, l.readers[0].goroutine
	l.readers[0].got <- received{frame: f.frame}
	l.readers = l.readers[1:]
}

// ack lets the Write of a taken frame return.
func (l *lane) ack(f *flight) {
	i := slices.Index(l.unacked, f)
	l.unacked = slices.Delete(l.unacked, i, i+1)
	f.done <- nil
}

// endOfFile tells a waiting reader that its peer has closed.
func (l *lane) endOfFile(step int) {
	l.eof = step
	l.readers[0].got <- received{err: io.EOF}
	l.readers = l.readers[1:]
}
