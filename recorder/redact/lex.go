package redact

import (
	"bytes"
	"strconv"
	"strings"
)

// context is what is known of a value before it is seen.
type context struct {
	places  places
	zone    zone
	secrecy secrecy
	below   secrecy // of what an object calls its value
}

// undivided reports whether a string must be seen whole.
func (c context) undivided() bool { return c.secrecy != noSecret || c.zone == uriZone }

// level is an object or array that is open, or the text that holds them.
type level struct {
	object bool
	array  bool
	key    bool // a member's name comes next
	index  int  // of an array: the element that comes next
	within context
	member context     // of an object: what the name before says of the value
	name   []byte      // that name, for reports
	naming bool        // its value says what the object's value is of
	paired bool        // that came
	apart  secrecy     // and says this of it
	called []byte      // the name
	valued bool        // the member that was named last is the value
	line   commandLine // of an array: its strings may be a command's words
}

func (s *Stream) top() *level { return &s.levels[len(s.levels)-1] }

// lex works through JSON.
func (s *Stream) lex(final bool) int {
	i := 0
	if s.open != noString {
		if i = s.string(0, final); s.open != noString {
			return i
		}
	}
	for i < len(s.buf) {
		switch c := s.buf[i]; c {
		case '"':
			next, whole := s.quoted(i, final)
			if !whole {
				return next
			}
			i = next
			continue
		case '{', '[':
			s.push(c == '{')
		case '}', ']':
			if len(s.levels) > 1 {
				s.levels = s.levels[:len(s.levels)-1]
			}
		case ',':
			l := s.top()
			l.key = l.object
			l.index++
		case ' ', '\t', '\n', '\r', ':':
		default:
			next, whole := s.scalar(i, final)
			if !whole {
				return i
			}
			if i = next; !s.json {
				return s.textPiece(i, len(s.buf), final, context{}, false)
			}
			continue
		}
		i++
	}
	return i
}

// maxLevels bounds what is remembered of deep nesting; what is deeper is as what is
// around it.
const maxLevels = 10000

func (s *Stream) push(object bool) {
	if len(s.levels) >= maxLevels {
		s.levels = append(s.levels, level{object: object, key: object, within: s.top().within})[:maxLevels]
		return
	}
	c, apart := s.coming(), noSecret
	if object && c.secrecy < treeSecret {
		c.secrecy, apart, c.below = noSecret, c.below, noSecret
	}
	s.levels = append(s.levels, level{object: object, array: !object, key: object, within: c, apart: apart})
}

// coming returns the context of the value that comes next.
func (s *Stream) coming() context {
	l := s.top()
	switch {
	case len(s.levels) == 1:
		return context{places: places{named: s.r.root}}
	case l.object:
		return l.member
	}
	c := l.within
	if len(s.levels) == 2 { // a batch
		c.places = places{named: s.r.root}
	} else if !c.places.none() {
		var room [20]byte
		c = s.enter(c, strconv.AppendInt(room[:0], int64(l.index), 10))
	}
	return c
}

// enter adds what the tree says of a member.
func (s *Stream) enter(c context, name []byte) context {
	c.places = c.places.member(name)
	z, whole := c.places.zone()
	if c.zone = max(c.zone, z); whole {
		c.secrecy = wholeSecret
	}
	return c
}

// named takes the name of a member, which ends at a place; of one that is open nothing
// is secret by its name.
func (s *Stream) named(raw []byte, end int, open bool) {
	name := raw
	if bytes.IndexByte(raw, '\\') >= 0 {
		s.unescape(raw)
		name = s.plain
	}
	l := s.top()
	l.key = false
	c := s.enter(l.within, name)
	if schemaNames[string(name)] {
		c.zone = max(c.zone, keyless)
	}
	if bytes.HasPrefix(name, []byte(metaPrefix)) || string(name) == "progressToken" {
		c.zone = immuneZone
	}
	if open && c.zone == anyZone && c.secrecy < treeSecret {
		c.secrecy = noSecret
	} else if c.zone == anyZone && c.secrecy < treeSecret {
		c.secrecy = s.r.secrecyOf(name)
	} else if c.zone != anyZone && c.secrecy < wholeSecret {
		c.secrecy = noSecret
	}
	if c.zone == immuneZone {
		c.secrecy = noSecret
	}
	if c.below = noSecret; c.secrecy != noSecret && c.secrecy < treeSecret {
		c.below = objectSecrecy(c.secrecy, name)
	}
	s.pairing(l, &c, name, end)
	l.member = c
	if s.report != nil {
		l.name = append(l.name[:0], name...)
	}
}

