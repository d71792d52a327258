package redact

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ahead is how much of a text is taken apart at once where a secret may begin, and
// behind how much in front of it.
const (
	ahead  = 1 << 10
	behind = 2 * contextSize
)

// textPiece redacts a stretch of text in the buffer, of a JSON string or of a line,
// and returns up to where it is decided. Where nothing looks like a secret it is not
// taken apart.
func (s *Stream) textPiece(from, to int, final bool, c context, quoted bool) int {
	if c.zone == immuneZone {
		return to
	}
	for size := ahead; ; size *= 2 {
		from = s.pass(from, to, final)
		end := to
		if len(s.r.patterns) == 0 {
			end = min(to, from+size)
		}
		next := s.piece(from, end, final, end < to, c.zone == uriZone, quoted)
		if end == to {
			return next
		}
		if next > from {
			from, size = next, ahead/2
		}
	}
}

// pass passes on what of a stretch has nothing that looks like a secret, and returns
// where that ends.
func (s *Stream) pass(from, to int, final bool) int {
	if len(s.r.patterns) > 0 || from == 0 && s.seen > 0 && s.r.finder.begin(s.prev[s.seen-1]) {
		return from
	}
	if from >= s.quiet {
		s.lookOn(from)
	}
	at := min(to, s.quiet)
	if at < to {
		at -= behind
	}
	if at <= from {
		return from
	}
	if at < to || !final {
		raw := s.buf[from:to]
		at = from + escapeStart(raw, min(at-from, len(raw)-cutEscape(raw)))
	}
	s.remember(s.buf[from:at])
	return at
}

// lookOn looks for the next place in the buffer at which a secret may begin.
func (s *Stream) lookOn(from int) {
	t := &s.raw
	if s.ahead == nil {
		s.ahead = new(sights)
	}
	*t = text{b: s.buf, start: from, raw: true, r: s.r, spans: t.spans[:0], sights: s.ahead}
	if from == 0 {
		t.prev = s.prev[:s.seen]
	} else if s.buf[from-1] == '"' { // with which the literals of short names begin
		t.start--
	}
	s.quiet = t.scan()
}

// piece takes a stretch of text apart, and returns up to where it is decided. cut says
// that more of it is in the buffer. When what cannot be decided is too long to hold,
// the rest of the string is secret.
func (s *Stream) piece(from, to int, final, cut, uri, quoted bool) int {
	raw := s.buf[from:to]
	t := &s.part
	*t = text{b: raw, prev: s.prev[:s.seen], final: final && !cut, uri: uri, r: s.r, spans: t.spans[:0], sights: s.sights.anew()}
	place := func(i int) int { return from + i - t.lead }
	if quoted && bytes.IndexByte(raw, '\\') >= 0 {
		s.unescape(raw)
		t.b = s.plain
		place = func(i int) int { return from + int(s.places[i-t.lead]) }
	}
	s.rejoin(t)
	decided := t.scan()
	for _, sp := range t.spans {
		s.span(t, sp, place, quoted)
	}
	if t.block && !s.json {
		s.block = blockLines
	}
	if cut && decided == len(t.b) && decided > max(t.resume, t.lead) && s.r.finder.begin(t.b[decided-1]) {
		decided-- // it is seen together with what comes next
	}
	s.remember(t.b[t.lead:decided])
	if !final && !cut && to-place(decided) > holdLimit {
		return s.swallow(t.b[decided:], place(decided), place(len(t.b)))
	}
	return place(decided)
}

// rejoin puts the byte before a text in front of it, if that may begin a literal.
func (s *Stream) rejoin(t *text) {
	if s.seen == 0 {
		return
	}
	last := s.prev[s.seen-1]
	if s.r.finder.begin(last) {
		s.joined = append(append(s.joined[:0], last), t.b...)
		t.b = s.joined
		t.prev, t.lead = s.prev[:s.seen-1], 1
	}
}

