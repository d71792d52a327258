package replay

import "github.com/mcprec/mcprec/transport"

// play is one closed replay: two ends and the two lanes between them.
type play struct {
	recording *Recording
	capacity  Capacity
	ends      [3]*end            // by the direction each sends in; 0 unused
	lanes     [3]*transport.Lane // by direction; 0 unused
	trail     trail
}

var directions = [...]transport.Direction{transport.ClientToServer, transport.ServerToClient}

// scripts are both ends' halves; a play does not change them.
type scripts [3]*script

func (r *Recording) scripts(s Setup) scripts {
	var both scripts
	for _, dir := range directions {
		both[dir] = r.script(dir, s.model(dir))
	}
	return both
}

// start plays the scripts until nothing moves.
func (r *Recording) start(both scripts, c Capacity) *play {
	p := &play{recording: r, capacity: c}
	for _, dir := range directions {
		p.ends[dir] = &end{script: both[dir]}
		p.lanes[dir] = transport.NewLane(dir, int(c.of(dir)))
	}
	for p.round() {
	}
	return p
}

// round lets both ends begin what they can, then both lanes do what they can. It
// reports whether anything happened.
func (p *play) round() bool {
	moved := false
	for _, dir := range directions {
		e := p.ends[dir]
		if e.offers() {
			// Lanes count frames; their bytes do not matter here.
			p.lanes[dir].Offer(transport.Frame{})
			e.offered++
			moved = true
		}
		if e.wants() {
			p.lanes[dir.Reverse()].Want()
			e.wanted++
			moved = true
		}
	}
	for _, dir := range directions {
		for s, ok := p.lanes[dir].Next(); ok; s, ok = p.lanes[dir].Next() {
			p.happened(s)
			moved = true
		}
	}
	return moved
}

// happened tells the ends what a lane did.
func (p *play) happened(s transport.Step) {
	switch s.Kind {
	case transport.Ack:
		p.ends[s.Dir].acked++
	case transport.Give:
		p.ends[s.Dir.Reverse()].given++
		p.trail.add(p.recording.nth(s.Dir, s.N))
	}
}

// done reports whether every frame was taken, and read if somebody waits for it.
func (p *play) done() bool {
	c, s := p.ends[transport.ClientToServer], p.ends[transport.ServerToClient]
	return c.sent() && s.sent() && c.read() && s.read()
}

// trailLen is how many delivered frames a report shows before the hang.
const trailLen = 12

// trail remembers the last frames that were read, by index.
type trail struct {
	last [trailLen]int32
	n    int
}

func (t *trail) add(frame int32) {
	t.last[t.n%trailLen] = frame
	t.n++
}

// frames returns the frames remembered, oldest first.
func (t *trail) frames() []int32 {
	var list []int32
	for i := max(0, t.n-trailLen); i < t.n; i++ {
		list = append(list, t.last[i%trailLen])
	}
	return list
}
