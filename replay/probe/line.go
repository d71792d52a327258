package probe

import "github.com/mcprec/mcprec/transport"

// Line joins an experiment to a peer. One goroutine uses it.
type Line interface {
	// Send hands frames over, in their order behind those of earlier calls, and does not wait.
	Send(frames ...transport.Frame)
	// Listen says how many more frames may be read from the peer; [All] is no limit, as at the
	// beginning. A process's line reads all or nothing.
	Listen(frames int)
	// Rest waits until only the experiment or a timer can move the peer.
	Rest() Stand
	// Pass lets time pass after a Rest, for timers of the peer, and reports whether another Rest is
	// worth it. tries counts the calls since the experiment began to wait for the same thing, from 0.
	Pass(tries int) bool
	// Room returns how many bytes the peer can write while nothing is read.
	Room() int
}

// All lets a [Line] read every frame.
const All = -1

// Stand is a peer at rest.
type Stand struct {
	Heard   []transport.Frame // read since the last Rest
	Untaken int               // frames of the experiment that the peer has not taken whole
	Over    bool              // the peer has ended
	Ended   string            // how, such as "exit status 3"; "" if that is not known
	Failed  bool              // the peer is over, and says itself that it failed
	Unsure  string            // what else could still move the peer; "" if nothing can
}

// Bench starts peers.
type Bench interface {
	// Play starts a fresh peer, calls experiment with a line to it, and ends the peer. The error says
	// why the experiment could not come to its end.
	Play(experiment func(Line)) error
}
