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
		return t.take(s.Dir)
	case Start:
		if what := t.starts[s.What]; what != 0 {
			return what
		}
	}
	return anything
}

// learn notes which ends used the gate after the last step, once all is at rest
// again. An operation that began and used none may have done anything.
func (r *Run) learn() {
	if !r.unlearned {
		return
	}
	r.unlearned = false
	what, last := r.gate.stirred(), r.steps[len(r.steps)-1]
	if last.Kind != Start {
		r.lessons.shared = r.lessons.shared || what&^r.trail.of(last) != 0
		return
	}
	if what == 0 {
		what = anything
	}
	if r.lessons.starts == nil {
		r.lessons.starts = map[string]reach{}
	}
	r.lessons.starts[last.What] = what
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

func (t *touching) take(d transport.Direction) reach {
	what, room := c2sTakes, t.capacity.C2S
	if d == transport.ServerToClient {
		what, room = s2cTakes, t.capacity.S2C
	}
	if room == 0 { // hand to hand
		what |= senderEnd(d.Reverse())
	}
	if !t.split || t.recall {
		what |= senderEnd(d)
	}
	return what
}

// senderEnd is the end that writes in the direction.
func senderEnd(d transport.Direction) reach {
	if d == transport.ClientToServer {
		return clientEnd
	}
	return serverEnd
}
