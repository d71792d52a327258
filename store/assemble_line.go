package store

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// maxStderr is the longest line of standard error, in bytes; a longer one goes on in the next
// event, because a spinner never ends.
const maxStderr = 64 << 10

// line is the unterminated line of a pipe.
type line struct {
	text  []byte        // its recorded bytes
	left  int64         // of these, bytes in the middle that are not kept; scan has read all then
	size  int64         // full length
	torn  bool          // its beginning is lost
	place place         // where it begins
	since time.Duration // when its first bytes passed
	at    time.Duration // of its newest bytes
	scan  brackets

	frame uint64 // the newest frame of the pipe
	early bool   // the newline of that frame has not come yet
	skip  int64  // next bytes to skip: they were returned already
}

// place is a record of a spool.
type place struct {
	off int64
	fed [pipes]int64 // bytes of each pipe before it
}

// OpenLine is an unterminated line of a pipe of a live session. It is no event, and has no
// Seq before its end is seen; but a complete message, which the other end may have answered, is
// the event Frame already, and only its newline has not come: such a line has no text here.
type OpenLine struct {
	Pipe  string              // "c2s", "s2c" or "stderr"
	Dir   transport.Direction // of a frame; none of standard error
	Frame uint64              // the event of a line whose newline alone is missing; 0: the line is no event
	Size  int64
	Text  []byte        // as much of it as is recorded
	Since time.Duration // when its first bytes passed
	At    time.Duration // of its newest bytes
}

// OpenLines returns the unterminated lines.
func (a *Assembler) OpenLines() (open []OpenLine) {
	for i := range a.lines {
		l := &a.lines[i]
		_, dir := ofPipe(i)
		switch {
		case l.size > 0:
			open = append(open, OpenLine{Pipe: pipeNames[i], Dir: dir, Size: l.size, Text: l.text, Since: l.since, At: l.at})
		case l.early:
			open = append(open, OpenLine{Pipe: pipeNames[i], Dir: dir, Frame: l.frame})
		}
	}
	return open
}

// chunk finds the frames or lines that end in a chunk.
func (a *Assembler) chunk(part *Part, off int64) error {
	n, ok := pipeOf(part.Kind, part.Dir)
	if !ok {
		return fmt.Errorf("bytes of no pipe: %w", ErrCorrupt)
	}
	l := &a.lines[n]
	here := place{off, a.fed}
	text := part.Payload
	a.mark.Piped = true
	a.fed[n] += int64(len(text))
	if part.Cont && l.skip == 0 {
		a.endLine(n)
		l.torn = true
	}
	passed := min(l.skip, int64(len(text)))
	l.skip -= passed
	for text = text[passed:]; len(text) > 0; {
		if l.early && text[0] == '\n' {
			l.early = false
			text = text[1:]
			continue
		}
		l.at = part.At
		if l.size == 0 {
			a.tellEarly(n)
			l.place = here
			l.since = part.At
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
			if a.keep > 0 && !ended {
				l.keep(a.keep)
			}
		}
		text = rest
		if ended {
			a.finish(n, true)
		}
	}
	return nil
}

var newline = []byte{'\n'}

// add adds bytes to a line. A line within one chunk is not copied.
func (l *line) add(piece []byte, limit int64, ended bool) {
	whole := ended && l.size == 0
	l.size += int64(len(piece))
	if l.torn {
		return
	}
	if limit > 0 {
		piece = piece[:max(0, min(int64(len(piece)), limit-l.left-int64(len(l.text))))]
	}
	if whole {
		l.text = slices.Clip(piece)
	} else {
		l.text = extended(l.text, piece)
	}
}

// keep forgets the bytes of the line behind the first n.
func (l *line) keep(n int) {
	if len(l.text) <= n {
		return
	}
	l.scan.read(l.text[l.scan.seen-int(l.left):])
	l.left += int64(len(l.text) - n)
	l.text = l.text[:n]
}

// finish makes an event of a line. The line of the other direction that it may answer, and an
// open line of standard error such as a prompt, come before it.
func (a *Assembler) finish(n int, terminated bool) {
	if n != pipeStderr && !a.lines[n].torn {
		a.early(pipeS2C - n)
		if x := &a.lines[pipeStderr]; x.size > 0 && !x.torn {
			a.emit(pipeStderr, false)
		}
	}
	a.emit(n, terminated)
}

// emit makes an event of a line, or a lost event if its beginning is lost.
func (a *Assembler) emit(n int, terminated bool) {
	l := &a.lines[n]
	switch {
	case !l.torn:
		cut := l.size - int64(len(l.text)) - l.left
		e := Event{At: l.at, Unterminated: !terminated, Cut: uint64(cut), Payload: l.text}
		e.Kind, e.Dir = ofPipe(n)
		if seq := a.push(entry{event: e, left: uint64(l.left)}); n != pipeStderr {
			l.frame = seq
		}
		if cut > 0 {
			reason := fmt.Sprintf("event %d is cut after %d B", l.frame, a.mark.Limit)
			a.pushLost(l, n, LostInfo{Frames: 1, Bytes: uint64(cut), Reason: reason})
		}
	case l.size > 0:
		a.pushLost(l, n, LostInfo{Bytes: uint64(l.size), Reason: "the beginning of their line was lost"})
	}
	l.text = nil
	l.left = 0
	l.size = 0
	l.torn = false
	l.scan = brackets{}
}

