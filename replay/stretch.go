package replay

import "github.com/mcprec/mcprec/transport"

// stretch is a play that counts alone, and whose lanes are given room where they have
// too little: both ends in order, every order of steps comes to the same place, and what
// happens with less room can happen with more. So one run finds the least that does.
type stretch struct {
	ends [3]end  // by the direction each sends in; 0 unused
	room [3]Room // of the lane in that direction
}

// stretched returns the least room that lets the scripts come to their end, when only
// the lanes that may grow have more than they had; false when no room does.
func stretched(both scripts, c Capacity, grows ...transport.Direction) (Capacity, bool) {
	var s stretch
	for _, dir := range directions {
		s.ends[dir].script, s.room[dir] = both[dir], c.of(dir)
	}
	for {
		for s.round() {
		}
		client, server := &s.ends[transport.ClientToServer], &s.ends[transport.ServerToClient]
		if client.sent() && server.sent() && client.read() && server.read() {
			return Capacity{s.room[transport.ClientToServer], s.room[transport.ServerToClient]}, true
		}
		grown := false
		for _, dir := range grows {
			grown = grown || s.ends[dir].sending()
		}
		if !grown {
			return c, false
		}
		for _, dir := range grows {
			s.room[dir]++
		}
	}
}

// round lets each end and each lane do what it can, a step of each kind.
func (s *stretch) round() bool {
	moved := false
	for _, dir := range directions {
		e, reader := &s.ends[dir], &s.ends[dir.Reverse()]
		if e.offers() {
			e.offered++
			moved = true
		}
		if reader.wants() {
			reader.wanted++
			moved = true
		}
		if e.sending() && s.takes(dir) {
			e.acked++
			moved = true
		}
		if reader.reading() && e.acked > reader.given {
			reader.given++
			moved = true
		}
	}
	return moved
}

// takes reports whether a lane takes a frame: it has room, or hands it to who reads.
func (s *stretch) takes(dir transport.Direction) bool {
	reader := &s.ends[dir.Reverse()]
	held := s.ends[dir].acked - reader.given
	return s.room[dir] < 0 || int(held) < int(s.room[dir]) || held == 0 && reader.reading()
}