// span replaces a secret of a text.
func (s *Stream) span(t *text, sp span, place func(int) int, quoted bool) {
	secret := sp.secret
	if secret == "" {
		secret = string(t.b[sp.from:sp.to])
	}
	mask := s.r.Mask(secret)
	if sp.quote != "" {
		quote := sp.quote
		if quoted { // the string is JSON's
			quote = string(bytes.ReplaceAll(bytes.ReplaceAll([]byte(quote), []byte(`\`), []byte(`\\`)), []byte(`"`), []byte(`\"`)))
		}
		mask = quote + mask + quote
	}
	s.replace(place(sp.from), place(sp.to), sp.rule, mask)
}

// remember keeps the end of what was decided, to look back at.
func (s *Stream) remember(b []byte) {
	if len(b) >= contextSize {
		s.seen = copy(s.prev[:], b[len(b)-contextSize:])
		return
	}
	kept := min(s.seen, contextSize-len(b))
	copy(s.prev[:], s.prev[s.seen-kept:s.seen])
	s.seen = kept + copy(s.prev[kept:], b)
}

// swallow makes a secret of the rest of the open string, of which what has come so far
// ends at to.
func (s *Stream) swallow(begun []byte, from, to int) int {
	s.out = append(s.out, s.buf[s.copied:max(s.copied, from)]...)
	s.copied = max(s.copied, to)
	s.mac = s.r.mac()
	s.mac.Write(begun)
	s.open = lostString
	return to
}

// swallowed ends it.
func (s *Stream) swallowed(at int) {
	s.copied = at
	s.out = append(s.out, sumMask(s.mac)...)
	s.count++
	s.mac = nil
	if s.report != nil {
		s.report(Finding{Rule: "long", Path: s.path()})
	}
}

// cutEscape returns how many bytes at the end of a JSON string's stretch are the
// beginning of an escape.
func cutEscape(b []byte) (size int) {
	for n := 1; n <= 12 && n <= len(b); n++ {
		if b[len(b)-n] != '\\' {
			continue
		}
		k := n
		for k < len(b) && b[len(b)-k-1] == '\\' {
			k++
		}
		if (k-n)%2 != 0 { // it is the second of a pair
			continue
		}
		if escapeSize(b[len(b)-n:]) == 0 {
			size = n // the first half of a pair may stand in front of it
		}
	}
	return size
}

// escapeStart returns where the escape begins that a place is within; else the place.
func escapeStart(b []byte, at int) int {
	for n := 1; n < 12 && n <= at; n++ {
		if b[at-n] != '\\' {
			continue
		}
		k := n
		for k < at && b[at-k-1] == '\\' {
			k++
		}
		if size := escapeSize(b[at-n:]); (k-n)%2 == 0 && (size == 0 || size > n) {
			return at - n
		}
	}
	return at
}

// escapeSize returns the length of the escape that b begins with, of both halves of a
// UTF-16 pair; 0: it is not whole.
func escapeSize(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < 6:
		return 0
	}
	if high := hexRune(b[2:6]); high < 0xd800 || high >= 0xdc00 {
		return 6
	}
	switch next := b[6:]; {
	case !bytes.HasPrefix(next, []byte(`\u`)[:min(len(next), 2)]):
		return 6
	case len(next) < 6:
		return 0
	case utf16.IsSurrogate(hexRune(next[2:6])):
		return 12
	}
	return 6
}

func hexRune(b []byte) rune {
	n, err := strconv.ParseUint(string(b), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// unescape puts a JSON string's text into s.plain, and into s.places where each byte
// of it begins in raw. The beginning of an escape at the end is left out.
func (s *Stream) unescape(raw []byte) {
	s.plain, s.places = s.plain[:0], s.places[:0]
	end := len(raw) - cutEscape(raw)
	for i := 0; i < end; {
		from, n := len(s.plain), 0
		if raw[i] == '\\' {
			n = min(s.escape(raw[i:end]), end-i)
			for range len(s.plain) - from {
				s.places = append(s.places, int32(i))
			}
			i += n
			continue
		}
		if n = bytes.IndexByte(raw[i:end], '\\'); n < 0 {
			n = end - i
		}
		s.plain = append(s.plain, raw[i:i+n]...)
		s.places = slices.Grow(s.places, n)[:from+n]
		for k := range n {
			s.places[from+k] = int32(i + k)
		}
		i += n
	}
	s.places = append(s.places, int32(end))
}

// escape appends what an escape stands for, and returns its length.
func (s *Stream) escape(b []byte) int {
	if len(b) < 2 {
		s.plain = append(s.plain, b...)
		return len(b)
	}
	switch c := b[1]; c {
	case 'n':
		s.plain = append(s.plain, '\n')
	case 't':
		s.plain = append(s.plain, '\t')
	case 'r':
		s.plain = append(s.plain, '\r')
	case 'b', 'f':
		s.plain = append(s.plain, ' ')
	case 'u':
		return s.unicode(b)
	default:
		s.plain = append(s.plain, c)
	}
	return 2
}

func (s *Stream) unicode(b []byte) int {
	if len(b) < 6 {
		s.plain = append(s.plain, b...)
		return len(b)
	}
	r := hexRune(b[2:6])
	if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(b[8:12])); pair != utf8.RuneError {
			s.plain = utf8.AppendRune(s.plain, pair)
			return 12
		}
	}
	s.plain = utf8.AppendRune(s.plain, r)
	return 6
}
