package store

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// maxStderr is how long a line of standard error is at most: a spinner has no end, and
// what is longer goes on in the next event.
const maxStderr = 64 << 10

// line is the line of a pipe whose end has not come.
type line struct {
	text  []byte        // as much of it as is recorded
	size  int64         // all of it
	torn  bool          // its beginning was lost: it is no frame
	place place         // where it begins
	at    time.Duration // of its newest bytes
	scan  brackets

	frame uint64 // the newest frame of the pipe
	early bool   // the newline of that is still to come
	skip  int64  // bytes to come that were given out
}

// place is a record of a spool.
type place struct {
	off int64
	fed [pipes]int64 // bytes of the pipes that came before
}

// OpenLine is a line of a pipe whose end has not come.
type OpenLine struct {
	Pipe string // "c2s", "s2c" or "stderr"
	Size int64
	Text []byte        // as much of it as is recorded
	At   time.Duration // of its newest bytes
}

// OpenLines returns the lines whose ends have not come.
func (a *Assembler) OpenLines() (open []OpenLine) {
	for i := range a.lines {
		if l := &a.lines[i]; l.size > 0 {
			open = append(open, OpenLine{pipeNames[i], l.size, l.text, l.at})
		}
	}
	return open
}

// chunk finds the frames or lines that a chunk ends.
func (a *Assembler) chunk(p *Part, off int64) error {
	n, ok := pipeOf(p.Kind, p.Dir)
	if !ok {
		return fmt.Errorf("bytes of no pipe: %w", ErrCorrupt)
	}
	l, here, text := &a.lines[n], place{off, a.fed}, p.Payload
	a.mark.Piped = true
	a.fed[n] += int64(len(text))
	if p.Cont && l.skip == 0 {
		a.endLine(n)
		l.torn = true
	}
	passed := min(l.skip, int64(len(text)))
	l.skip -= passed
	for text = text[passed:]; len(text) > 0; {
		if l.early && text[0] == '\n' {
			l.early, text = false, text[1:]
			continue
		}
		if l.at = p.At; l.size == 0 {
			a.tellEarly(n)
			l.place = here
		}
		piece, rest, ended := bytes.Cut(text, newline)
		switch room := maxStderr - l.size; {
		case n == pipeStderr && !l.torn && int64(len(piece)) > room:
			l.add(text[:room], 0, false)
			text = text[room:]
			a.finish(n, false)
			continue
		case n == pipeStderr:
			l.add(piece, 0, ended)
		default:
			l.add(piece, a.mark.Limit, ended)
		}
		if text = rest; ended {
			a.finish(n, true)
		}
	}
	return nil
}

var newline = []byte{'\n'}

// add takes more of a line. One that is whole in a chunk stays where it lies.
func (l *line) add(piece []byte, limit int64, ended bool) {
	whole := ended && l.size == 0
	l.size += int64(len(piece))
	if l.torn {
		return
	}
	if limit > 0 {
		piece = piece[:max(0, min(int64(len(piece)), limit-int64(len(l.text))))]
	}
	if whole {
		l.text = slices.Clip(piece)
	} else {
		l.text = extended(l.text, piece)
	}
}

// finish makes an event of the line of a pipe, behind the line of the other direction that
// it may answer, and behind what standard error has of a line, such as a prompt: that is
// no frame.
func (a *Assembler) finish(n int, terminated bool) {
	if n != pipeStderr && !a.lines[n].torn {
		a.early(pipeS2C - n)
		if x := &a.lines[pipeStderr]; x.size > 0 && !x.torn {
			a.emit(pipeStderr, false)
		}
	}
	a.emit(n, terminated)
}

