package streamable

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"time"
)

// EventLimit is how much of an event's data is held until the event's end. Longer data is given
// out in parts.
const EventLimit = 64 << 10

// EventScanner cuts the bytes of a text/event-stream into events. An event is given
// out at the line end of its blank line, when a receiver takes the event. Only data of more than
// EventLimit is given out before, in pieces. Whatever the chunks, the data is the same.
type EventScanner struct {
	meta  []byte // the event so far, without the values of its data
	line  int    // where the current line begins
	stray int    // line ends at the beginning that belong to the event before
	kind  lineKind
	lines int // data lines so far

	arena []byte // data of this scan's events; the current event's is at the end
	from  int    // where the current event's data begins
	open  bool   // the current event's data is being given out in pieces

	begun  bool // a line has ended: no byte order mark can follow
	later  bool // an event has ended
	crlf   bool // the line before ended in CRLF
	cr     bool // a CR was the last byte: an LF may follow
	ending bool // the event is over except for the LF

	found []StreamEvent
}

type lineKind uint8

const (
	lineNew   lineKind = iota // the field name is not known yet
	lineData                  // a data line, whose value is not in meta
	lineOther                 // any other
)

// StreamEvent is a server-sent event, or a stretch of a long one.
type StreamEvent struct {
	Data  []byte // valid until the next scan
	Meta  []byte // the rest of the event; nil: just `event: message` and one data line
	Stray int    // line ends at the beginning of Meta that belong to the event before
	Cont  bool   // the data continues the data of the stretch before
	More  bool   // the data goes on
}

// EventFields is what a server-sent event says besides its data
// (https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6).
type EventFields struct {
	Event string // the event's type
	ID    string
	HasID bool // an id field is there; an empty one takes the last id back
	Retry string
	Any   bool // some field is there; without one the event is a comment
}

// Fields reads the fields of an event that has ended.
func (e StreamEvent) Fields() EventFields {
	if e.Meta == nil {
		return EventFields{Event: "message", Any: true}
	}
	return ParseEventFields(e.Meta)
}

// ParseEventFields reads the fields of an event, given its bytes with or without the values of the
// data. A byte order mark may stand in front.
func ParseEventFields(meta []byte) (f EventFields) {
	for line := range EventLines(bytes.TrimPrefix(meta, byteOrder)) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		f.Any = f.Any || name != ""
		switch name {
		case "event":
			f.Event = value
		case "id":
			f.ID = value
			f.HasID = true
		case "retry":
			f.Retry = value
		}
	}
	return f
}

// IsMessage reports whether the data of an event of this type is a message of MCP.
func (f EventFields) IsMessage() bool { return IsMessageEvent(f.Event) }

// IsMessageEvent reports whether the data of an event of a type is a message of MCP.
func IsMessageEvent(event string) bool { return event == "" || event == "message" }

// Pause returns how long a client is asked to wait before it connects again: a number of
// milliseconds, and a day at most.
func (f EventFields) Pause() (pause time.Duration, isAsked bool) {
	const day = 24 * time.Hour
	milliseconds, err := strconv.ParseUint(f.Retry, 10, 63)
	return time.Duration(min(milliseconds, uint64(day/time.Millisecond))) * time.Millisecond, err == nil
}

var (
	plainHead = []byte("event: message\ndata: ")
	plainMeta = []byte("event: message\ndata: \n\n")
	dataHead  = []byte("data: ")
	byteOrder = []byte("\xef\xbb\xbf")
)

// Scan returns the events that the chunk completes. They are valid until the next Scan, which
// reuses their memory.
func (s *EventScanner) Scan(chunk []byte) []StreamEvent {
	s.found = s.found[:0]
	s.arena = append(s.arena[:0], s.arena[s.from:]...)
	s.from = 0
	for ends := (lineEnds{b: chunk, lf: -1, cr: -1}); ends.at < len(chunk); {
		if len(s.meta) == 0 && !s.cr && s.plain(&ends) {
			continue
		}
		s.step(&ends)
	}
	// The data of a long unfinished event goes out.
	if held := s.arena[s.from:]; len(held) > EventLimit || len(held) > 0 && s.open {
		s.found = append(s.found, StreamEvent{Data: held, Cont: s.open, More: true})
		s.open = true
		s.from = len(s.arena)
	}
	if len(s.arena) == s.from && cap(s.arena) > 4*EventLimit {
		s.arena = nil
		s.from = 0
	}
	return s.found
}

