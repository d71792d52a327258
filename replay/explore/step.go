package explore

import "github.com/mcprec/mcprec/transport"

// Kind is what a step releases. Eager prefers them in the order of the constants,
// save where one says otherwise.
type Kind uint8

const (
	// Start lets an operation begin.
	Start Kind = iota + 1
	// Ack lets a Write return whose frame was taken.
	Ack
	// Give lets a Read return the first queued frame.
	Give
	// Take moves a frame from its writer's hand into the queue; at capacity 0 to
	// the waiting reader.
	Take
	// End lets a Read return io.EOF.
	End
	// Close lets a Close of an end, which has returned, take effect.
	Close
	// Relent tells a recorded half that the live end is silent, so that it goes on
	// without what it waited for. It is enabled when nothing else is.
	Relent
	// HalfClose lets the CloseWrite of an end, which has returned, take effect.
	HalfClose
	// Reach lets a goroutine go on from its [Point]. Eager prefers it to all but
	// the start of an operation.
	Reach
)

// String returns the kind's word in a content name.
func (k Kind) String() string {
	return [...]string{"none", "start", "ack", "give", "take", "eof", "close", "relent", "half-close", "reach"}[k]
}

// Step is one step that may be released now. Its name is its content: no id, no
// address, no order of arrival is in it.
type Step struct {
	Kind Kind
	// Dir is the direction of the frame; of a Close or HalfClose the one in which
	// the closing end sends; none for a Start or Reach.
	Dir transport.Direction
	// What names the frame, the operation or the point; "" for End and closes.
	What string

	hash   uint64 // of What
	flight *flight
	op     *Operation
	half   *half
	point  *point
}

// Name returns the content name: c2s take tools/call "x"#1, start list, c2s close.
func (s Step) Name() string {
	name := s.Kind.String()
	if s.Dir != transport.NoDirection {
		name = s.Dir.String() + " " + name
	}
	if s.What != "" {
		name += " " + s.What
	}
	return name
}

// Hash stands for the name: equal names have equal hashes on every machine.
func (s Step) Hash() uint64 { return scramble(s.content() ^ uint64(s.class())<<56) }

// content is the hash of What.
func (s Step) content() uint64 {
	if s.hash == 0 {
		return hashOf(s.What)
	}
	return s.hash
}

// class numbers the pair of kind and direction.
func (s Step) class() int { return int(s.Kind)*3 + int(s.Dir) }

// classes is above every class.
const classes = (int(Reach) + 1) * 3

// hashOf is FNV-1a: small, fixed for ever, as tokens depend on it.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// scramble spreads a number over all bits (the finalizer of splitmix64).
func scramble(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// enabled appends the steps of the gate that may be released: points, then kinds
// in their order, client to server first, then by round and name.
func (g *gate) enabled(steps []Step) []Step {
	g.admit()
	for _, p := range g.points {
		steps = append(steps, Step{Kind: Reach, What: p.name, point: p})
	}
	for i := range g.lanes {
		for _, f := range g.lanes[i].unacked {
			steps = append(steps, f.step(Ack))
		}
	}
	for i := range g.lanes {
		if l := &g.lanes[i]; len(l.queue) > 0 && l.heard() {
			steps = append(steps, l.queue[0].step(Give))
		}
	}
	steps = g.takes(g.takes(steps, false), true)
	for i := range g.lanes {
		if l := &g.lanes[i]; l.drained() {
			steps = append(steps, Step{Kind: End, Dir: l.dir})
		}
	}
	for i := range g.ends {
		e := &g.ends[i]
		if e.asked() {
			steps = append(steps, Step{Kind: Close, Dir: e.out.dir})
		}
		if e.askedHalf() {
			steps = append(steps, Step{Kind: HalfClose, Dir: e.out.dir})
		}
	}
	return steps
}

// takes appends the steps that take a frame, or those of frames that stand before
// their place in the recorded order: eager leaves these to the last.
func (g *gate) takes(steps []Step, early bool) []Step {
	for i := range g.lanes {
		l := &g.lanes[i]
		if !l.room() {
			continue
		}
		for _, f := range l.waiting {
			if early == (f.place > l.turn) {
				steps = append(steps, f.step(Take))
			}
		}
	}
	return steps
}

func (f *flight) step(k Kind) Step {
	return Step{Kind: k, Dir: f.dir, What: f.name, hash: f.hash, flight: f}
}

// release performs a step of the gate.
func (g *gate) release(s Step) {
	if s.Kind == Reach {
		g.reach(s.point)
		return
	}
	l := g.lane(s.Dir)
	switch s.Kind {
	case Ack:
		l.ack(s.flight)
	case Give:
		l.give(g.round)
		g.gave(s.flight)
	case Take:
		l.take(s.flight, g.round)
		g.took(s.flight)
		if s.flight.given > 0 {
			g.gave(s.flight)
		}
		if !g.splits {
			l.ack(s.flight)
		}
	case End:
		l.endOfFile(g.round)
	case Close:
		g.ends[s.Dir-transport.ClientToServer].close()
	case HalfClose:
		l.ended, l.halved = true, true
		l.refuse()
	}
}
