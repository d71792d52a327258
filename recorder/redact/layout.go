package redact

import "bytes"

// longestLayout bounds a value of several lines, and a cell of a table.
const longestLayout = 4 << 10

// laidOut is a value that stands in a block of YAML, behind '|' or '>', or in the next
// cell of a Markdown table; known: it may.
func (t *text) laidOut(a assignment) (v verdict, known bool) {
	if a.quoted || a.secrecy < textSecret || a.value >= len(t.b) {
		return no, false
	}
	switch c := t.b[a.value]; {
	case a.sep == ':' && (c == '|' || c == '>'):
		return t.blockScalar(a.value), true
	case a.sep == 0 && c == '|':
		return t.cell(a.value + 1), true
	}
	return no, false
}

// blockScalar is what is indented in the lines behind a place.
func (t *text) blockScalar(i int) verdict {
	i++
	i += classOfMarks.run(t.b, i)
	if i >= len(t.b) {
		if t.final {
			return no
		}
		return more
	}
	if t.raw && t.b[i] == '\\' {
		t.resume = i
		return hit
	}
	if t.b[i] != '\n' {
		return no
	}
	indent := blanks(t.b, i+1, false)
	from := i + 1 + indent
	to := from
	for indent > 0 && to < len(t.b) {
		n := bytes.IndexByte(t.b[to:], '\n')
		if n < 0 {
			to = len(t.b)
			break
		}
		if to += n; blanks(t.b, to+1, false) < indent {
			break
		}
		to++
	}
	if to+indent+1 >= len(t.b) && !t.final && to-from < longestLayout {
		return more
	}
	if v := t.b[from:to]; isTemplate(v) || holdsMask(v) {
		return no
	}
	return t.found("key", from, to)
}

// classOfMarks are what may follow the mark of a block.
var classOfMarks = classOf("-+0-9\r")

// cell is what the next cell of a table has, if no prose has it.
func (t *text) cell(i int) verdict {
	i += blanks(t.b, i, false)
	if i < len(t.b) && t.b[i] == '`' {
		i++
	}
	n := plain.near(t.b, i)
	if i+n == len(t.b) && !t.final {
		return more
	}
	v := t.escapedOn(i+n, i)
	if v != no {
		return v
	}
	if cell := t.b[i : i+n]; !looksRandom(cell, 8) && !isScrambled(cell) || isUUID(cell) || holdsMask(cell) {
		return no
	}
	if n = plain.all(t.b, i, n); i+n == len(t.b) && !t.final {
		return more
	}
	return t.found("key", i, i+n)
}

// told reports whether what stands in front of a name says that its value comes behind
// a blank: ENV of a Dockerfile, setx of Windows, login of a .netrc.
func (t *text) told(from, end int) bool {
	if last := t.before(from); last != ' ' && last != '\n' && last != '\t' {
		return false
	}
	if c := t.before(from - 1); (c == 'V' || c == 'x' || c == 'X') && (t.standsBefore(from, "ENV ") || t.standsBefore(from, "setx ") || t.standsBefore(from, "SETX ")) {
		return true
	}
	if end < len("password") || string(t.b[end-len("password"):end]) != "password" {
		return false
	}
	if t.raw { // lines end with escapes
		return bytes.Contains(t.b[max(0, from-contextSize):max(0, from)], []byte("login "))
	}
	i, ok := t.wordBefore(from)
	if !ok || !t.standsBefore(i, "login") {
		return false
	}
	i -= len("login")
	host, ok := t.wordBefore(i)
	return ok && t.standsBefore(host, "machine") || space[t.before(i)] && t.standsBefore(i-1, "default")
}

// wordBefore returns where the blanks begin that are in front of the word in front of
// a place.
func (t *text) wordBefore(at int) (i int, ok bool) {
	i = at
	for _, c := range []*class{space, plain, space} {
		k := i
		for i > at-contextSize && c[t.before(i)] {
			i--
		}
		if i == k {
			return at, false
		}
	}
	return i, true
}

var space = classOf(" \t\n\r")