// End returns the events that the end of the stream completes, and the rest of the bytes. The
// data of a long event that was cut is out already.
func (s *EventScanner) End() (found []StreamEvent, rest []byte) {
	s.found = s.found[:0]
	if s.ending { // the LF did not come
		s.finish()
	}
	if !s.open && len(s.meta) > 0 {
		rest = JoinEvent(s.meta, s.arena[s.from:], !s.later)
	}
	return s.found, rest
}

// Held returns how much of an unfinished event is held, besides the data.
func (s *EventScanner) Held() int { return len(s.meta) }

// Open reports whether an event was given out in part and has not ended.
func (s *EventScanner) Open() bool { return s.open }

// plain takes a whole event in the form of nearly all servers, without a copy of the data.
func (s *EventScanner) plain(ends *lineEnds) bool {
	rest := ends.b[ends.at:]
	if !bytes.HasPrefix(rest, plainHead) {
		return false
	}
	end := bytes.IndexByte(rest[len(plainHead):], '\n') + len(plainHead)
	if end <= len(plainHead) || end+1 >= len(rest) || rest[end+1] != '\n' {
		return false
	}
	if ends.cr < ends.at {
		ends.cr = ends.find('\r')
	}
	if ends.cr < ends.at+end {
		return false
	}
	s.found = append(s.found, StreamEvent{Data: rest[len(plainHead):end:end]})
	s.begun = true
	s.later = true
	s.crlf = false
	ends.at += end + 2
	return true
}

// step goes on to the end of a line or of the chunk.
func (s *EventScanner) step(ends *lineEnds) {
	if s.cr && s.afterCR(ends) {
		return
	}
	end := ends.next()
	s.take(ends.b[ends.at:end])
	ends.at = end
	if end == len(ends.b) {
		return
	}
	n := 1
	if ends.b[end] == '\r' {
		if end+1 == len(ends.b) {
			s.cr = true
		} else if ends.b[end+1] == '\n' {
			n = 2
		}
	}
	ends.at += n
	s.endLine(ends.b[end:ends.at])
}

// afterCR looks at the byte after a CR that ended a chunk, and reports whether the
// step is done with it.
func (s *EventScanner) afterCR(ends *lineEnds) bool {
	s.cr = false
	if ends.b[ends.at] == '\n' {
		if ends.at++; len(s.meta) == 0 {
			s.stray = 1
		}
		s.meta = append(s.meta, '\n')
		s.line = len(s.meta)
		s.crlf = true
	}
	if s.ending {
		s.finish()
		return true
	}
	return ends.at == len(ends.b)
}

// take adds bytes within a line.
func (s *EventScanner) take(data []byte) {
	for len(data) > 0 && s.kind == lineNew {
		n := min(len(data), len(byteOrder)+len(dataHead)) // enough to know the field
		s.meta = append(s.meta, data[:n]...)
		data = data[n:]
		s.classify(false)
	}
	switch s.kind {
	case lineData:
		s.arena = append(s.arena, data...)
	case lineOther:
		s.meta = append(s.meta, data...)
	}
}

// endLine ends the current line. An event with CRLF line ends is over after the whole CRLF of the
// blank line.
func (s *EventScanner) endLine(eol []byte) {
	blank := s.kind == lineNew && len(s.text()) == 0
	if s.kind == lineNew && !blank {
		s.classify(true)
	}
	s.meta = append(s.meta, eol...)
	s.begun = true
	if !blank {
		s.line = len(s.meta)
		s.kind = lineNew
		s.crlf = len(eol) == 2
		return
	}
	if s.ending = s.cr && s.crlf; !s.ending {
		s.finish()
	}
}

