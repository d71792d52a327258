package store

import "fmt"

// Part is an event or a stretch of one. Most events are one part. A frame that
// comes in several reads is one part with More set, then continuations: parts
// with Cont set that repeat only the Seq and carry the next bytes. The last part
// of an event has More unset and decides Unterminated; Redacted and Cut are of each part's bytes.
//
// Parts of different events may stand between the parts of one.
type Part struct {
	Event
	Cont bool // continues the event of the same Seq
	More bool // further parts of the same event follow
}

// Assembler makes events of parts. Events come out in Seq order, so an event
// whose end has not come holds back those after it. The zero value is ready; it
// must not be copied. It takes ownership of no payload: parts' bytes are copied
// only where an event has several.
type Assembler struct {
	next  uint64 // Seq of the first event not yet given out; 0: unknown
	queue []open // events next, next+1, …
	held  int    // bytes of the payloads in queue
}

type open struct {
	event Event
	whole bool
	owned bool // payload is ours to append to
}

// Add takes the next part. It fails when the part fits no event: a Seq that
// neither continues an open event nor is the next new one.
func (a *Assembler) Add(p Part) error {
	if a.next == 0 {
		if p.Cont {
			return fmt.Errorf("event %d: continued before it began: %w", p.Seq, ErrCorrupt)
		}
		a.next = p.Seq
	}
	i := p.Seq - a.next
	if p.Cont {
		return a.extend(i, p)
	}
	if i != uint64(len(a.queue)) {
		return fmt.Errorf("event %d: expected event %d: %w", p.Seq, a.next+uint64(len(a.queue)), ErrCorrupt)
	}
	a.queue = append(a.queue, open{event: p.Event, whole: !p.More})
	a.held += len(p.Payload)
	return nil
}

func (a *Assembler) extend(i uint64, p Part) error {
	if i >= uint64(len(a.queue)) || a.queue[i].whole {
		return fmt.Errorf("event %d: continued, but it is not open: %w", p.Seq, ErrCorrupt)
	}
	o := &a.queue[i]
	if !o.owned {
		o.event.Payload = append(make([]byte, 0, 2*(len(o.event.Payload)+len(p.Payload))), o.event.Payload...)
		o.owned = true
	}
	o.event.Payload = append(o.event.Payload, p.Payload...)
	o.event.Unterminated = p.Unterminated
	o.event.Redacted += p.Redacted
	o.event.Cut += p.Cut
	o.whole = !p.More
	a.held += len(p.Payload)
	return nil
}

// Next returns the next complete event, if there is one.
func (a *Assembler) Next() (Event, bool) {
	if len(a.queue) == 0 || !a.queue[0].whole {
		return Event{}, false
	}
	e := a.queue[0].event
	a.queue[0] = open{}
	a.queue = a.queue[1:]
	a.next++
	a.held -= len(e.Payload)
	return e, true
}

// Settled reports whether every event begun has been given out: a place where
// reading may start anew.
func (a *Assembler) Settled() bool { return len(a.queue) == 0 }

// Held returns how many bytes of payloads an event whose end has not come holds back,
// with its own.
func (a *Assembler) Held() int {
	if len(a.queue) == 0 || a.queue[0].whole {
		return 0
	}
	return a.held
}

// Expect makes room for n further bytes of the first event, whose end has not come:
// a large one then needs no more than its size.
func (a *Assembler) Expect(n int) {
	if len(a.queue) == 0 || a.queue[0].whole {
		return
	}
	o := &a.queue[0]
	o.event.Payload = append(make([]byte, 0, len(o.event.Payload)+n), o.event.Payload...)
	o.owned = true
}

// Cut ends every open event as unterminated: the recorder is gone and no more
// parts will come. What Next then returns is what passed.
func (a *Assembler) Cut() {
	for i := range a.queue {
		if o := &a.queue[i]; !o.whole {
			o.whole, o.event.Unterminated = true, true
		}
	}
}
