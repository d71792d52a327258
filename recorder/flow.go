package recorder

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// flow says where a pass stands, for whoever decides when a session is over.
type flow struct {
	state atomic.Int32
	moved atomic.Uint64 // changes of state
}

const (
	reading int32 = iota // waits for its source
	writing              // waits for its destination
	ended
)

func (f *flow) set(state int32) {
	f.state.Store(state)
	f.moved.Add(1)
}

// flows are the three of a stdio session.
type flows struct{ c2s, s2c, stderr flow }

func (f *flows) moved() uint64 {
	return f.c2s.moved.Load() + f.s2c.moved.Load() + f.stderr.moved.Load()
}

// patience returns how many Lingers of silence pass before what is still open
// after the server's exit is given up; never: -1. Output in hand is never given
// up: the client reads it or goes away. A server whose launcher has exited goes
// on for as long as the client keeps its side open, and has time for its last
// answers. Standard error alone holds nobody.
func (f *flows) patience() int {
	switch {
	case f.s2c.state.Load() == ended:
		return 1
	case f.s2c.state.Load() == reading && f.c2s.state.Load() == ended:
		return 10
	}
	return -1
}

// leftOpen says of the server's output how it stands when it is given up. Where some
// of it is in hand, that is the client's doing: it has not read on.
func (f *flows) leftOpen() store.EOFInfo {
	switch {
	case f.s2c.state.Load() == writing:
		return store.EOFInfo{By: "receiver", Error: "what was sent last had not been taken when a signal ended the wait"}
	case f.c2s.state.Load() == ended:
		return store.EOFInfo{By: "recorder", Error: "still open when the server had exited and the client had ended"}
	}
	return store.EOFInfo{By: "recorder", Error: "still open when the server had exited and a signal ended the wait"}
}

// waitQuiet waits until done is closed, until nothing has moved for as long as
// patience says, or until somebody wants the end: a signal. It reports whether
// done was closed.
func (f *flows) waitQuiet(done <-chan struct{}, signals <-chan os.Signal) bool {
	tick := time.NewTicker(Linger)
	defer tick.Stop()
	for last, quiet := f.moved(), 0; ; {
		select {
		case <-done:
			return true
		case <-signals:
			return false
		case <-tick.C:
		}
		quiet++
		if now := f.moved(); now != last {
			last, quiet = now, 0
		}
		if p := f.patience(); p >= 0 && quiet >= p {
			return false
		}
	}
}
