package redact

import "bytes"

// assignment is a name with what it is given.
type assignment struct {
	name    []byte
	quoted  bool // the name is in quotes
	opens   int  // where its quote begins
	marks   int  // and how long that is
	flag    bool // it is a command line's: --name
	query   bool // it is a URL's parameter
	sep     byte // ':', '=', ' ' for a flag's, 0 for none
	tight   bool // no blank around the sep
	secrecy secrecy
	value   int // where the value begins, or its quote
}

// assigned looks for a secret that a name promises.
func assigned(t *text, at int) verdict {
	if from, end, ok := t.elementAt(at); ok && !t.uri {
		return t.element(from, end)
	}
	if t.ofProgress(at) || !t.mayAssign(at) {
		return no
	}
	if end := at + naming.run(t.b, at); t.raw && !t.final && end+1 < len(t.b) && t.b[end] == '\\' && t.b[end+1] == 'u' {
		t.resume = at + 1 // a quote, it may be: it must be taken apart
		return hit
	}
	var room [96]byte
	a, v := t.assignment(room[:0], at)
	if v != hit {
		return v
	}
	if t.uri && !a.query {
		return no
	}
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
	return t.bareValue(a)
}

// ofProgress reports whether a progress token's name stands around a place: most
// requests have one, and it is no secret.
func (t *text) ofProgress(at int) bool {
	const before, after = "progress", `Token"`
	return at >= len(before) && len(t.b)-at >= len(after) && string(t.b[at-len(before):at]) == before &&
		string(t.b[at:at+len(after)]) == after && len(t.r.globs) == 0
}

// mayAssign is a quick look at what follows a name: most names are words of a sentence.
func (t *text) mayAssign(at int) bool {
	i := at + naming.run(t.b, at)
	if i >= len(t.b) {
		return !t.final
	}
	switch c := t.b[i]; c {
	case '"', '\'', '`', '\\', ':', '=', '\t':
		return true
	case ' ':
		return i+1 >= len(t.b) || t.b[i+1] < 'a' || t.b[i+1] > 'z' || t.longWord(i+1)
	}
	return false
}

// longWord reports whether what stands at a place is, or may become, longer than the
// words of a language.
func (t *text) longWord(i int) bool {
	n := plain.run(t.b[:min(len(t.b), i+12)], i)
	return n == 12 || i+n == len(t.b) && !t.final
}

// assignment reads the name around a place, and what follows up to the value.
func (t *text) assignment(room []byte, at int) (a assignment, v verdict) {
	end := at + naming.run(t.b, at)
	if end == len(t.b) && !t.final {
		return a, more
	}
	if t.unclear(end) {
		return a, more
	}
	q := quoteAt(t.b, end)
	i := end + q
	a.quoted, a.opens, a.marks = q > 0, end, q
	gap := blanks(t.b, i, a.quoted)
	if i += gap; i == len(t.b) {
		if t.final {
			return a, no
		}
		return a, more
	}
	from := at
	for from > at-64 && naming[t.before(from)] {
		from--
	}
	from += t.escapeBefore(from)
	a.sep = t.b[i]
	switch {
	case a.sep == ':' || a.sep == '=':
		i++
		if i < len(t.b) && (t.b[i] == '=' || t.b[i] == '>') {
			i++
		}
		after := blanks(t.b, i, a.quoted)
		a.tight, i = gap+after == 0, i+after
	case gap == 0 || a.quoted:
		return a, no
	case t.before(from+1) == '-':
		a.sep, a.flag = ' ', true
	default:
		a.sep = 0
	}
	a.value = i
	a.name = t.nameIn(room, &a, from, end)
	a.query = a.sep == '=' && (t.before(from) == '?' || t.before(from) == '&' || t.before(from) == '#')
	if a.secrecy = t.r.secrecyOf(a.name); a.secrecy == noSecret && a.query && isQueryName(a.name) {
		a.secrecy = textSecret
	}
	if a.secrecy == noSecret {
		return a, no
	}
	return a, hit
}

// nameIn copies a name, with the word in front of it where that tells what key or
// token it is.
func (t *text) nameIn(room []byte, a *assignment, from, end int) []byte {
	if a.sep != '=' && end-from <= 6 && t.before(from) == ' ' {
		first := from - 1
		for first > from-24 && naming[t.before(first)] {
			first--
		}
		from = first
	}
	for i := from; i < end && len(room) < cap(room); i++ {
		room = append(room, t.before(i+1))
	}
	return bytes.TrimLeft(room, "-")
}

// escapeBefore returns how much of a name is the end of an escape in front of it, as in
// \ntoken=.
func (t *text) escapeBefore(from int) int {
	if t.before(from) != '\\' {
		return 0
	}
	switch t.before(from + 1) {
	case 'n', 't', 'r', 'b', 'f':
		return 1
	case 'u':
		n := 1
		for n < 5 && hexa[t.before(from+n+1)] {
			n++
		}
		return n
	}
	return 0
}

func isQueryName(name []byte) bool {
	last := name[bytes.LastIndexAny(name, "-_.")+1:]
	return bytes.EqualFold(last, []byte("key")) || bytes.EqualFold(last, []byte("sig")) || bytes.EqualFold(last, []byte("signature"))
}

// blanks returns how many blanks stand at a place: any number around a quoted name's
// colon, else a few.
func blanks(b []byte, i int, any bool) int {
	n := 0
	for i+n < len(b) && (n < 4 || any) && (b[i+n] == ' ' || b[i+n] == '\t' || any && (b[i+n] == '\n' || b[i+n] == '\r')) {
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
	if a.sep == 0 && (!looksRandom(v, 16) || isUUID(v)) {
		return no
	}
	if !a.quoted && !a.tight && a.secrecy < hardSecret && !looksRandom(v, 8) && len(v) < 16 {
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
		return no
	}
	if t.raw {
		t.resume = a.value
		return hit
	}
	count := len(t.spans)
	for i := a.value + 1; ; {
		i += blanks(t.b, i, true)
		if t.unclear(i) {
			t.spans = t.spans[:count]
			return more
		}
		q := quoteAt(t.b, i)
		if q == 0 {
			break
		}
		to := closing(t.b, i+q, q)
		if to < 0 && !t.final {
			t.spans = t.spans[:count]
			return more
		}
		if to < 0 {
			break
		}
		if first, last, ok := secretIn(a.secrecy, t.b[i+q:to]); ok {
			t.found("key", i+q+first, i+q+last)
		}
		// A quote around the list may have ended it, with fewer bytes than this one's.
		if i = min(to+q, len(t.b)); i < len(t.b) && t.b[i] == ',' {
			i++
		}
	}
	if len(t.spans) > count {
		return hit
	}
	return no
}

// schemes stand in front of credentials.
var schemes = setOf("bearer basic token digest apikey negotiate ntlm bot ssws")

// bareValue is a value without quotes.
func (t *text) bareValue(a assignment) verdict {
	from := a.value
	n := plain.run(t.b, from)
	cookie := a.sep == ':' && bytes.EqualFold(a.name[max(0, len(a.name)-6):], []byte("cookie"))
	if cookie {
		n = lineEnd(t.b, from)
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
		n = plain.run(t.b, from)
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
	if !a.accepts(v) && !(cookie && bytes.IndexByte(v, '=') > 0 && !holdsMask(v)) {
		return no
	}
	return t.found("key", from, from+len(v))
}

// lineEnd returns how much stands before the end of a line, or of a string.
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexAny(b[i:], "\r\n\"'\\"); n >= 0 {
		return n
	}
	return len(b) - i
}
