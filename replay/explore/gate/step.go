package gate

import (
	"io"
	"slices"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Kind is the kind of a step. The eager strategy prefers kinds in the order of the
// constants, unless a constant says otherwise.
type Kind uint8

const (
	// Start lets an operation begin.
	Start Kind = iota + 1
	// Ack lets a Write return whose frame was taken.
	Ack
	// Give lets a Read return the first queued frame.
	Give
	// Take moves a frame from its writer's hand into the queue; at capacity 0 to the
	// waiting reader.
	Take
	// EOF lets a Read return io.EOF.
	EOF
	// Close lets a Close of an end, which has returned, take effect.
	Close
	// Relent lets a recorded half go on without a frame of the live end. A relent is enabled
	// when no other step is.
	Relent
	// HalfClose lets the CloseWrite of an end, which has returned, take effect.
	HalfClose
	// Reach lets a goroutine go on from a [Point]. Eager prefers Reach after Start.
	Reach
)

// String returns the kind's word in a content name.
func (k Kind) String() string {
	return [...]string{"none", "start", "ack", "give", "take", "eof", "close", "relent", "half-close", "reach"}[k]
}

// Step is an enabled step: it may be released now. The name is its content, without id,
// address or order of arrival.
type Step struct {
	Kind Kind
	// Dir is the direction of the frame. A Close or HalfClose has the direction in which the
	// closing end sends, a Start or Reach has none.
	Dir transport.Direction
	// What names the frame, the operation or the point; "" for EOF and closes.
	What string
	// Flight is the frame of an Ack, Give or Take.
	Flight *Flight
	// Do performs a Start or Relent, which are not steps of the gate.
	Do func()

	hash  uint64 // of What, or 0
	point *point
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
func (s Step) Hash() uint64 { return Scramble(s.WhatHash() ^ uint64(s.Class())<<56) }

// WhatHash is the hash of What.
func (s Step) WhatHash() uint64 {
	if s.hash == 0 {
		return hashOf(s.What)
	}
	return s.hash
}

// Class numbers the pair of kind and direction.
func (s Step) Class() int { return int(s.Kind)*3 + int(s.Dir) }

// Classes is above every class.
const Classes = (int(Reach) + 1) * 3

// hashOf is FNV-1a: small, fixed for ever, as tokens depend on it.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Scramble spreads a number over all bits (the finalizer of splitmix64).
func Scramble(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Breach is a frame that broke a rule of the protocol.
type Breach struct {
	order.Violation
	Frame string `json:"frame"` // its content name, with its direction
	Step  int    `json:"step"`  // of its take
}

// Steps appends the steps that may be released: points, then kinds in their order, client
// to server first, then by round and name.
func (g *Gate) Steps(steps []Step) []Step {
	g.Admit()
	for _, p := range g.points {
		steps = append(steps, Step{Kind: Reach, What: p.name, point: p})
	}
	for _, l := range g.Lanes {
		for _, f := range l.unacked {
			steps = append(steps, f.step(Ack))
		}
	}
	for _, l := range g.Lanes {
		if len(l.Queue) > 0 && l.heard() {
			steps = append(steps, l.Queue[0].step(Give))
		}
	}
	steps = g.takes(g.takes(steps, false), true)
	for _, l := range g.Lanes {
		if l.Ended && len(l.Queue) == 0 && l.heard() {
			steps = append(steps, Step{Kind: EOF, Dir: l.Dir})
		}
	}
	for _, e := range g.Ends {
		if e.In.Leaving && !e.closed {
			steps = append(steps, Step{Kind: Close, Dir: e.Out.Dir})
		}
		if e.Out.Ending && !e.Out.Ended && !e.In.Leaving { // a close covers it
			steps = append(steps, Step{Kind: HalfClose, Dir: e.Out.Dir})
		}
	}
	return steps
}

// takes appends the take steps: of frames before their place in the recorded order, which
// eager leaves to the last, or of the other frames.
func (g *Gate) takes(steps []Step, early bool) []Step {
	for _, l := range g.Lanes {
		room := l.Cap < 0 || len(l.Queue) < l.Cap || l.Cap == 0 && l.heard() // at capacity 0 a reader must be there
		if !room || l.Ending || l.Deafened {
			continue
		}
		for _, f := range l.Waiting {
			if early == (f.place > l.turn) {
				steps = append(steps, f.step(Take))
			}
		}
	}
	return steps
}

func (f *Flight) step(k Kind) Step {
	return Step{Kind: k, Dir: f.Dir, What: f.Name, hash: f.hash, Flight: f}
}

// Gives reports whether releasing the step hands its frame to a reader.
func (g *Gate) Gives(s Step) bool {
	return s.Kind == Give || s.Kind == Take && g.Lane(s.Dir).Cap == 0
}

// Release performs a step of the gate.
func (g *Gate) Release(s Step) {
	if s.Kind == Reach {
		g.reach(s.point)
		return
	}
	l := g.Lane(s.Dir)
	switch s.Kind {
	case Ack:
		l.ack(s.Flight)
	case Give:
		g.give(l)
	case Take:
		g.take(l, s.Flight)
	case EOF:
		l.EOF = g.Round
		l.readers[0].got <- received{err: io.EOF}
		l.readers = l.readers[1:]
	case Close:
		g.End(s.Dir).close()
	case HalfClose:
		l.Ended, l.Halved = true, true
		l.refuse()
	}
}

func (g *Gate) take(l *Lane, f *Flight) {
	f.Taken = g.Round
	i := slices.Index(l.Waiting, f)
	l.Waiting = slices.Delete(l.Waiting, i, i+1)
	l.unacked = append(l.unacked, f)
	l.Queue = append(l.Queue, f)
	if g.options.Rules != nil {
		for _, v := range g.options.Rules.Send(f.Dir, f.said.Parsed, f.known) {
			g.Breaches = append(g.Breaches, Breach{v, f.Dir.String() + " " + f.Name, f.Taken})
		}
	}
	if l.Cap == 0 { // hand to hand
		g.give(l)
	}
	if !g.options.Split {
		l.ack(f)
	}
}

// give hands the first queued frame to the reader that waits longest, and tells the rules.
func (g *Gate) give(l *Lane) {
	f := l.Queue[0]
	l.Queue = l.Queue[1:]
	f.Given, l.Last = g.Round, f
	l.Before, l.Holder = l.Holder, l.readers[0].goroutine
	l.readers[0].got <- received{frame: f.Frame}
	l.readers = l.readers[1:]
	if g.options.Rules != nil {
		g.options.Rules.Give(l.Dir, l.Last.said.Parsed)
	}
}
