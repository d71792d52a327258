package gate

import (
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
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
	// Time lets time pass, while other steps are enabled, until a timer makes a peer use the
	// gate. It comes last, and eager never chooses it.
	Time
	// Arrive calls the handler of an HTTP request without a frame. The request of a frame arrives
	// in a Take.
	Arrive
	// Head lets RoundTrip return the head of a response that begins without a frame. Eager prefers
	// Head and Part after Give.
	Head
	// Part hands an event without a frame to the reader of a response.
	Part
	// Leave tells a handler that the client has given the exchange up, or was cut off.
	Leave
	// Cut breaks the connection of a response that can be resumed. Eager chooses it last.
	Cut
)

// String returns the kind's word in a content name.
func (k Kind) String() string {
	return [...]string{"none", "start", "ack", "give", "take", "eof", "close", "relent", "half-close", "reach", "time",
		"arrive", "head", "part", "leave", "cut"}[k]
}

// Step is an enabled step: it may be released now. The name is its content, without id,
// address or order of arrival.
type Step struct {
	Kind Kind
	// Dir is the direction of the frame. A Close or HalfClose has the direction in which the
	// closing end sends, a Start, Reach or Time has none.
	Dir transport.Direction
	// What names the frame, the operation or the point, or counts the timers; "" for EOF
	// and closes.
	What string
	// Flight is the frame of an Ack, Give or Take.
	Flight *Flight
	// Do performs a Start or Relent, which are not steps of the gate; at is its number in the run.
	Do func(at int)

	hash     uint64 // of What, or 0
	point    *point
	exchange *Exchange
	lane     *Lane // of an EOF, a close or a half-close
}

// TimeStep is the Time step in which the nth timer may fire, from 1.
func TimeStep(n int) Step { return Step{Kind: Time, What: timeName + strconv.Itoa(n)} }

const timeName = "passes#"

// Timer returns the number of the timer that may fire in a Time step, and 0 for another step.
func (s Step) Timer() int {
	if s.Kind != Time {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(s.What, timeName))
	return n
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

// Classes is above every class, PipeClasses above the classes without HTTP and without Time, which
// no strategy ranks among the others.
const (
	Classes     = (int(Cut) + 1) * 3
	PipeClasses = (int(Reach) + 1) * 3
)

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
	// Code is where the frame was written, in a traced gate: function and file:line of the
	// writer's goroutine, the innermost first.
	Code []string `json:"code,omitempty"`
}

// Steps appends the steps that may be released: points, then kinds in their order, client
// to server first, then by round and name.
func (g *Gate) Steps(steps []Step) []Step {
	g.Admit()
	g.HTTP.forgetFinished()
	for _, p := range g.points {
		steps = append(steps, Step{Kind: Reach, What: p.name, point: p})
	}
	for _, l := range g.live {
		for _, f := range l.unacked {
			steps = append(steps, f.step(Ack))
		}
	}
	for _, l := range g.live {
		if len(l.Queue) > 0 && l.heard() {
			steps = append(steps, l.Queue[0].step(Give))
		}
	}
	steps = g.HTTP.steps(steps, Head, Part)
	steps = g.takes(g.takes(steps, false), true)
	steps = g.HTTP.steps(steps, Arrive, EOF)
	for _, l := range g.live {
		if l.Ended && len(l.Queue) == 0 && l.heard() {
			steps = append(steps, l.step(EOF))
		}
	}
	for _, p := range g.Pairs {
		for _, e := range p.Ends {
			if e.In.Leaving && !e.closed {
				steps = append(steps, e.Out.step(Close))
			}
			if e.Out.Ending && !e.Out.Ended && !e.In.Leaving { // a close covers it
				steps = append(steps, e.Out.step(HalfClose))
			}
		}
	}
	return g.HTTP.steps(steps, Leave, Cut)
}

