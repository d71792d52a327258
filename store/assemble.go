package store

import (
	"fmt"
	"slices"
	"time"
)

// Assembler makes events from the parts of a spool: it cuts chunks of pipes into frames and
// lines, joins events in several parts, and numbers them all. It does no I/O and has no clock,
// and the result does not depend on the sizes of the chunks. The zero value is ready; it must
// not be copied. It copies bytes only for an event with bytes from several parts.
//
// A line of a pipe is an event when its end is seen, and has its place and its time
// there: a line without an end holds nothing back. Only a line whose brackets close may
// be answered before its newline comes. It has its place before the next frame of the
// other direction, so that no response stands before its request; its newline then makes
// no event.
//
// An event in parts has its place where its first part stands, because parts of its
// exchange name its number, and holds back those after it until its last part.
type Assembler struct {
	started bool
	mark    Mark    // behind the events that Next has returned
	queue   []entry // known events behind the mark
	first   int     // index in queue of the next event
	held    int     // bytes of payloads in queue
	begun   uint64  // Seq of the newest event in parts, in their numbering
	gap     bool    // the next event in parts may have any Seq
	done    uint64  // events in parts before this Seq were returned
	at      time.Duration
	frames  uint64
	lost    uint64
	fed     [pipes]int64 // bytes received
	lines   [pipes]line
	keep    int    // how many bytes of a frame are kept; 0: all
	left    uint64 // bytes of returned frames that were not kept
}

// entry is an event that Next has not returned yet.
type entry struct {
	event Event
	part  uint64 // its Seq in the numbering of parts; 0: made from chunks
	open  bool   // more parts follow
	left  uint64 // bytes that are not kept
	off   int64  // offset of its first record
}

// Mark is a place in a spool from which an Assembler can go on.
type Mark struct {
	Off    int64         // offset of the next record
	Seq    uint64        // of the next event
	At     time.Duration // of the event before
	Part   uint64        // of the next event in parts, in their numbering
	Frames uint64        // frames before
	Lost   uint64        // frames lost before
	Limit  int64         // recorded bytes of a frame; 0: all
	Piped  bool          // the spool has chunks
	Pipes  [pipes]PipeMark
}

// PipeMark is the state of a pipe in a Mark.
type PipeMark struct {
	Given int64  // bytes behind Off that were returned
	Frame uint64 // the newest frame
	Early bool   // its newline has not come yet
}

// NewAssembler returns an Assembler that goes on at a mark.
func NewAssembler(mark Mark) *Assembler {
	a := &Assembler{}
	a.start(mark)
	a.done = mark.Part
	return a
}

func (a *Assembler) start(mark Mark) {
	a.started = true
	a.mark = mark
	a.begun = mark.Part - 1
	a.at = mark.At
	a.frames = mark.Frames
	a.lost = mark.Lost
	for i, p := range mark.Pipes {
		l := &a.lines[i]
		l.skip = p.Given
		l.frame = p.Frame
		l.early = p.Early
	}
}

// KeepOnly makes the frames that come in several pieces keep about their first n bytes, for a reader that only
// counts: [Assembler.Left] has the number of the others.
func (a *Assembler) KeepOnly(n int) { a.keep = n }

// Left returns how many bytes the returned frames had beyond those that were kept; see [Assembler.KeepOnly].
func (a *Assembler) Left() uint64 { return a.left }

// Add adds the next part, whose record stands at off. It fails for a part that neither
// continues an open event nor begins the next one.
func (a *Assembler) Add(part Part, off int64) error {
	if !a.started {
		if part.Cont && !part.Chunk {
			return fmt.Errorf("event %d: continued before it began: %w", part.Seq, ErrCorrupt)
		}
		a.start(Mark{Seq: max(part.Seq, 1), Part: max(part.Seq, 1)})
	}
	switch {
	case part.Chunk:
		return a.chunk(&part, off)
	case part.Seq < a.done:
		return nil
	case part.Cont:
		return a.extend(&part)
	case part.Seq != a.begun+1 && !(a.gap && part.Seq > a.begun):
		return fmt.Errorf("event %d: expected event %d: %w", part.Seq, a.begun+1, ErrCorrupt)
	}
	a.begun = part.Seq
	a.gap = false
	a.meet(&part.Event)
	part.Payload = part.Payload[:len(part.Payload):len(part.Payload)] // the memory behind it is the caller's
	a.push(entry{event: part.Event, part: part.Seq, open: part.More, off: off})
	return nil
}

// push numbers an event and queues it.
func (a *Assembler) push(entry entry) uint64 {
	entry.event.Seq = a.mark.Seq + uint64(len(a.queue)-a.first)
	entry.event.At = max(entry.event.At, a.at)
	a.at = entry.event.At
	if entry.event.Kind == Frame {
		a.frames++
	}
	a.queue = append(a.queue, entry)
	a.held += len(entry.event.Payload) + int(entry.left)
	return entry.event.Seq
}

