package redact

import "bytes"

// pairing looks whether a member, whose name ends at a place, names what another of its
// object has, or is that other.
func (s *Stream) pairing(l *level, c *context, name []byte, end int) {
	l.valued = false
	l.naming = isMember(nameMembers, name) && l.within.zone == anyZone
	if c.zone != anyZone || c.secrecy != noSecret || !isMember(valueMembers, name) {
		return
	}
	c.secrecy, l.valued = l.apart, l.paired
	if !l.paired && end >= s.given {
		c.secrecy = max(c.secrecy, s.nameAhead(end))
	}
	c.below = c.secrecy
}

// pairs takes the name that is the value of a member.
func (s *Stream) pairs(l *level, raw []byte) {
	l.paired, l.called = true, append(l.called[:0], raw[:min(len(raw), 96)]...)
	l.apart = max(l.apart, s.secrecyOfString(raw))
}

// secrecyOfString says what the text of a string promises, if it is a name.
func (s *Stream) secrecyOfString(raw []byte) secrecy {
	if bytes.IndexByte(raw, '\\') >= 0 || len(raw) > 96 || bytes.Count(raw, []byte(" ")) > 2 {
		return noSecret
	}
	return s.r.secrecyOf(raw)
}

// lists reports whether the strings of an array may be a command's words.
func (l *level) lists() bool {
	return l.array && l.within.zone == anyZone && l.within.secrecy == noSecret
}

// waits reports whether a string must be seen whole, of which so much came: a value of
// that kind; a name or a command's word that is short.
func (s *Stream) waits(l *level, came int) bool {
	switch {
	case l.key:
		return came < contextSize
	case came > holdLimit:
		return false
	}
	return l.naming || l.lists() && came < commandReach || s.coming().undivided()
}

// argument takes a string of an array for the next word of a command line, and reports
// whether it was a password.
func (s *Stream) argument(l *level, from, to int) bool {
	w := s.buf[from:to]
	part, secret := l.line.word(w)
	if !secret || bytes.IndexByte(w, '\\') >= 0 && part > 0 {
		return false
	}
	v := w
	if bytes.IndexByte(w, '\\') >= 0 {
		s.unescape(w)
		v = s.plain
	}
	s.replace(from+part, to, "command", s.r.Mask(string(v[part:])))
	return true
}

// nameAhead says what a name promises that comes behind the value whose own name ends at
// a place, as far as it is there.
func (s *Stream) nameAhead(end int) secrecy {
	b := s.buf
	i := end + blanks(b, end, true)
	if i >= len(b) || b[i] != ':' {
		return noSecret
	}
	i++
	i += blanks(b, i, true)
	if i = pastValue(b, i); i < 0 {
		return noSecret
	}
	i, v := memberAhead(b, i, nameMembers)
	if v != hit || i >= len(b) || b[i] != '"' {
		return noSecret
	}
	to := stringEnd(b, i+1)
	if to < 0 {
		return noSecret
	}
	return s.secrecyOfString(b[i+1 : to])
}
