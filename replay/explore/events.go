package explore

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// virtualStart is when the time of every bubble begins, and so every session that
// is kept of a run.
var virtualStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fact is an event and where in the run it belongs.
type fact struct {
	after  int // this many steps
	rank   int // 0 what the last of them did, 1 what peers did then
	event  store.Event
	flight *flight
}

// events is the run as a recording, as taps in the peers' own processes would have
// made it: a frame stands where its Write was called, a delivered event where its
// Read returned. The frames of a direction stand in the order in which they were
// taken, and those that were not after them; a frame that its writer took back is
// not there. Times are the bubble's, virtual; all that a step does has the time of the
// last frame before it.
func (r *Run) events() []store.Event {
	steps := r.shown()
	var facts []fact
	for i := range r.gate.lanes {
		facts = append(facts, r.gate.lanes[i].facts(steps)...)
	}
	ended := map[transport.Direction]bool{} // an end may close its writing side alone first
	for i, s := range steps {
		if (s.Kind == Close || s.Kind == HalfClose) && !ended[s.Dir] {
			ended[s.Dir] = true
			e := store.Event{Kind: store.EOF, Dir: s.Dir, Payload: store.EncodePayload(store.EOFInfo{By: "sender"})}
			facts = append(facts, fact{after: i + 1, event: e})
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.rank, b.rank))
	})
	return r.sealed(facts)
}

// shown are the steps without the pings at a hang's end.
func (r *Run) shown() []Step {
	if stands(r.verdict) {
		return r.steps[:r.still]
	}
	return r.steps
}

// facts are the frames of a direction, and who read them when.
func (l *lane) facts(steps []Step) []fact {
	var facts []fact
	after := 0
	say := func(f *flight) {
		after = max(after, f.round)
		facts = append(facts, fact{after: after, rank: 1, flight: f, event: store.Event{
			Kind: store.Frame, Dir: f.dir, Payload: f.frame.Bytes,
			Stream: f.frame.Stream, Unterminated: f.frame.Unterminated}})
	}
	for _, s := range steps {
		if s.Kind == Take && s.Dir == l.dir {
			say(s.flight)
		}
	}
	for _, f := range l.waiting {
		if f.round <= len(steps) {
			say(f)
		}
	}
	for _, f := range facts {
		if given := f.flight.given; given > 0 && given <= len(steps) {
			facts = append(facts, fact{after: given, flight: f.flight, event: store.Event{Kind: store.Delivered, Dir: l.dir}})
		}
	}
	return facts
}

// sealed numbers and times the facts, and puts the header and the end around them.
func (r *Run) sealed(facts []fact) []store.Event {
	events := []store.Event{{Kind: store.Opened}}
	numbers := map[*flight]uint64{}
	frames, at := uint64(0), time.Duration(0)
	sum := sha256.New()
	for _, f := range facts {
		e := f.event
		switch e.Kind {
		case store.Frame:
			at = max(at, f.flight.offered)
			numbers[f.flight] = uint64(len(events) + 1)
			frames++
			sum.Write(e.Payload)
		case store.Delivered:
			e.Payload = store.EncodePayload(store.DeliveredInfo{Upto: numbers[f.flight]})
		}
		e.At = at
		events = append(events, e)
	}
	note := store.Event{Kind: store.Note, At: at, Payload: []byte(r.epitaph())}
	closed := store.Event{Kind: store.Closed, At: at, Payload: store.EncodePayload(store.ClosedInfo{Frames: frames})}
	events = append(events, note, closed)
	sum.Write(note.Payload)
	events[0].Payload = r.header(sum.Sum(nil)).Encode()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// header names the session after its content: the same run gives the same one.
func (r *Run) header(sum []byte) store.Header {
	sum[6] = sum[6]&0x0f | 0x80 // a UUID of version 8
	sum[8] = sum[8]&0x3f | 0x80
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	label := strings.TrimSpace("explore: " + r.verdict + " " + r.category)
	return store.Header{ID: store.SessionID(id), Start: virtualStart, Transport: "memory", Label: label, Recorder: "mcprec"}
}

// epitaph says how the run ended, and which frames nobody has read.
func (r *Run) epitaph() string {
	text := fmt.Sprintf("%s, token %s\n%s", strings.TrimSpace(r.verdict+" "+r.category), r.asToken(), r.why)
	for i := range r.gate.lanes {
		l := &r.gate.lanes[i]
		for _, f := range slices.Concat(l.queue, l.waiting) {
			text += fmt.Sprintf("\nnot read: %v %s, %s", l.dir, f.name, l.place(f))
		}
	}
	return text
}