// step is a step of the lane without a frame. It is not of the first pair if it has a name.
func (l *Lane) step(kind Kind) Step {
	return Step{Kind: kind, Dir: l.Dir, What: strings.TrimPrefix(l.pair.of(), " "), lane: l}
}

// Blocked appends the steps that are known, and lack only room, a reader, or an end that was
// not asked to close. No step of an exchange is among them: a full response holds up its handler and
// no step, and a reader goes away only when the client gives the exchange up.
func (g *Gate) Blocked(steps []Step) []Step {
	for _, l := range g.live {
		if l.Exchange != nil {
			continue
		}
		for _, f := range l.Waiting {
			if !l.takes() && (!l.stream || l.first(f)) {
				steps = append(steps, f.step(Take))
			}
		}
		switch {
		case l.heard():
		case len(l.Queue) > 0:
			steps = append(steps, l.Queue[0].step(Give))
		case l.Ended:
			steps = append(steps, l.step(EOF))
		}
	}
	return steps
}

// Cause returns the number of the step that made this one known, or 0.
func (s Step) Cause() int {
	switch {
	case s.Kind == Arrive:
		return s.exchange.round
	case s.responds():
		return s.exchange.parts[0].round
	case s.Kind == Take:
		return s.Flight.Round
	case s.Kind == Give, s.Kind == Ack:
		return s.Flight.Taken
	}
	return 0
}

// Reads returns a number of the lane from which the step lets a Read return, or 0. Such steps of a
// lane come in the order of the lane.
func (s Step) Reads() uint64 {
	switch {
	case s.responds():
		return hashOf(s.exchange.Name)
	case s.Kind == Give:
		return s.Flight.Lane.number()
	case s.Kind == EOF:
		return s.lane.number()
	}
	return 0
}

// responds reports whether the step hands a part of a response to its reader.
func (s Step) responds() bool {
	return s.exchange != nil && s.Dir == transport.ServerToClient
}

// IsHTTP reports whether the step is a part of an HTTP exchange that carries no message, such as the arrival of a
// GET or the end of a response.
func (s Step) IsHTTP() bool { return s.exchange != nil && s.Flight == nil }

// Wakes returns which ends a step of HTTP may wake, the client's first. ok is false for a cut, which
// takes away what the handler wrote, and for a step that is not of HTTP.
func (s Step) Wakes() (ends [2]bool, ok bool) {
	x := s.exchange
	switch {
	case x == nil, s.Kind == Cut:
		return ends, false
	case s.responds():
		return [2]bool{true, x.Lane.Cap >= 0}, true // a handler may wait for room
	case s.Kind == Leave:
		return [2]bool{false, true}, true
	}
	return [2]bool{x.wrote != nil, true}, true // the request arrives
}

// takes appends the take steps: of frames before their place in the recorded order, which
// eager leaves to the last, or of the other frames.
func (g *Gate) takes(steps []Step, early bool) []Step {
	for _, l := range g.live {
		if l.Exchange != nil {
			if next := l.Exchange.next(); next != nil && next.kind == Take && !early {
				steps = append(steps, next.flight.step(Take))
			}
			continue
		}
		if !l.takes() {
			continue
		}
		for _, f := range l.Waiting {
			if early == (f.place > l.turn) && (!l.stream || l.first(f)) {
				steps = append(steps, f.step(Take))
			}
		}
	}
	return steps
}

// first reports whether no frame that waits was offered before.
func (l *Lane) first(flight *Flight) bool {
	return !slices.ContainsFunc(l.Waiting, func(f *Flight) bool { return f.Number < flight.Number })
}

// takes reports whether the lane takes a frame: it has room, at capacity 0 a waiting reader,
// and neither end closes it.
func (l *Lane) takes() bool {
	room := l.served.Load() || l.Cap < 0 || len(l.Queue) < l.Cap || l.Cap == 0 && l.heard()
	return room && !l.Ending && !l.Deafened
}

