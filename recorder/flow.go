package recorder

import (
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// flow says where a pass stands. The shutdown reads it to decide when a session is over.
type flow struct {
	state   atomic.Int32
	moved   atomic.Uint64 // changes of state
	drained atomic.Bool   // all that the server wrote itself has been passed on
	news    chan<- struct{}
}

const (
	reading int32 = iota // waits for its source
	writing              // waits for its destination
	ended
)

func (f *flow) set(state int32) {
	f.state.Store(state)
	f.moved.Add(1)
	if state == ended {
		f.tell()
	}
}

func (f *flow) drain() {
	if !f.drained.Swap(true) {
		f.tell()
	}
}

// tell wakes follow. News that follow has not taken yet stand for later ones as well.
func (f *flow) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// own reports whether something that the server wrote itself may not have been passed on.
func (f *flow) own() bool { return f.state.Load() != ended && !f.drained.Load() }

// held reports whether another process holds what the server wrote to.
func (f *flow) held() bool { return f.state.Load() != ended && f.drained.Load() }

// flows are the three of a stdio session.
type flows struct {
	c2s, s2c, stderr flow
	news             chan struct{}
	asked            bool // a signal asks the session to end
}

func newFlows() *flows {
	f := &flows{news: make(chan struct{}, 1)}
	f.c2s.news, f.s2c.news, f.stderr.news = f.news, f.news, f.news
	return f
}

func (f *flows) moved() uint64 {
	return f.c2s.moved.Load() + f.s2c.moved.Load() + f.stderr.moved.Load()
}

// Grace is how long another process that holds the output of a server that has exited
// must be silent before the session ends without it.
const Grace = 250 * time.Millisecond

// Linger is how long a session lasts after its server has exited when no client reads the
// server's output, or none waits for it.
const Linger = time.Second

// forever is no limit.
const forever = time.Duration(-1)

// limits says how long a session whose server has exited goes on: until nothing has moved
// for quiet, and for all in any case. heard: some process can read what the client says.
//
// What the server wrote itself is never given up: it is in the pipe, and the client reads
// it or goes away. Only a client that has asked the session to end and does not read is
// not waited for. What other processes write that hold the server's output is followed as
// the client would see it without a recorder, for as long as the client may be waiting for
// it: a launcher's server serves on. Standard error alone holds nobody.
func (f *flows) limits(heard bool) (quiet, all time.Duration) {
	open := f.c2s.state.Load() != ended && f.s2c.state.Load() != ended
	inHand := f.s2c.state.Load() == writing
	switch {
	case f.s2c.own() && inHand && f.asked:
		return Linger, forever
	case f.s2c.own():
		return forever, forever
	case open && heard && !f.asked:
		return forever, forever
	case f.stderr.own() && f.stderr.state.Load() == writing:
		return Linger, forever
	case f.stderr.own():
		return forever, forever
	case f.asked:
		return 0, 0
	case open && inHand:
		return forever, forever
	case open:
		return Grace, forever
	}
	return Grace, Linger
}

// follow waits until done is closed or the session has lasted to its limits, and reports
// whether done was closed. A signal asks the session to end; another one ends it at once.
func (f *flows) follow(done <-chan struct{}, signals <-chan os.Signal, heard func() bool) bool {
	moved, start := f.moved(), time.Now()
	still := start // since when nothing has moved
	for {
		quiet, all := f.limits(heard())
		now := time.Now()
		if m := f.moved(); m != moved {
			moved, still = m, now
		}
		if all == forever {
			start = now
		}
		if quiet != forever && now.Sub(still) >= quiet || all != forever && now.Sub(start) >= all {
			return false
		}
		if !tellsEmpty && now.Sub(still) >= Grace {
			f.takeForDrained()
		}
		step := Grace / 5
		if quiet == forever && all == forever && tellsEmpty { // only heard can change without news
			step = Linger
		}
		select {
		case <-done:
			return true
		case sig := <-signals:
			if asksToEnd(sig) && f.asked {
				return false
			}
			f.asked = f.asked || asksToEnd(sig)
		case <-f.news:
		case <-time.After(step):
		}
	}
}

// takeForDrained treats an output as drained if its reader waits: nothing has come of it.
func (f *flows) takeForDrained() {
	for _, out := range []*flow{&f.s2c, &f.stderr} {
		if out.state.Load() == reading {
			out.drain()
		}
	}
}

// leftOpen says of the server's output how it stands when it is given up. Where some
// of it is in hand, that is the client's doing: it has not read on.
func (f *flows) leftOpen() store.EOFInfo {
	switch {
	case f.s2c.own():
		return store.EOFInfo{By: "receiver", Error: "what was sent last had not been taken when a signal ended the wait"}
	case f.asked:
		return store.EOFInfo{By: "recorder", Error: "still open when a signal had ended the server"}
	case f.c2s.state.Load() == ended:
		return store.EOFInfo{By: "recorder", Error: "still open when the server had exited and the client had ended"}
	}
	return store.EOFInfo{By: "recorder", Error: "still open when the server had exited"}
}

// holders says what other processes hold of the server's output, or "".
func (f *flows) holders() string {
	var names []string
	if f.s2c.held() {
		names = append(names, "stdout")
	}
	if f.stderr.held() {
		names = append(names, "stderr")
	}
	if names == nil {
		return ""
	}
	return "another process still holds the server's " + strings.Join(names, " and ") + "; the recording ends as the server did"
}
