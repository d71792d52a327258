package explore

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// virtualStart is when the time of every bubble begins, and every session that is kept of a
// run.
var virtualStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fact is an event and its place in the run.
type fact struct {
	after  int // this many steps
	rank   int // 0 for effects of the last step, 1 for the peers' frames after it
	event  store.Event
	flight *gate.Flight
}

// recordingOf returns a run as a recording, like one made by taps in the peers' processes: a
// frame stands at the call of its Write, a delivered event at the return of the Read. The
// frames of a direction stand in the order of the takes, then the frames that were not
// taken; a frame that its writer took back is left out. Of HTTP there are the events that a tap
// makes. Times are virtual; the events of a
// step have the time of the last frame before the step. verdict names how the run ended, and
// remark says more of it.
func recordingOf(steps []gate.Step, g *gate.Gate, verdict, remark string) []store.Event {
	var facts []fact
	for _, x := range g.HTTP.Exchanges { // a request before its frame
		facts = append(facts, momentFacts(x, len(steps))...)
	}
	for _, l := range g.Lanes {
		if l.Exchange == nil {
			facts = append(facts, laneFacts(l, steps)...)
		}
	}
	ended := map[transport.Direction]bool{} // an end may close its writing side alone first
	for i, s := range steps {
		if (s.Kind == gate.Close || s.Kind == gate.HalfClose) && !ended[s.Dir] {
			ended[s.Dir] = true
			e := store.Event{Kind: store.EOF, Dir: s.Dir, Payload: store.EncodePayload(store.EOFInfo{By: "sender"})}
			facts = append(facts, fact{after: i + 1, event: e})
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.rank, b.rank))
	})

	events := []store.Event{{Kind: store.Opened}}
	numbers := map[*gate.Flight]uint64{}
	frames := uint64(0)
	at := time.Duration(0)
	hash := sha256.New()
	for _, f := range facts {
		e := f.event
		switch e.Kind {
		case store.Frame:
			at = max(at, f.flight.Offered)
			numbers[f.flight] = uint64(len(events) + 1)
			frames++
			hash.Write(e.Payload)
		case store.Delivered:
			e.Payload = store.EncodePayload(store.DeliveredInfo{Upto: numbers[f.flight]})
		}
		e.At = at
		events = append(events, e)
	}
	text := verdict + ", " + remark
	for _, l := range g.Lanes {
		for _, f := range slices.Concat(l.Queue, l.Waiting) {
			text += fmt.Sprintf("\nnot read: %v %s, %s", l.Dir, f.Name, l.Where(f))
		}
	}
	note := store.Event{Kind: store.Note, At: at, Payload: []byte(text)}
	closed := store.Event{Kind: store.Closed, At: at, Payload: store.EncodePayload(store.ClosedInfo{Frames: frames})}
	events = append(events, note, closed)
	hash.Write(note.Payload)
	sum := hash.Sum(nil)        // names the session after its content: the same run gives the same id
	sum[6] = sum[6]&0x0f | 0x80 // a UUID of version 8
	sum[8] = sum[8]&0x3f | 0x80
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	header := store.Header{ID: store.SessionID(id), Start: virtualStart, Transport: "memory", Label: "explore: " + verdict, Recorder: "mcprec"}
	events[0].Payload = header.Encode()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// laneFacts are the frames of a direction, and when they were read.
func laneFacts(l *gate.Lane, steps []gate.Step) []fact {
	var facts []fact
	after := 0
	say := func(flight *gate.Flight) {
		after = max(after, flight.Round)
		facts = append(facts, fact{after: after, rank: 1, flight: flight, event: store.Event{
			Kind: store.Frame, Dir: flight.Dir, Payload: flight.Frame.Bytes,
			Stream: flight.Frame.Stream, Unterminated: flight.Frame.Unterminated}})
	}
	for _, s := range steps {
		if s.Kind == gate.Take && s.Flight.Lane == l {
			say(s.Flight)
		}
	}
	for _, f := range l.Waiting {
		if f.Round <= len(steps) {
			say(f)
		}
	}
	for _, f := range facts {
		if given := f.flight.Given; given > 0 && given <= len(steps) {
			facts = append(facts, fact{after: given, flight: f.flight, event: store.Event{Kind: store.Delivered, Dir: l.Dir, Stream: f.flight.Frame.Stream}})
		}
	}
	return facts
}