func (f *Flight) step(kind Kind) Step {
	return Step{Kind: kind, Dir: f.Dir, What: f.Name, hash: f.hash, Flight: f, exchange: f.Exchange}
}

// Gives reports whether releasing the step hands its frame to a reader.
func (g *Gate) Gives(step Step) bool {
	return step.Kind == Give || step.Kind == Take && (step.Flight.Lane.Cap == 0 || step.Flight.Exchange != nil)
}

// Release performs a step of the gate.
func (g *Gate) Release(step Step) {
	if step.Kind == Reach {
		g.reach(step.point)
		return
	}
	if x := step.exchange; x != nil {
		x.release(step.Kind)
		return
	}
	l := step.lane
	if step.Flight != nil {
		l = step.Flight.Lane
	}
	switch step.Kind {
	case Ack:
		l.ack(step.Flight)
	case Give:
		g.give(l)
	case Take:
		g.take(l, step.Flight)
	case EOF:
		l.EOF = g.Round
		l.nextReader().got <- received{err: io.EOF}
	case Close:
		l.pair.Ends[step.Dir-transport.ClientToServer].close()
	case HalfClose:
		l.Ended = true
		l.Halved = true
		l.refuse()
	}
}

func (g *Gate) take(lane *Lane, flight *Flight) {
	flight.Taken = g.Round
	i := slices.Index(lane.Waiting, flight)
	lane.Waiting = slices.Delete(lane.Waiting, i, i+1)
	lane.unacked = append(lane.unacked, flight)
	lane.Queue = append(lane.Queue, flight)
	g.send(flight, flight.Taken)
	if v := garbled(flight); v != nil && lane.pair.rules != nil {
		g.Breaches = append(g.Breaches, Breach{*v, flight.Dir.String() + " " + flight.Name, flight.Taken, codeOf(flight.Wrote)})
		g.Garbled = true
	}
	if lane.Cap == 0 { // hand to hand
		g.give(lane)
	}
	if !g.options.Split {
		lane.ack(flight)
	}
}

// send judges a frame that goes onto the wire.
func (g *Gate) send(f *Flight, step int) {
	rules := f.Lane.pair.rules
	if rules == nil {
		return
	}
	sent := f.Lane.pair.wire.take(store.Event{Kind: store.Frame, Dir: f.Dir, Stream: f.Frame.Stream, Payload: f.Frame.Bytes}, f.said.messages)
	if f.said.messages == nil { // what only the Model reads as messages, no transport does
		sent.Messages = nil
	}
	f.sent = order.FrameOf(sent)
	for _, v := range rules.Send(sent, f.known) {
		// Another exchange of HTTP has an order of its own.
		if f.Exchange == nil || !v.OneSender() {
			g.Breaches = append(g.Breaches, Breach{v, f.Dir.String() + " " + f.Name, step, codeOf(f.Wrote)})
		}
	}
}

// codeOf lists where bytes were written, the innermost function first.
func codeOf(wrote []stacks.Call) (list []string) {
	for _, call := range slices.Backward(wrote[:max(len(wrote)-1, 0)]) { // the last is the look itself
		if strings.HasPrefix(path.Base(call.Function), "gate.(*") {
			continue
		}
		list = append(list, path.Base(call.Function)+" "+call.Line)
	}
	return list
}

// give hands the first queued frame to the reader that waits longest, and tells the rules.
func (g *Gate) give(lane *Lane) {
	f := lane.Queue[0]
	lane.Queue = slices.Delete(lane.Queue, 0, 1)
	r := lane.nextReader()
	lane.Before = lane.Holder
	lane.Holder = r.goroutine
	r.got <- received{frame: f.Frame}
	g.given(f)
}

// given notes that a reader has a frame.
func (g *Gate) given(f *Flight) {
	f.Given = g.Round
	f.Lane.Last = f
	if rules := f.Lane.pair.rules; rules != nil {
		rules.Give(f.sent)
	}
}
