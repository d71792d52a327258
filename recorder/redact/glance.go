package redact

import (
	"bytes"
	"slices"
)

// Most frames have no secret, and show it without being taken apart: nothing in them
// begins one. What is true of the whole is true of its stretches, as they come; they
// are kept, in case that one has what must be taken apart with all before it.

// clearLimit is how much of a frame is kept that was given out without being taken
// apart. What is longer is taken apart from there on.
const clearLimit = 256 << 10

// seam is how much of a stretch is looked at together with the byte before it.
const seam = 256

// clean reports whether a frame has no secret, as far as a look without taking it
// apart can tell; else up to where there is none.
func (r *Redactor) clean(t *text, b []byte, lines bool) (quiet int, clean bool) {
	if r.always && !lines {
		return 0, false
	}
	if len(r.patterns) > 0 && (bytes.IndexByte(b, '\\') >= 0 || r.anyPattern(b)) {
		return 0, false
	}
	quiet, clean = r.glance(t, b, nil, true)
	if !clean && t.needless && !lines && isComposed(b) {
		_, clean = r.glance(t, t.unescape(b), nil, true)
	}
	return quiet, clean
}

func (r *Redactor) anyPattern(b []byte) bool {
	for _, p := range r.patterns {
		if p.Match(b) {
			return true
		}
	}
	return false
}

// pooled is clean of a frame that no stream has.
func (r *Redactor) pooled(b []byte, lines bool) (quiet int, clean bool) {
	t, _ := r.looks.Get().(*text)
	if t == nil {
		t = &text{sights: new(sights)}
	}
	defer r.looks.Put(t)
	return r.clean(t, b, lines)
}

// glance looks at a stretch as it stands there, and returns up to where there is no
// secret; clear: that none begins there, as far as it came. The memory is t's.
func (r *Redactor) glance(t *text, b, prev []byte, final bool) (decided int, clear bool) {
	// One by one: to clear all of it at once costs as much as to look at a small frame.
	t.b, t.prev, t.start, t.lead, t.final, t.raw, t.uri, t.r = b, prev, 0, 0, final, true, false, r
	t.spans, t.resume, t.block, t.needless = t.spans[:0], 0, false, false
	t.sights.anew()
	decided = t.scan()
	t.b, t.prev = nil, nil
	return decided, t.resume == 0
}

// rawText is the stream's text for what is looked at as it came.
func (s *Stream) rawText() *text {
	s.raw.sights = &s.sights
	return &s.raw
}

// glance looks at the buffer, which goes on with what is clear, and returns what of it
// is; ok: that it need not be taken apart.
func (s *Stream) glance(more bool) (out []byte, ok bool) {
	if s.lines || s.block > 0 || s.given > 0 || s.r.always || len(s.r.patterns) > 0 || len(s.clear)+len(s.buf) > clearLimit {
		return nil, false
	}
	prev := s.clear[max(0, len(s.clear)-contextSize):]
	decided, clear := s.r.glance(s.rawText(), s.buf, prev, !more)
	if !s.seamless(prev, !more) {
		return nil, false
	}
	if !clear || len(s.buf)-decided > holdLimit {
		s.quiet = decided
		return nil, false
	}
	if more { // of an escape all is given out or nothing: what it hides may begin a secret
		decided = min(decided, len(s.buf)-cutEscape(s.buf))
	}
	out = s.buf[:decided:decided]
	if more {
		s.keep(out)
		s.held = bytes.Clone(s.buf[decided:])
	} else {
		s.Reset()
	}
	s.buf = nil
	return out, true
}

// keep keeps what is given out. The memory is shared by the streams: those of HTTP last
// for one body.
func (s *Stream) keep(out []byte) {
	if s.clear == nil {
		if b, _ := s.r.clears.Get().(*[]byte); b != nil {
			s.clear = *b
		}
	}
	s.clear = append(s.clear, out...)
}

// letGo gives the memory back.
func (s *Stream) letGo() {
	if s.clear != nil {
		b := s.clear[:0]
		s.r.clears.Put(&b)
		s.clear = nil
	}
}

// seamless reports whether no literal begins with the byte before the buffer.
func (s *Stream) seamless(prev []byte, final bool) bool {
	if len(prev) == 0 || !s.r.finder.begin(prev[len(prev)-1]) {
		return true
	}
	n := min(len(s.buf), seam)
	s.joined = append(append(s.joined[:0], prev[len(prev)-1]), s.buf[:n]...)
	decided, clear := s.r.glance(s.rawText(), s.joined, prev[:len(prev)-1], final && n == len(s.buf))
	return clear && decided > 0
}

// takeApart has the frame taken apart from its beginning: what was given out is put in
// front of the buffer.
func (s *Stream) takeApart() {
	if len(s.clear) == 0 {
		return
	}
	s.given = len(s.clear)
	s.quiet += s.given
	s.buf = slices.Concat(s.clear, s.buf) // what is clear is written over by the next frame
	s.letGo()
}