// emit makes an event of the line of a pipe, or, if its beginning was lost, tells of the
// rest of it.
func (a *Assembler) emit(n int, terminated bool) {
	l := &a.lines[n]
	switch {
	case !l.torn:
		cut := l.size - int64(len(l.text))
		e := Event{At: l.at, Unterminated: !terminated, Cut: uint64(cut), Payload: l.text}
		e.Kind, e.Dir = ofPipe(n)
		if seq := a.push(entry{event: e}); n != pipeStderr {
			l.frame = seq
		}
		if cut > 0 {
			a.pushLost(l, n, LostInfo{Frames: 1, Bytes: uint64(cut), Reason: fmt.Sprintf("event %d is cut after %d B", l.frame, a.mark.Limit)})
		}
	case l.size > 0:
		a.pushLost(l, n, LostInfo{Bytes: uint64(l.size), Reason: "the beginning of their line was lost"})
	}
	l.text, l.size, l.torn, l.scan = nil, 0, false, brackets{}
}

// pushLost tells of what is missing in the line of a pipe.
func (a *Assembler) pushLost(l *line, n int, info LostInfo) {
	info.Streams = []string{pipeNames[n]}
	a.lost += info.Frames
	a.push(entry{event: Event{At: l.at, Kind: Lost, Payload: EncodePayload(info)}})
}

// endLine ends the line of a pipe where no newline does.
func (a *Assembler) endLine(n int) {
	l := &a.lines[n]
	a.tellEarly(n)
	if l.size > 0 {
		a.finish(n, false)
	}
	l.torn = false
}

func (a *Assembler) endLines() {
	for n := range a.lines {
		a.endLine(n)
	}
}

// early gives the open line of a pipe its place if it may be a whole message, which the
// frame of the other direction that comes next may answer.
func (a *Assembler) early(n int) {
	l := &a.lines[n]
	if l.size == 0 || l.torn || int64(len(l.text)) != l.size || !l.scan.close(l.text) {
		return
	}
	a.emit(n, true)
	l.early = true
}

// tellEarly says that no newline ended a line that was taken for whole.
func (a *Assembler) tellEarly(n int) {
	l := &a.lines[n]
	if !l.early {
		return
	}
	l.early = false
	e := Event{Kind: Note, Payload: encodeJSON(map[string]string{"text": fmt.Sprintf("no newline ended event %d", l.frame)})}
	_, e.Dir = ofPipe(n)
	a.push(entry{event: e})
}

// meet takes note of what an event in a record says of the pipes, and of what it is to say.
func (a *Assembler) meet(e *Event) {
	switch {
	case e.Kind == Opened:
		if h, err := ParseHeader(e.Payload); err == nil {
			a.mark.Limit = h.MaxFrame
		}
	case e.Kind == Lost:
		info, _ := DecodePayload[LostInfo](*e)
		a.lost += info.Frames
		for n, name := range pipeNames {
			if slices.Contains(info.Streams, name) {
				a.endLine(n)
			}
		}
	case !a.mark.Piped:
	case e.Kind == EOF:
		if n, ok := pipeOf(Frame, e.Dir); ok {
			a.endLine(n)
		}
	case e.Kind == Delivered:
		info, err := DecodePayload[DeliveredInfo](*e)
		if n, ok := pipeOf(Frame, e.Dir); ok && err == nil && info.Upto == 0 && e.Stream == 0 {
			info.Upto = a.lines[n].frame
			e.Payload = EncodePayload(info)
		}
	case e.Kind == Closed:
		a.endLines()
		e.Payload = EncodePayload(ClosedInfo{Frames: a.frames, Lost: a.lost})
	}
}

// brackets follows a line as JSON, as far as to tell when its brackets have closed.
type brackets struct {
	seen    int // bytes looked at
	depth   int
	text    bool // within a string
	escaped bool
}

// close reports whether the brackets of a line have closed.
func (b *brackets) close(line []byte) bool {
	last := bytes.TrimRight(line, " \t\r")
	if len(last) == 0 || last[len(last)-1] != '}' && last[len(last)-1] != ']' {
		return false
	}
	for ; b.seen < len(line); b.seen++ {
		switch c := line[b.seen]; {
		case b.escaped:
			b.escaped = false
		case b.text:
			b.escaped, b.text = c == '\\', c != '"'
		case c == '"':
			b.text = true
		case c == '{', c == '[':
			b.depth++
		case c == '}', c == ']':
			b.depth--
		}
	}
	return b.depth == 0 && !b.text
}
