package redact

import "bytes"

// assignedWithin is assigned of a name that begins behind the literal's first byte.
func assignedWithin(t *text, at int) verdict { return assigned(t, at+1) }

// assigned looks for a secret that a name promises.
func assigned(t *text, at int) verdict {
	if t.ofProgress(at) {
		return no
	}
	n := t.name(at)
	if n < 0 {
		return no
	}
	end := at + n
	if end < len(t.b) && endsName[t.b[end]] && !t.uri {
		if v := t.apart(at, end); v != no {
			return v
		}
	}
	if end < len(t.b) && !afterName[t.b[end]] { // most are words of a sentence
		return no
	}
	if from, ok := t.elementAt(at, end); ok && !t.uri {
		return t.element(from, end)
	}
	if !t.mayAssign(at, end) {
		return no
	}
	if t.raw && end+1 < len(t.b) && t.b[end] == '\\' && t.b[end+1] == 'u' && (!t.final || hasFolded(t.b[end:], escapeText)) {
		t.resume = at + 1 // a quote, it may be, or a colour: it must be taken apart
		return hit
	}
	var room [96]byte
	a, v := t.assignment(room[:0], at)
	if a.odd && t.raw {
		t.resume = at + 1 // what it promises is known of the whole
		return hit
	}
	if v != hit {
		return v
	}
	if t.uri && !a.query {
		return no
	}
	return t.given(a)
}

// given looks whether what a name is given is a secret.
func (t *text) given(a assignment) verdict {
	if t.unclear(a.value) {
		return more
	}
	q := quoteAt(t.b, a.value)
	switch {
	case q > 0 && a.value+q < len(t.b):
		return t.quotedValue(a, q)
	case q > 0 && !t.final:
		return more
	case a.value < len(t.b) && (t.b[a.value] == '[' || t.b[a.value] == '{') && a.quoted:
		return t.listed(a)
	}
	if v, known := t.laidOut(a); known {
		return v
	}
	return t.bareValue(a)
}

// ofProgress reports whether a progress token's name stands around a place: most
// requests have one, and it is no secret.
func (t *text) ofProgress(at int) bool {
	const before, after = "progress", `Token"`
	return at >= len(before) && len(t.b)-at >= len(after) && string(t.b[at-len(before):at]) == before &&
		string(t.b[at:at+len(after)]) == after && len(t.r.globs) == 0
}

// afterName are the bytes that may follow a name: of an element, or of what is assigned.
var afterName = classOf(">\"'`\\:=*\t\x1b ?|+")

// endsName are the bytes that may follow a name that is the value of another.
var endsName = classOf("\"'`\\,\n\r")

// mayAssign is a quick look at what follows a name, which ends at i.
func (t *text) mayAssign(at, i int) bool {
	if i >= len(t.b) {
		return !t.final
	}
	switch c := t.b[i]; c {
	case '"', '\'', '`', '\\', ':', '=', '\t', '\x1b', '*':
		return true
	case '?', '|', '+':
		return operator(t.b, i) > 0 || t.unclearOperator(i)
	case ' ':
		return i+1 >= len(t.b) || t.b[i+1] < 'a' || t.b[i+1] > 'z' || t.longWord(i+1) || t.typed(i+1) != 0 || t.isFlag(at) || t.told(t.wholeName(at, i, 0), i)
	}
	return false
}

// isFlag reports whether the name around a place is a command line's: --name.
func (t *text) isFlag(at int) bool {
	for at--; at > -contextSize && naming[t.before(at+1)]; at-- {
		if t.before(at+1) == '-' && t.before(at) == '-' {
			return true
		}
	}
	return false
}

// longWord reports whether what stands at a place is, or may become, longer than the
// words of a language.
func (t *text) longWord(i int) bool {
	n := plain.run(t.b[:min(len(t.b), i+12)], i)
	return n == 12 || i+n == len(t.b) && !t.final
}

// someBlanks is how many stand in front of an = so that it stands below another.
const someBlanks = 24

// blanks returns how many blanks stand at a place: any number around a quoted name's
// colon, else some.
func blanks(b []byte, i int, any bool) int {
	n := 0
	for i+n < len(b) && (n < someBlanks || any) && (b[i+n] == ' ' || b[i+n] == '\t' || any && (b[i+n] == '\n' || b[i+n] == '\r')) {
		n++
	}
	return n
}

// quoteAt returns the length of the quote at a place, with the backslashes before it
// that JSON within strings has; 0: there is none.
func quoteAt(b []byte, i int) int {
	n := 0
	for i+n < len(b) && n < 32 && b[i+n] == '\\' {
		n++
	}
	if i+n < len(b) && (b[i+n] == '"' || n == 0 && (b[i] == '\'' || b[i] == '`')) {
		return n + 1
	}
	return 0
}

