package recorder

import (
	"sync/atomic"
	"time"
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

// abandoned reports whether what is still open after the server's exit may be
// given up once nothing moves. Output in hand is never given up: the client
// reads it or goes away. A server whose launcher has exited goes on for as long
// as the client keeps its side open. Standard error alone holds nobody.
func (f *flows) abandoned() bool {
	switch f.s2c.state.Load() {
	case ended:
		return true
	case reading:
		return f.c2s.state.Load() == ended
	}
	return false
}

// waitQuiet waits until done is closed, or until nothing has moved for a while
// and what is open may be given up; then it returns false.
func (f *flows) waitQuiet(done <-chan struct{}) bool {
	tick := time.NewTicker(Linger)
	defer tick.Stop()
	for last := f.moved(); ; {
		select {
		case <-done:
			return true
		case <-tick.C:
		}
		now := f.moved()
		if now == last && f.abandoned() {
			return false
		}
		last = now
	}
}