// pushLost makes a lost event for missing bytes of a line.
func (a *Assembler) pushLost(line *line, n int, info LostInfo) {
	info.Streams = []string{pipeNames[n]}
	a.lost += info.Frames
	a.push(entry{event: Event{At: line.at, Kind: Lost, Payload: EncodePayload(info)}})
}

// endLine ends a line without a newline.
func (a *Assembler) endLine(n int) {
	l := &a.lines[n]
	a.tellEarly(n)
	if l.size > 0 {
		a.finish(n, false)
	}
}

func (a *Assembler) endLines() {
	for n := range a.lines {
		a.endLine(n)
	}
}

// early gives an open line its place if it may be a complete message, which the next frame of
// the other direction may answer.
func (a *Assembler) early(n int) {
	l := &a.lines[n]
	isWhole := int64(len(l.text))+l.left == l.size // else it is cut, or torn
	isClosed := l.left > 0 && l.scan.isClosed() || l.left == 0 && l.scan.close(l.text)
	if !isWhole || !isClosed {
		return
	}
	a.emit(n, true)
	l.early = true
}

// noNewline is the text of a note about a frame behind which no newline came.
const noNewline = "no newline ended event %d"

// EndsWithoutNewline reports whether an event is a note that no newline ended an earlier frame, and
// which. Such a frame is not marked Unterminated: when it got its place in the log, as the other end
// might be answering it, its newline could still come.
func EndsWithoutNewline(event Event) (frame uint64, ok bool) {
	if event.Kind != Note {
		return 0, false
	}
	info, err := DecodePayload[NoteInfo](event)
	if err != nil {
		return 0, false
	}
	_, _ = fmt.Sscanf(info.Text, noNewline, &frame) // another text is not the note below
	return frame, info == WithoutNewline(frame)
}

// WithoutNewline returns the note that no newline ended a frame; see [EndsWithoutNewline].
func WithoutNewline(frame uint64) NoteInfo { return NoteInfo{Text: fmt.Sprintf(noNewline, frame)} }

// tellEarly notes that no newline ended a line that was taken for complete.
func (a *Assembler) tellEarly(n int) {
	l := &a.lines[n]
	if !l.early {
		return
	}
	l.early = false
	e := Event{Kind: Note, Payload: EncodePayload(WithoutNewline(l.frame))}
	_, e.Dir = ofPipe(n)
	a.push(entry{event: e})
}

// meet notes what an event in a record says of the pipes.
func (a *Assembler) meet(event *Event) {
	switch {
	case event.Kind == Opened:
		if h, err := ParseHeader(event.Payload); err == nil {
			a.mark.Limit = h.MaxFrame
		}
	case event.Kind == Lost:
		info, _ := DecodePayload[LostInfo](*event)
		a.lost += info.Frames
		for n, name := range pipeNames {
			if slices.Contains(info.Streams, name) {
				a.endLine(n)
			}
		}
	case !a.mark.Piped:
	case event.Kind == EOF:
		if n, ok := pipeOf(Frame, event.Dir); ok {
			a.endLine(n)
		}
	case event.Kind == Delivered:
		info, err := DecodePayload[DeliveredInfo](*event)
		if n, ok := pipeOf(Frame, event.Dir); ok && err == nil && info.Upto == 0 && event.Stream == 0 {
			info.Upto = a.lines[n].frame
			event.Payload = EncodePayload(info)
		}
	case event.Kind == Closed:
		a.endLines()
		event.Payload = EncodePayload(ClosedInfo{Frames: a.frames, Lost: a.lost})
	}
}

// brackets follows the brackets of a line of JSON.
type brackets struct {
	transport.Brackets
	seen int  // bytes read
	last byte // that was read and is no space
}

// close reports whether the brackets have closed.
func (b *brackets) close(line []byte) bool {
	last := bytes.TrimRight(line, " \t\r")
	if len(last) == 0 || last[len(last)-1] != '}' && last[len(last)-1] != ']' {
		return false
	}
	b.read(line[b.seen:])
	return b.isClosed()
}

// isClosed reports whether the brackets of what was read have closed.
func (b *brackets) isClosed() bool {
	return b.Depth == 0 && !b.InText && (b.last == '}' || b.last == ']')
}

// read reads the next bytes of the line.
func (b *brackets) read(bytes []byte) {
	b.seen += len(bytes)
	for _, c := range bytes {
		if c != ' ' && c != '\t' && c != '\r' {
			b.last = c
		}
		b.Take(c)
	}
}
