package replay

// end is the machine of one end: it says what the end does next, and is told
// what became of it. It has one frame in hand at most and at most one read open.
type end struct {
	*script
	offered int32 // own frames that were offered
	acked   int32 // own frames that were taken
	wanted  int32 // reads that were begun
	given   int32 // frames that were read
}

// offers reports whether the next own frame can be offered.
func (e *end) offers() bool {
	return e.offered == e.acked && int(e.offered) < len(e.need) && e.need[e.offered] <= e.given
}

// wants reports whether the next read can begin.
func (e *end) wants() bool {
	return e.wanted == e.given && int(e.given) < len(e.hold)-1 && e.hold[e.given] <= e.acked
}

// reading reports whether a read is open.
func (e *end) reading() bool { return e.wanted > e.given }

// sending reports whether a frame is in the writer's hand.
func (e *end) sending() bool { return e.offered > e.acked }

// read reports whether every frame for this end was read that somebody waits for,
// and nothing awaited is left behind inside the last one.
func (e *end) read() bool {
	return int(e.given+e.spare) >= len(e.hold)-1 && !(e.stopped() != nil && e.stopped().inside)
}

// sent reports whether every own frame was taken.
func (e *end) sent() bool { return int(e.acked) == len(e.need) }

// stopped returns where the receive loop stands, or nil.
func (e *end) stopped() *stop {
	for i := range e.stuck {
		if s := &e.stuck[i]; s.after == e.given && s.ends > e.acked && e.asked(s) {
			return s
		}
	}
	return nil
}

// asked reports whether all is said that a serial end says before it stands there
// for good. A call in the writer's hand is enough: its answer will not be read.
func (e *end) asked(s *stop) bool {
	if s.call >= 0 {
		return s.asked <= e.offered
	}
	return s.asked <= e.acked
}
