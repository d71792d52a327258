package explore

import (
	"maps"

	"github.com/mcprec/mcprec/transport"
)

// reach is what a step touches: two steps that touch nothing in common commute.
type reach uint8

const (
	clientEnd reach = 1 << iota // goroutines of the client wake
	serverEnd
	c2sTakes // which writer is taken next in the direction
	s2cTakes
	anything = clientEnd | serverEnd | c2sTakes | s2cTakes
	reaches  = 4
)

// touching tells what steps touch at a capacity.
type touching struct {
	capacity Capacity
	split    bool // ack is a step of its own
	lessons
}

// lessons are what runs have taught of the peers.
type lessons struct {
	// recall: ends take back frames that they have offered, so that a take does not
	// commute with what wakes the writer's end.
	recall bool
	// shared: the ends wake each other past the gate.
	shared bool
	// starts is what operations touched when they began.
	starts map[string]reach
}

// of says what releasing the step touches. A close changes both ends, and so may an
// operation of which it is not known at which end it lives: these touch anything,
// and so does every kind of step that is not listed. The client and the server are
// taken to share nothing but the gate, as long as nothing else is learned.
func (t *touching) of(s Step) reach {
	if t.shared {
		return anything
	}
	switch s.Kind {
	case Ack:
		return senderEnd(s.Dir)
	case Give, End:
		return senderEnd(s.Dir.Reverse())
	case Take:
		what, room := c2sTakes, t.capacity.C2S
		if s.Dir == transport.ServerToClient {
			what, room = s2cTakes, t.capacity.S2C
		}
		if room == 0 { // hand to hand
			what |= senderEnd(s.Dir.Reverse())
		}
		if !t.split || t.recall {
			what |= senderEnd(s.Dir)
		}
		return what
	case Start:
		if what := t.starts[s.What]; what != 0 {
			return what
		}
	}
	return anything
}

// learn notes which ends used the gate after a step that was taken to touch no more than
// expected. An operation that began and used no end may have done anything.
func (l *lessons) learn(s Step, used [2]bool, expected reach) {
	what := reach(0)
	if used[0] {
		what |= clientEnd
	}
	if used[1] {
		what |= serverEnd
	}
	if s.Kind != Start {
		l.shared = l.shared || what&^expected != 0
		return
	}
	if what == 0 {
		what = anything
	}
	if l.starts == nil {
		l.starts = map[string]reach{}
	}
	l.starts[s.What] = what
}

// adopt takes in what a run has taught, and reports whether anything is new.
func (l *lessons) adopt(of lessons) bool {
	news := of.recall && !l.recall || of.shared && !l.shared
	l.recall, l.shared = l.recall || of.recall, l.shared || of.shared
	starts := map[string]reach{}
	maps.Copy(starts, l.starts) // runs may still read the old one
	for name, what := range of.starts {
		news = news || what&^starts[name] != 0
		starts[name] |= what
	}
	l.starts = starts
	return news
}

// senderEnd is the end that writes in the direction.
func senderEnd(d transport.Direction) reach {
	if d == transport.ClientToServer {
		return clientEnd
	}
	return serverEnd
}
