package transport

// Unbounded is the capacity of a lane that always has room.
const Unbounded = -1

// StepKind is one of the four steps every frame takes through a lane.
// Offer precedes Take; Take precedes Ack and Give; Ack and Give are unordered.
type StepKind uint8

const (
	// Offer: Write was called with the frame.
	Offer StepKind = iota + 1
	// Take: the frame left the writer's hand, into the queue or straight to a reader.
	Take
	// Ack: Write may return.
	Ack
	// Give: Read returns the frame.
	Give
)

// String returns the step's name in lower case.
func (k StepKind) String() string {
	return [...]string{"none", "offer", "take", "ack", "give"}[k]
}

// Step is something that happened in a lane.
type Step struct {
	Kind  StepKind
	Dir   Direction
	N     int // the frame's number in its direction, from 1
	Frame Frame
}

// Lane is one direction of a [Pipe] as a pure state machine: no goroutine, no
// clock, no lock. Pipe puts channels around two of them; the replay drives two
// of them by hand, so that a replay and a live Pipe cannot disagree.
//
// Data layout: frames are numbered from 1 in the order of their offers.
// Frames 1..given were read, given+1..taken are queued, taken+1..offered are
// in their writers' hands. A lane of capacity k holds at most k queued frames;
// at capacity 0 a frame is taken only while a reader waits and is given to it
// at once.
type Lane struct {
	dir     Direction
	cap     int
	held    []Frame // frames given+1..offered
	offered int
	taken   int
	acked   int
	given   int
	readers int
}

// NewLane returns an empty lane. Capacity is in frames; [Unbounded] (any
// negative number) means that there is always room.
func NewLane(dir Direction, capacity int) *Lane {
	return &Lane{dir: dir, cap: capacity}
}

// Offer puts a frame in its writer's hand and returns its number.
func (l *Lane) Offer(f Frame) int {
	l.held = append(l.held, f)
	l.offered++
	return l.offered
}

// Withdraw takes an offered frame back. It reports false when the frame was
// taken already: taken means delivered. Later offers keep their order and
// move up one number.
func (l *Lane) Withdraw(n int) bool {
	if n <= l.taken || n > l.offered {
		return false
	}
	i := n - l.given - 1
	l.held = append(l.held[:i:i], l.held[i+1:]...)
	l.offered--
	return true
}

// Want says that one more reader waits.
func (l *Lane) Want() { l.readers++ }

// Unwant says that a waiting reader went away.
func (l *Lane) Unwant() { l.readers-- }

// Next performs one enabled step and returns it, or reports false when the
// lane is at rest. A frame that can be given is given before another is taken.
func (l *Lane) Next() (Step, bool) {
	switch {
	case l.acked < l.taken:
		l.acked++
		return l.step(Ack, l.acked), true
	case l.given < l.taken && l.readers > 0:
		s := l.step(Give, l.given+1)
		l.given++
		l.readers--
		l.held[0] = Frame{}
		l.held = l.held[1:]
		return s, true
	case l.taken < l.offered && l.room():
		l.taken++
		return l.step(Take, l.taken), true
	}
	return Step{}, false
}

// room reports whether the next offered frame may be taken.
func (l *Lane) room() bool {
	queued := l.taken - l.given
	return l.cap < 0 || queued < l.cap || queued == 0 && l.readers > 0
}

// step describes frame n, which is still held. An acked frame may have been
// given already; its bytes are then not repeated.
func (l *Lane) step(k StepKind, n int) Step {
	s := Step{Kind: k, Dir: l.dir, N: n}
	if n > l.given {
		s.Frame = l.held[n-l.given-1]
	}
	return s
}

// LaneState is what a lane holds at one moment, for diagnosis.
type LaneState struct {
	Dir      Direction
	Capacity int     // Unbounded, or frames
	Offered  int     // frames that Write was called with
	Taken    int     // frames that left their writer's hand
	Given    int     // frames that Read returned
	Queued   []Frame // frames Given+1..Taken
	Waiting  []Frame // frames Taken+1..Offered: their writers are blocked
	Readers  int     // readers that are blocked
	Closed   bool    // no more frames will be offered
}

// State returns a copy of the lane's state; the frames' bytes are shared.
func (l *Lane) State() LaneState {
	q := l.taken - l.given
	return LaneState{
		Dir: l.dir, Capacity: l.cap, Offered: l.offered, Taken: l.taken, Given: l.given,
		Queued:  append([]Frame(nil), l.held[:q]...),
		Waiting: append([]Frame(nil), l.held[q:]...),
		Readers: l.readers,
	}
}
