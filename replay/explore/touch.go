package explore

import "github.com/mcprec/mcprec/transport"

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
	// recall: ends take back frames that they have offered, so that a take does not
	// commute with what wakes the writer's end.
	recall bool
}

// of says what releasing the step touches. Nobody knows at which end an operation
// lives, and a close changes both: these touch anything, and so does every kind of
// step that is not listed. The client and the server are taken to share nothing
// but the gate.
func (t touching) of(s Step) reach {
	switch s.Kind {
	case Ack:
		return senderEnd(s.Dir)
	case Give, End:
		return senderEnd(s.Dir.Reverse())
	case Take:
		return t.take(s.Dir)
	}
	return anything
}

func (t touching) take(d transport.Direction) reach {
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
