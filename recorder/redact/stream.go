package redact

import (
	"bytes"
	"hash"
)

// holdLimit is how much of a frame is held because what comes next decides it. A
// secret that is longer takes all to the end of its string with it.
const holdLimit = 64 << 10

// Stream redacts the frames, or the lines, of one direction as they come in stretches.
// One goroutine uses it at a time.
type Stream struct {
	r      *Redactor
	lines  bool              // text, not JSON
	report func(Finding)     // is told what was found; may be nil
	held   []byte            // of the open frame, not decided
	given  int               // how much of it was given out all the same
	clear  []byte            // of the open frame, given out as it is not yet taken apart
	begun  bool              // a frame is being taken apart
	json   bool              // it is JSON, as far as was seen
	block  int               // lines that may yet belong to a PEM block
	levels []level           // the objects and arrays that are open
	value  context           // of the string that is open
	open   openString        // whether one is
	prev   [contextSize]byte // the text before what is held
	seen   int               // how much of prev is filled
	mac    hash.Hash         // of a secret too long to hold
	buf    []byte            // held and the stretch
	out    []byte            // what is decided, without secrets
	copied int               // up to where buf is in out
	count  int               // placeholders written by this call
	plain  []byte            // scratch: a string without its escapes
	name   []byte            // of a member, as far as it came
	joined []byte            // scratch: a text with the byte before it
	places []int32           // scratch: where its bytes were
	quiet  int               // up to where in buf no secret begins
	raw    text              // scratch: buf, as it came
	part   text              // scratch: of it, what is taken apart
	ahead  *sights           // scratch: of buf, while it is taken apart
	sights sights            // scratch: of what else is looked at
}

// contextSize is how much of what was decided is looked back at: a name.
const contextSize = 64

// openString says what is done with a string whose end has not come.
type openString uint8

const (
	noString   openString = iota
	textString            // it is text
	nameString            // it is the name of a member
	lostString            // all of it is secret, or the rest
)

// blockLines bounds a PEM block in lines.
const blockLines = 200

// Stream returns a stream of frames; of lines of text if lines is set.
func (r *Redactor) Stream(lines bool) *Stream { return &Stream{r: r, lines: lines, report: r.report} }

// Held returns how many bytes were taken and not yet given out.
func (s *Stream) Held() int { return len(s.held) - s.given }

// Reset forgets the open frame.
func (s *Stream) Reset() {
	s.held, s.begun, s.levels, s.open, s.seen, s.mac = nil, false, s.levels[:0], noString, 0, nil
	s.letGo()
	s.given = 0
}

// Next takes the next bytes of a frame, and whether there are more of it to come. It
// returns those that are decided, without their secrets, and how many were replaced.
// What it returns may be the bytes it took; it is not used again by the stream.
func (s *Stream) Next(chunk []byte, more bool) ([]byte, int) {
	whole := !s.begun && !more && len(s.held)+len(s.clear) == 0
	s.quiet = 0
	if whole && s.block == 0 {
		quiet, clean := s.r.clean(s.rawText(), chunk, s.lines)
		if clean {
			return chunk, 0
		}
		s.quiet = quiet
	}
	s.buf, s.count, s.out = chunk, 0, nil
	if len(s.held) > 0 {
		s.buf = append(s.held, chunk...)
		s.held = nil
	}
	if !s.begun && !whole {
		if out, ok := s.glance(more); ok {
			return out, 0
		}
		s.takeApart()
	}
	return s.redact(whole, more)
}

// whole redacts a frame, or a line, that stands alone.
func (r *Redactor) whole(b []byte, lines bool) ([]byte, int) {
	quiet, clean := r.pooled(b, lines)
	if clean {
		return b, 0
	}
	s := Stream{r: r, lines: lines, report: r.report, buf: b, quiet: quiet}
	return s.redact(true, false)
}

// redact works through the buffer.
func (s *Stream) redact(whole, more bool) ([]byte, int) {
	if s.ahead != nil {
		s.ahead.anew()
	}
	s.copied = s.given
	decided := len(s.buf)
	if !s.begun {
		decided = s.begin(whole, !more)
	}
	if s.begun {
		decided = s.decide(!more)
	}
	out, n := s.take(decided), s.count
	if s.buf = nil; !more {
		s.Reset()
	}
	return out, n
}

// begin looks how the frame begins; blanks alone say nothing. Until it is known it
// returns how much may go already.
func (s *Stream) begin(whole, final bool) int {
	first := bytes.TrimLeft(s.buf, " \t\r\n")
	if len(first) == 0 && !whole {
		return len(s.buf)
	}
	json, known := false, true
	if !s.lines && len(first) > 0 {
		if json = first[0] == '{' || first[0] == '['; first[0] == '"' {
			json, known = bareString(first, final)
		}
	}
	if !known {
		return 0
	}
	s.begun, s.json = true, json
	s.levels = append(s.levels[:0], level{})
	return len(s.buf)
}

// bareString reports whether a frame that begins with a quote is a string of JSON, and
// nothing else: a line of a longer text, as in "password": "x", has more.
func bareString(b []byte, final bool) (is, known bool) {
	end := stringEnd(b, 1)
	if end < 0 {
		return !final, final || len(b) > holdLimit
	}
	rest := bytes.TrimLeft(b[end+1:], " \t\r\n")
	return len(rest) == 0, len(rest) > 0 || final || len(b) > holdLimit
}

// decide works through the buffer, and returns up to where all is decided.
func (s *Stream) decide(final bool) int {
	if s.block > 0 && !s.json {
		return s.blockLine(final)
	}
	if s.json {
		return s.lex(final)
	}
	if s.open == lostString {
		s.mac.Write(s.buf)
		if s.copied = len(s.buf); final {
			s.swallowed(len(s.buf))
		}
		return len(s.buf)
	}
	return s.textPiece(0, len(s.buf), final, context{}, false)
}

// blockLine redacts a line of a PEM block.
func (s *Stream) blockLine(final bool) int {
	if !final && len(s.buf) < holdLimit {
		return 0
	}
	line := bytes.TrimRight(s.buf, "\r")
	ended := bytes.Contains(line, []byte("-----END"))
	if len(line) > 0 && !isMask(line) {
		s.replace(0, len(line), "private-key", s.r.Mask(string(line)))
	}
	if s.block--; ended || !final {
		s.block = 0
	}
	return len(s.buf)
}

// replace puts a placeholder in the place of a stretch of the buffer.
func (s *Stream) replace(from, to int, rule, mask string) {
	if to <= s.given { // it went out before it was known
		return
	}
	s.out = append(append(s.out, s.buf[s.copied:max(s.copied, from)]...), mask...)
	s.copied = max(s.copied, to)
	s.count++
	if s.report != nil {
		s.report(Finding{Rule: rule, Path: s.path()})
	}
}

// take returns what is decided, and keeps the rest.
func (s *Stream) take(decided int) []byte {
	given := s.given
	if s.given = max(0, given-decided); decided < len(s.buf) {
		s.held = bytes.Clone(s.buf[decided:])
	}
	if s.copied == given && s.out == nil && s.count == 0 {
		return s.buf[min(given, decided):decided:decided]
	}
	if s.copied < decided {
		s.out = append(s.out, s.buf[s.copied:decided]...)
	}
	return s.out
}