// extend continues an open event.
func (a *Assembler) extend(part *Part) error {
	i := a.first
	if n := len(a.queue); i < n && a.queue[i].part != 0 && part.Seq > a.queue[i].part {
		i += int(min(part.Seq-a.queue[i].part, uint64(n-i)))
	}
	for i < len(a.queue) && a.queue[i].part < part.Seq { // skip events of pipes
		i++
	}
	if i >= len(a.queue) || a.queue[i].part != part.Seq || !a.queue[i].open {
		return fmt.Errorf("event %d: continued, but it is not open: %w", part.Seq, ErrCorrupt)
	}
	x := &a.queue[i]
	kept := part.Payload
	if a.keep > 0 && x.event.Kind == Frame {
		kept = kept[:min(len(kept), max(0, a.keep-len(x.event.Payload)))]
		x.left += uint64(len(part.Payload) - len(kept))
	}
	x.event.Payload = extended(x.event.Payload, kept)
	x.event.Unterminated = part.Unterminated
	x.event.Redacted += part.Redacted
	x.event.Cut += part.Cut
	x.open = part.More
	a.held += len(part.Payload)
	return nil
}

// extended appends to a payload. Large payloads double, because many stretches may follow; very large ones grow by
// half, because both copies are held at once.
func extended(data, more []byte) []byte {
	const veryLarge = 16 << 20
	if n := len(data) + len(more); n > veryLarge && n > cap(data) {
		data = append(make([]byte, 0, n+n/2), data...)
	} else if n > cap(data) {
		data = append(make([]byte, 0, 2*n), data...)
	}
	return append(data, more...)
}

// Next returns the next complete event, if there is one.
func (a *Assembler) Next() (Event, bool) {
	if a.first == len(a.queue) || a.queue[a.first].open {
		return Event{}, false
	}
	x := a.queue[a.first]
	a.queue[a.first] = entry{}
	a.first++
	switch {
	case a.first == len(a.queue):
		a.queue = a.queue[:0]
		a.first = 0
	case a.first >= 1024 && 2*a.first > len(a.queue):
		n := copy(a.queue, a.queue[a.first:])
		clear(a.queue[n:])
		a.queue = a.queue[:n]
		a.first = 0
	}
	a.held -= len(x.event.Payload) + int(x.left)
	a.left += x.left
	a.mark.Seq = a.mark.Seq + 1
	a.mark.At = x.event.At
	return x.event, true
}

// Unfinished returns the events that Next holds back, in order: those in parts that are open, as
// they stand, and those behind.
func (a *Assembler) Unfinished() (events []Event) {
	for _, x := range a.queue[a.first:] {
		if x.open {
			x.event.Open = true
			x.event.Unterminated = true
			x.event.Payload = slices.Clip(x.event.Payload) // the rest is added behind it
		}
		events = append(events, x.event)
	}
	return events
}

// Settled reports whether Next has returned every known event.
func (a *Assembler) Settled() bool { return a.first == len(a.queue) }

// Held returns the number of bytes that wait behind an event in parts, with its own, or for
// the end of a line.
func (a *Assembler) Held() (n int) {
	if !a.Settled() && a.queue[a.first].open {
		n = a.held
	}
	for i := range a.lines {
		n = max(n, len(a.lines[i].text)+int(a.lines[i].left))
	}
	return n
}

// Cut ends every open event and line as unterminated, because the recorder is gone.
func (a *Assembler) Cut() {
	for i := a.first; i < len(a.queue); i++ {
		if x := &a.queue[i]; x.open {
			x.open = false
			x.event.Unterminated = true
		}
	}
	a.endLines()
}

// Gap notes missing records. Open events and lines end there, and the next event in parts may
// have any number.
func (a *Assembler) Gap(lost LostInfo) {
	a.Cut()
	a.Append(Event{Kind: Lost, Payload: EncodePayload(lost)})
	a.gap = true
}

// Append adds an event without a record behind all others.
func (a *Assembler) Append(event Event) { a.push(entry{event: event}) }

// MayStop reports whether Mark is complete: not while frames of pipes wait behind an event in
// parts.
func (a *Assembler) MayStop() bool { return a.Settled() || !a.mark.Piped }

// Mark returns the place to go on, after all records before off have been added.
func (a *Assembler) Mark(off int64) Mark {
	m := a.mark
	if !a.Settled() {
		m.Off = a.queue[a.first].off
		m.Part = a.queue[a.first].part
		return m
	}
	m.Part = a.begun + 1
	oldest := place{off, a.fed}
	for i := range a.lines {
		if l := &a.lines[i]; l.size > 0 && l.place.off < oldest.off {
			oldest = l.place
		}
	}
	m.Off = oldest.off
	for i := range a.lines {
		l := &a.lines[i]
		m.Pipes[i] = PipeMark{a.fed[i] + l.skip - l.size - oldest.fed[i], l.frame, l.early}
	}
	return m
}
