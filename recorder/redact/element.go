package redact

import "bytes"

// longestElement bounds the text of an element that is a secret.
const longestElement = 512

// cdata begins text in XML that is as it stands.
const cdata = "<![CDATA["

// closingEscape is > as encoders for the web have it, folded.
var closingEscape = folded(`\u003e`)

// element is the text of <password> and the like, up to where that is closed.
func (t *text) element(from, end int) verdict {
	opened := t.before(from) == '<' || t.before(from-1) == '3' && t.before(from-5) == '\\' // as text, or its escape
	if !opened && !t.raw {
		return no
	}
	if t.raw { // the brackets may be escapes
		t.resume = end
		return hit
	}
	var room [96]byte
	name := room[:0]
	for i := from; i < end && len(name) < cap(name); i++ {
		name = append(name, t.before(i+1))
	}
	s := t.r.secrecyOf(name)
	if s < textSecret {
		return no
	}
	rest := t.b[end+1:]
	skip := 0
	if bytes.HasPrefix(rest, []byte(cdata)) {
		skip = len(cdata)
	} else if !t.final && bytes.HasPrefix([]byte(cdata), rest) {
		return more
	}
	rest = rest[skip:]
	n := bytes.IndexByte(rest[:min(len(rest), longestElement)], '<')
	if n < 0 && len(rest) >= longestElement {
		return no
	}
	if n < 0 || len(rest) < n+len("</>")+len(name) {
		if t.final {
			return no
		}
		return more
	}
	if closes := rest[n:]; closes[1] != '/' || !bytes.Equal(closes[2:2+len(name)], name) || closes[2+len(name)] != '>' {
		return no
	}
	v := rest[:n]
	if skip > 0 {
		v = bytes.TrimSuffix(v, []byte("]]>"))
	}
	lines := lineStart(v)
	v, skip = trimEnd(v[lines:]), skip+lines
	if _, _, ok := secretIn(s, v); !ok || s < hardSecret && !looksRandom(v, 8) {
		return no
	}
	return t.found("key", end+1+skip, end+1+skip+len(v))
}

// elementAt returns where the name of an element begins that ends at end; ok: one does.
func (t *text) elementAt(at, end int) (from int, ok bool) {
	if end >= len(t.b) || t.b[end] != '>' && !(t.raw && hasFolded(t.b[end:], closingEscape)) {
		return 0, false
	}
	for from = at; from > at-contextSize && naming[t.before(from)]; {
		from--
	}
	return from + t.escapeBefore(from), true
}

// lineStart returns how much in front of a text are blanks and the ends of lines, or
// their escapes.
func lineStart(b []byte) int {
	for i := 0; ; {
		n := space.run(b, i)
		if k := i + backslash.run(b, i); n == 0 && k > i && k < len(b) && lineEscape[b[k]] {
			n = k + 1 - i
		}
		if n == 0 {
			return i
		}
		i += n
	}
}

// trimEnd returns a text without those behind it.
func trimEnd(b []byte) []byte {
	for {
		v := bytes.TrimRight(b, " \t\r\n")
		if n := len(v); n > 1 && lineEscape[v[n-1]] && v[n-2] == '\\' {
			v = bytes.TrimRight(v[:n-1], `\`)
		}
		if len(v) == len(b) {
			return b
		}
		b = v
	}
}

var (
	backslash  = classOf(`\`)
	lineEscape = classOf("nrt")
)
