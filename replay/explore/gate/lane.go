package gate

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Lane is one direction of a pair, or the response of an HTTP exchange.
type Lane struct {
	Dir      transport.Direction
	Exchange *Exchange // of a response, or nil
	Back     *Lane     // the other direction
	Cap      int
	Said     int       // offered and named frames; of the direction, also in the responses
	Waiting  []*Flight // in their writers' hands; by round of the offer, then by name
	Queue    []*Flight // taken, not given
	Last     *Flight   // the last given frame
	EOF      int       // the step that told the reader of the end; 0 before

	Ended    bool // the sender has closed
	Halved   bool // the sender closed this direction alone
	Deafened bool // the receiver has closed
	Ending   bool // the sender asked to close: no frame is taken any more
	Leaving  bool // the receiver asked to close: no frame is given any more

	// In a traced gate: the goroutines that were given Last, and the frame before.
	Holder, Before Lineage

	// A recorded receiver: why it does not read, and whether it has read all its frames.
	Idle string
	Read bool

	stream  bool // the sender writes bytes: frames are taken in the order of their offers
	pair    *Pair
	served  atomic.Bool // over HTTP: each frame gets a handler of its own; a client may begin that at any time
	turn    int         // in the recorded order, of a recorded sender's next frame
	fresh   []*Flight   // offered since the engine last looked; not named
	unacked []*Flight   // taken, their Write has not returned
	readers []*reader
}

// Lineage has the numbers of a goroutine and its parent; 0 is unknown.
type Lineage struct{ ID, Parent int }

func lineage(goroutine stacks.Goroutine) Lineage { return Lineage{goroutine.ID, goroutine.Parent} }

// Flight is a frame on its way.
type Flight struct {
	Name     string
	Dir      transport.Direction
	Lane     *Lane
	Exchange *Exchange // over HTTP, or nil
	Frame    transport.Frame
	Op       string        // the operation in the writer's context, or ""
	Ping     bool          // keepalive: a ping or the response to a ping
	Round    int           // of the offer
	Number   int           // in its direction, from 1
	Answers  *Call         // the request of its first response
	Offered  time.Duration // since the run began
	Taken    int           // the step of its take; 0 before
	Given    int           // the step of its give; 0 before

	// Withdrawn: it was never taken, because its writer gave up or an end was closed.
	Withdrawn bool

	// In a traced gate: the writer's goroutine and calls.
	Writer Lineage
	Wrote  []stacks.Call

	hash  uint64        // of the name
	said  *said         // parsed when the frame is named
	known order.Mark    // the writer's knowledge at the offer
	sent  order.Frame   // as it went onto the wire
	place int           // in the recorded order, of a sender at level SendingOrder
	quiet bool          // Op is not in the name
	line  line          // the writes of which it is made, if its sender writes bytes
	done  chan struct{} // closed when the Write may return; nil over HTTP
	err   error         // of the Write, once done is closed
}

// finish lets the Write of the frame return.
func (f *Flight) finish(err error) {
	if f.done != nil {
		f.err = err
		close(f.done)
	}
}

// trace keeps the writer's goroutine.
func (f *Flight) trace(writer stacks.Goroutine) {
	f.Writer, f.Wrote = lineage(writer), writer.Calls()
}

type reader struct {
	got       chan received
	goroutine Lineage
}

func newReader(traced bool) *reader {
	r := &reader{got: make(chan received, 1)}
	if traced {
		r.goroutine = lineage(stacks.Caller())
	}
	return r
}

type received struct {
	frame transport.Frame
	part  *piece // of a response, or nil
	err   error
}

// Receiver names the end that reads the lane: client, server, client 2.
func (l *Lane) Receiver() string { return l.end(l.Dir.Receiver()) }

// Sender names the end that writes into the lane.
func (l *Lane) Sender() string { return l.end(l.Dir.Sender()) }

func (l *Lane) end(role string) string {
	if l.pair == nil || l.pair.Number == 1 || role == transport.ClientToServer.Receiver() {
		return role
	}
	return role + " " + strconv.Itoa(l.pair.Number)
}

// String names the lane: c2s, or s2c of POST ping#1.
func (l *Lane) String() string {
	if l.Exchange != nil {
		return l.Dir.String() + " of " + l.Exchange.Name
	}
	return l.Dir.String() + l.pair.of()
}

// number is different for each lane of a pair, and not 0.
func (l *Lane) number() uint64 { return uint64(2*l.pair.Number) + uint64(l.Dir) }

// Readers is how many Reads wait. A server of HTTP always reads.
func (l *Lane) Readers() int {
	if l.served.Load() {
		return 1
	}
	return len(l.readers)
}

// Next returns the goroutine that the next frame will be given to.
func (l *Lane) Next() Lineage {
	if len(l.readers) == 0 {
		return Lineage{}
	}
	return l.readers[0].goroutine
}

// nextReader takes the reader that waits longest from the list.
func (l *Lane) nextReader() *reader {
	r := l.readers[0]
	l.readers = slices.Delete(l.readers, 0, 1)
	return r
}

// Blocked reports whether a writer waits and no reader does.
func (l *Lane) Blocked() bool { return len(l.Waiting) > 0 && len(l.readers) == 0 }

// Where says in words where a frame of the lane is.
func (l *Lane) Where(flight *Flight) string {
	if i := slices.Index(l.Queue, flight); i >= 0 {
		return fmt.Sprintf("queued in %v, number %d of %d", l.Dir, i+1, len(l.Queue))
	}
	if slices.Contains(l.Waiting, flight) {
		switch {
		case l.Exchange != nil && len(l.readers) > 0:
			return fmt.Sprintf("on its way in the response to %s", l.Exchange.Name)
		case l.Exchange != nil:
			return fmt.Sprintf("in the response to %s, which nobody reads", l.Exchange.Name)
		case l.served.Load():
			return "on its way to the server"
		}
		full := "is closed"
		if l.Cap == 0 {
			full = "has no waiting reader"
		} else if l.Cap > 0 && len(l.Queue) >= l.Cap {
			full = fmt.Sprintf("is full (%d of %d)", len(l.Queue), l.Cap)
		}
		return fmt.Sprintf("being written by the %s: %v %s", l.Dir.Sender(), l.Dir, full)
	}
	if flight.Given > 0 {
		return fmt.Sprintf("read by the %s at step %d", l.Dir.Receiver(), flight.Given)
	}
	return "withdrawn: its writer gave up, or an end was closed"
}

// refuse ends the writers whose frames were not taken.
func (l *Lane) refuse() {
	for _, f := range slices.Concat(l.fresh, l.Waiting) {
		f.Withdrawn = true
		f.finish(transport.ErrClosed)
	}
	l.fresh = nil
	l.Waiting = nil
}

// wake ends the waiting readers without a frame.
func (l *Lane) wake(err error) {
	for _, r := range l.readers {
		r.got <- received{err: err}
	}
	l.readers = nil
}

// heard reports whether a reader waits and its end was not asked to close.
func (l *Lane) heard() bool { return len(l.readers) > 0 && !l.Leaving }

// ack lets the Write of a taken frame return.
func (l *Lane) ack(flight *Flight) {
	i := slices.Index(l.unacked, flight)
	l.unacked = slices.Delete(l.unacked, i, i+1)
	flight.finish(nil)
}