// text returns the part of the current line in meta, without the stream's byte order mark.
func (s *EventScanner) text() []byte {
	line := s.meta[s.line:]
	if !s.begun {
		line = bytes.TrimPrefix(line, byteOrder)
	}
	return line
}

// classify finds the kind of the current line, as soon as its beginning shows the kind, or
// because the line has ended.
func (s *EventScanner) classify(ended bool) {
	line := s.text()
	short := len(line) < len(dataHead) && bytes.HasPrefix(dataHead, line) || !s.begun && bytes.HasPrefix(byteOrder, line)
	if short && !ended {
		return
	}
	n := DataLine(line)
	if n == 0 {
		s.kind = lineOther
		return
	}
	value := line[n:] // the beginning of the value
	if s.lines > 0 {
		s.arena = append(s.arena, '\n')
	}
	s.arena = append(s.arena, value...)
	s.meta = s.meta[:len(s.meta)-len(value)]
	s.lines++
	s.kind = lineData
}

// finish gives out the event, whose blank line is complete.
func (s *EventScanner) finish() {
	ev := StreamEvent{Data: s.arena[s.from:len(s.arena):len(s.arena)], Cont: s.open}
	if !bytes.Equal(s.meta, plainMeta) || len(ev.Data) == 0 && !s.open {
		ev.Meta = bytes.Clone(s.meta)
		ev.Stray = s.stray
	}
	s.found = append(s.found, ev)
	s.meta = s.meta[:0]
	s.from = len(s.arena)
	s.line = 0
	s.stray = 0
	s.kind = lineNew
	s.lines = 0
	s.open = false
	s.ending = false
	s.later = true
}

// lineEnds walks along a chunk, and looks for each kind of line end only once.
type lineEnds struct {
	b      []byte
	at     int
	lf, cr int // the last ones found; to be searched again if before at
}

// next returns the end of the current line, or len(b).
func (e *lineEnds) next() int {
	if e.lf < e.at {
		e.lf = e.find('\n')
	}
	if e.cr < e.at {
		e.cr = e.find('\r')
	}
	return min(e.lf, e.cr)
}

func (e *lineEnds) find(c byte) int {
	if i := bytes.IndexByte(e.b[e.at:], c); i >= 0 {
		return e.at + i
	}
	return len(e.b)
}

// DataLine returns the length of the prefix "data: " (or "data:", or "data"), or 0 if the line
// holds no data.
func DataLine(line []byte) int {
	switch {
	case bytes.HasPrefix(line, dataHead):
		return len(dataHead)
	case bytes.HasPrefix(line, dataHead[:5]):
		return 5
	case string(line) == "data":
		return 4
	}
	return 0
}

// EventLines yields each line of data and the line end, which the last line may lack.
func EventLines(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(text, end []byte) bool) {
		for e := (lineEnds{b: data, lf: -1, cr: -1}); e.at < len(data); {
			from := e.at
			end := e.next()
			e.at = min(end+1, len(data))
			if end+1 < len(data) && data[end] == '\r' && data[end+1] == '\n' {
				e.at++
			}
			if !yield(data[from:end], data[end:e.at]) {
				return
			}
		}
	}
}

// JoinEvent puts the values of an event's data back into the rest of the event, as on the wire.
// first: the event is the stream's first.
func JoinEvent(meta, data []byte, first bool) []byte {
	if meta == nil {
		meta = plainMeta
	}
	values := bytes.Split(data, []byte{'\n'})
	var b []byte
	for text, end := range EventLines(meta) {
		b = append(b, text...)
		if first && len(b) == len(text) {
			text = bytes.TrimPrefix(text, byteOrder)
		}
		if n := DataLine(text); n > 0 && n == len(text) && len(values) > 0 {
			b = append(b, values[0]...)
			values = values[1:]
		}
		b = append(b, end...)
	}
	return b
}