// unclear reports whether what comes next says if a quote stands at a place.
func (t *text) unclear(i int) bool {
	return !t.final && len(bytes.Trim(t.b[i:], `\`)) == 0
}

// closing returns where what a quote of length q opens ends, which begins at i; -1: not
// in b.
func closing(b []byte, i, q int) int {
	c, lead := b[i-1], q-1
	for j := i; ; j++ {
		n := bytes.IndexByte(b[j:], c)
		if n < 0 {
			return -1
		}
		j += n
		k := 0
		for j-k > i && b[j-k-1] == '\\' {
			k++
		}
		if k < lead { // a quote around this one ends first
			return j - k
		}
		if (k-lead)%(2*q) == 0 {
			return j - lead
		}
	}
}

// quotedValue is a value in quotes.
func (t *text) quotedValue(a assignment, q int) verdict {
	from := a.value + q
	to := closing(t.b, from, q)
	if to < 0 {
		if !t.final {
			return more
		}
		to = len(t.b)
	}
	v := t.b[from:to]
	if !a.quoted && a.secrecy < wholeSecret && (len(v) < 4 || len(v) > 512 || bytes.IndexByte(v, '\n') >= 0) {
		return no
	}
	if a.sep == 0 && (!looksRandom(v, 16) || isUUID(v)) || a.sep == ',' && !looksRandom(v, 8) && !isScrambled(v) {
		return no
	}
	if !a.quoted && !a.tight && a.secrecy < hardSecret && !looksRandom(v, 8) && len(v) < 16 && !isScrambled(v) {
		return no
	}
	first, last, ok := secretIn(a.secrecy, v)
	if !ok {
		return no
	}
	return t.found("key", from+first, from+last)
}

// listed is a list of values, as JSON has it, or an object.
func (t *text) listed(a assignment) verdict {
	if t.b[a.value] == '{' {
		if t.raw && a.secrecy >= treeSecret {
			t.resume = a.value
			return hit
		}
		return t.valueWithin(a)
	}
	if t.raw {
		t.resume = a.value
		return hit
	}
	count := len(t.spans)
	for i, v := a.value+1, hit; ; {
		i += blanks(t.b, i, true)
		if i, v = t.listedItem(a, i); v == more && !t.final {
			t.spans = t.spans[:count]
			return more
		}
		// A quote around the list may have ended it, with fewer bytes than this one's.
		if i = min(i, len(t.b)); i < len(t.b) && t.b[i] == ',' {
			i++
		}
		if v != hit {
			break
		}
	}
	if len(t.spans) > count {
		return hit
	}
	return no
}

// listedItem takes what a list has at a place, and returns where that ends: a string, or
// an object; no: it is neither.
func (t *text) listedItem(a assignment, i int) (end int, v verdict) {
	if i < len(t.b) && t.b[i] == '{' {
		return t.listedObject(a, i)
	}
	if t.unclear(i) {
		return i, more
	}
	q := quoteAt(t.b, i)
	if q == 0 {
		return i, no
	}
	to := closing(t.b, i+q, q)
	if to < 0 {
		return i, more
	}
	if first, last, ok := secretIn(a.secrecy, t.b[i+q:to]); ok {
		t.found("key", i+q+first, i+q+last)
	}
	return to + q, hit
}

// schemes stand in front of credentials.
var schemes = setOf("bearer basic token digest apikey negotiate ntlm bot ssws")

// bareValue is a value without quotes.
func (t *text) bareValue(a assignment) verdict {
	from := a.value
	n := plain.near(t.b, from)
	cookie := a.sep == ':' && bytes.EqualFold(a.name[max(0, len(a.name)-6):], []byte("cookie"))
	if cookie {
		n = lineEnd(t.b[:min(len(t.b), from+nearby)], from)
	}
	if from+n == len(t.b) && !t.final {
		return more
	}
	if v := t.escapedOn(from+n, from); v != no {
		return v
	}
	v := t.b[from : from+n]
	if schemes[string(bytes.ToLower(v))] && from+n < len(t.b) && t.b[from+n] == ' ' {
		from += n + 1
		n = plain.near(t.b, from)
		if from+n == len(t.b) && !t.final {
			return more
		}
		v, a.tight = t.b[from:from+n], false
	}
	if v = bytes.TrimRight(v, ".:"); len(v) == 0 || isTemplate(v) {
		return no
	}
	if number := numberLength(v); a.quoted {
		if number != len(v) || !numberIsSecret(a.secrecy, v) {
			return no
		}
		return t.add(span{from: from, to: from + len(v), rule: "key", quote: string(t.b[a.opens : a.opens+a.marks])})
	}
	a.ends = from+n == len(t.b) || endsLine[t.b[from+n]]
	if !a.accepts(v) && !(cookie && bytes.IndexByte(v, '=') > 0 && !holdsMask(v)) {
		return no
	}
	if n < nearby {
		return t.found("key", from, from+len(v))
	}
	return t.longValue(from, n, cookie)
}

// longValue is a value of which no more was seen than the beginning.
func (t *text) longValue(from, n int, cookie bool) verdict {
	if n = plain.all(t.b, from, n); cookie {
		n = lineEnd(t.b, from)
	}
	if from+n == len(t.b) && !t.final {
		return more
	}
	if v := t.escapedOn(from+n, from); v != no {
		return v
	}
	return t.found("key", from, from+n)
}

// endsLine are the bytes at the end of a line, or of JSON's string.
var endsLine = classOf("\r\n\"\\")

// lineEnd returns how much stands before the end of a line, or of a string.
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexAny(b[i:], "\r\n\"'\\"); n >= 0 {
		return n
	}
	return len(b) - i
}