// quoted takes a string; whole: up to its end. Otherwise it returns up to where it is
// decided.
func (s *Stream) quoted(i int, final bool) (next int, whole bool) {
	l := s.top()
	end := stringEnd(s.buf, i+1)
	if end < 0 && !final && s.waits(l, len(s.buf)-i) {
		return i, false
	}
	s.seen = 0
	if l.key {
		s.value, s.open, s.name = context{}, nameString, s.name[:0]
		if z := l.within.zone; z == immuneZone || z == keyless || end >= 0 && l.within.places.have(s.buf[i+1:end]) {
			s.value.zone = immuneZone
		}
		next = s.string(i+1, final)
		return next, s.open == noString
	}
	s.value, s.open = s.coming(), textString
	if l.object && l.naming && end >= 0 {
		s.pairs(l, s.buf[i+1:end])
	}
	if l.lists() && end >= 0 && s.argument(l, i+1, end) {
		s.open = noString
		return end + 1, true
	}
	if l.valued && end >= 0 && sameName(l.called, s.buf[i+1:end]) {
		s.value.secrecy = noSecret
	}
	if s.value.secrecy != noSecret {
		if end < 0 && !final {
			s.unescape(s.buf[i+1:])
			return s.swallow(s.plain, i+1, i+1+int(s.places[len(s.places)-1])), false
		}
		last := end
		if last < 0 {
			last = len(s.buf)
		}
		if s.secret(i+1, last) {
			s.open = noString
			return min(last+1, len(s.buf)), true
		}
	}
	next = s.string(i+1, final)
	return next, s.open == noString
}

// maxName bounds a name that is read in stretches.
const maxName = 4 << 10

// string goes on with the open string, and returns up to where it is decided; open
// says whether its end came.
func (s *Stream) string(from int, final bool) int {
	end := stringEnd(s.buf, from)
	last, ended := end, end >= 0 || final
	if end < 0 {
		last = len(s.buf)
	}
	if s.open == lostString {
		s.unescape(s.buf[from:last])
		s.mac.Write(s.plain)
		if !ended {
			s.copied = from + int(s.places[len(s.places)-1])
			return s.copied
		}
		s.swallowed(last)
	} else {
		naming := s.open == nameString
		decided := s.textPiece(from, last, ended, s.value, true)
		if naming && len(s.name) < maxName {
			s.name = append(s.name, s.buf[from:decided]...)
		}
		if !ended {
			return decided
		}
		if naming {
			s.named(s.name, last+1, last < s.quiet && !s.r.always)
		}
	}
	s.open = noString
	return min(last+1, len(s.buf))
}

// secret replaces a string that its name says is secret, and reports whether it did.
func (s *Stream) secret(from, to int) bool {
	raw := s.buf[from:to]
	v, place := raw, func(i int) int { return from + i }
	if bytes.IndexByte(raw, '\\') >= 0 {
		s.unescape(raw)
		v, place = s.plain, func(i int) int { return from + int(s.places[i]) }
	}
	first, last, ok := secretIn(s.value.secrecy, v)
	if !ok || s.value.secrecy < wholeSecret && s.value.zone == uriZone {
		return false
	}
	s.replace(place(first), place(last), "key", s.r.Mask(string(v[first:last])))
	return true
}

// stringEnd returns where the string that begins at i ends: at its quote; -1: not in b.
func stringEnd(b []byte, i int) int {
	for j := i; ; j++ {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return -1
		}
		j += n
		k := 0
		for j-k > i && b[j-k-1] == '\\' {
			k++
		}
		if k%2 == 0 {
			return j
		}
	}
}

// delimiter ends a number or a word.
var delimiter = classOf(",]} \t\r\n\"{[:")

// scalar takes a number, or a word. A word that JSON has not, as in "[INFO] token=",
// says that all from there on is text.
func (s *Stream) scalar(i int, final bool) (next int, whole bool) {
	end := i
	for end < len(s.buf) && !delimiter[s.buf[end]] {
		end++
	}
	if end == i {
		end++
	}
	c := s.coming()
	limit := maxScalar
	if c.secrecy != noSecret {
		limit = holdLimit
	}
	if end == len(s.buf) && !final && end-i < limit {
		return i, false
	}
	v := s.buf[i:end]
	known := isScalar(v)
	if secret := c.secrecy != noSecret && s.scalarSecret(c.secrecy, v, known); secret {
		s.replace(i, end, "key", `"`+s.r.Mask(string(v))+`"`)
	} else if !known {
		end = i
	}
	if !known {
		s.json, s.seen = false, 0
	}
	return end, true
}

// maxScalar is longer than numbers are, and words of JSON.
const maxScalar = 64

// scalarSecret reports whether a number or a word is secret by its name.
func (s *Stream) scalarSecret(by secrecy, v []byte, known bool) bool {
	if !known {
		from, _, ok := secretIn(by, v)
		return ok && from == 0
	}
	number := numberLength(v) == len(v) && numberIsSecret(by, v)
	return number || by == wholeSecret && string(v) != "null"
}

// scalars are the words of JSON, and those that programs take for such.
var scalars = setOf("true false null NaN Infinity -Infinity")

// isScalar reports whether a word may stand in JSON, or in what programs write for it,
// as the => of Ruby.
func isScalar(v []byte) bool {
	return alnum.first(v) < 0 || numberLength(v) == len(v) || scalars[string(v)]
}

// path returns the JSON pointer of the value that is looked at.
func (s *Stream) path() string {
	if !s.json {
		return ""
	}
	var b strings.Builder
	for _, l := range s.levels[min(1, len(s.levels)):] {
		part := strconv.Itoa(l.index)
		if l.object {
			part = strings.ReplaceAll(strings.ReplaceAll(string(l.name), "~", "~0"), "/", "~1")
		}
		b.WriteString("/" + part)
	}
	return b.String()
}