// momentFacts are the request and the response of an exchange, without the frame of the request.
func momentFacts(x *gate.Exchange, steps int) []fact {
	var facts []fact
	for _, m := range x.Moments() {
		if m.Round > steps {
			break
		}
		e := store.Event{Kind: store.HTTP, Dir: m.Dir, Stream: x.Stream}
		if m.Info != nil {
			e.Payload = store.EncodePayload(m.Info)
		} else {
			e.Kind, e.Payload = store.Frame, m.Flight.Frame.Bytes
		}
		facts = append(facts, fact{after: m.Round, rank: 1, event: e, flight: m.Flight})
		if f := m.Flight; f != nil && f.Given > 0 && f.Given <= steps {
			facts = append(facts, fact{after: f.Given, flight: f, event: store.Event{Kind: store.Delivered, Dir: m.Dir, Stream: x.Stream}})
		}
	}
	return facts
}

const (
	drawingWidth = 64 // columns between the client's line and the server's
	shownLines   = 24
	shownQueue   = 3 // standing frames shown of each direction
)

// drawingOf shows a run: the read frames, the starts of operations, a Write that returned late,
// and the frames still standing at the end.
func drawingOf(steps []gate.Step, lanes []*gate.Lane, passages []*passage) []string {
	var lines []string
	lastGive := 0
	for i, s := range steps {
		at := i + 1
		f := s.Flight
		switch {
		case f != nil && f.Given == at:
			lines = append(lines, arrow(at, s.Dir, f.Name, ""))
			lastGive = at
		case s.Kind == gate.Ack && f.Given > 0 && lastGive > f.Given:
			lines = append(lines, arrow(at, 0, "only now returns the Write of "+f.Name, ""))
		case s.Kind == gate.Arrive, s.Kind == gate.Leave, s.Kind == gate.Cut,
			s.Kind == gate.Start, s.Kind == gate.Close, s.Kind == gate.EOF, s.Kind == gate.Relent, s.Kind == gate.HalfClose, s.Kind == gate.Reach:
			lines = append(lines, arrow(at, 0, s.Name(), ""))
		case s.Kind == gate.Time:
			p := passages[slices.IndexFunc(passages, func(p *passage) bool { return p.step == at })]
			lines = append(lines, arrow(at, 0, "time passes: "+p.outcome(s.Timer()), ""))
		}
	}
	if over := len(lines) - shownLines; over > 0 {
		lines = append([]string{"     … " + phrase.Plural(over, "line") + " before"}, lines[over:]...)
	}
	lines = append([]string{"      " + timeline.Lifelines(drawingWidth)}, lines...)
	for _, l := range lanes {
		for i, f := range slices.Concat(l.Queue, l.Waiting) {
			if i == shownQueue {
				lines = append(lines, fmt.Sprintf("     … %d more in %v", len(l.Queue)+len(l.Waiting)-i, l.Dir))
				break
			}
			note := fmt.Sprintf("queued in %v", l.Dir)
			if f.Taken == 0 {
				note = fmt.Sprintf("being written by the %s", l.Dir.Sender())
			}
			lines = append(lines, arrow(0, l.Dir, f.Name, note))
		}
	}
	return lines
}

// arrow draws a line: a whole arrow for a read frame, half an arrow and a note for another
// frame, and words alone for any other step.
func arrow(at int, dir transport.Direction, label, note string) string {
	number := "    "
	if at > 0 {
		number = fmt.Sprintf("%4d", at)
	}
	return strings.TrimRight(number+"  "+timeline.Arrow(dir, note == "", label, drawingWidth)+" "+note, " ")
}
