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
	sep     byte // ':', '=', ',' of a call's arguments, ' ' for a flag's, 0 for none
	tight   bool // no blank around the sep
	told    bool // what stands in front of it says so
	ends    bool // the line ends behind the value
	odd     bool // a member's name, of which only the end is read
	secrecy secrecy
	value   int // where the value begins, or its quote
}

// assignment reads the name around a place, and what follows up to the value.
func (t *text) assignment(room []byte, at int) (a assignment, v verdict) {
	n := t.name(at)
	end := at + max(n, 0)
	if n < 0 {
		return a, no
	}
	if end == len(t.b) && !t.final {
		return a, more
	}
	if t.unclear(end) {
		return a, more
	}
	q := quoteAt(t.b, end)
	i := end + q
	a.quoted, a.opens, a.marks = q > 0, end, q
	look := adorned(t.b, i)
	gap := look + blanks(t.b, i+look, a.quoted)
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
	if v := t.separator(&a, from, i, gap, look); v != hit {
		return a, v
	}
	a.odd = a.sep == ':' && q == 1 && t.b[end] == '"' && t.before(from) != '"'
	a.name = t.nameIn(room, &a, from, end)
	a.query = a.sep == '=' && (t.before(from) == '?' || t.before(from) == '&' || t.before(from) == '#')
	a.secrecy = t.r.promise(&a)
	if a.secrecy == noSecret {
		return a, no
	}
	return a, hit
}

// separator reads what stands at i, behind a name and a gap, and finds where the value
// begins.
func (t *text) separator(a *assignment, from, i, gap, look int) verdict {
	switch a.sep = t.b[i]; {
	case t.unclearOperator(i):
		return more
	case operator(t.b, i) > 0:
		a.sep, a.tight = '=', gap == look
		t.separated(a, i+operator(t.b, i))
	case a.sep == ':' || a.sep == '=':
		if a.tight = gap == look; !t.separated(a, i+1) {
			return more
		}
	case a.sep == ',' && a.quoted && t.called(from, a.marks):
		if a.value = i + 1 + blanks(t.b, i+1, true); t.unclear(a.value) {
			return more
		} else if quoteAt(t.b, a.value) == 0 {
			return no
		}
	case gap == 0 || a.quoted:
		return no
	case t.before(from+1) == '-':
		a.sep, a.flag, a.value = ' ', true, i
	case t.b[a.opens] == ' ' && t.typed(i) != 0:
		n := t.typed(i)
		if a.sep, a.value = '=', i+n+len(" = "); n < 0 {
			return more
		}
	default:
		a.sep, a.value = 0, i
		a.told = t.b[a.opens] == ' ' && t.told(from, a.opens)
	}
	return hit
}

// promise says what a name promises where it stands.
func (r *Redactor) promise(a *assignment) secrecy {
	s := r.secrecyOf(a.name)
	switch {
	case s == noSecret && a.query && isQueryName(a.name):
		return textSecret
	case s == noSecret && a.sep == '=' && (a.query && string(a.name) == "code" || bytes.EqualFold(a.name, []byte("signature"))):
		return looseSecret
	case s == looseSecret && string(a.name) == "_auth": // npm's
		return textSecret
	}
	return s
}

// separated finds where a value begins whose separator stands in front of i; false: what
// comes next says it.
func (t *text) separated(a *assignment, i int) bool {
	if i < len(t.b) && (t.b[i] == '=' || t.b[i] == '>') {
		i++
	}
	i += adorned(t.b, i)
	after := blanks(t.b, i, a.quoted)
	a.tight, i = a.tight && after == 0, i+after
	a.value = i + adorned(t.b, i)
	if a.sep != ':' || a.quoted {
		return true
	}
	i = a.value + typing.near(t.b, a.value)
	i += blanks(t.b, i, false)
	if i+1 >= len(t.b) {
		return t.final
	}
	if i > a.value && t.b[i] == '=' && t.b[i+1] == ' ' { // a type: what is assigned comes behind it
		a.sep, a.tight, a.value = '=', false, i+1+blanks(t.b, i+1, false)
	}
	return true
}

// typing is what the name of a type has, in the languages that have it behind a colon.
var typing = classOf("A-Za-z0-9_.&*?")

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
	if c := t.before(from); c == '[' || c == ';' {
		return t.colourOf(from)
	}
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

// colourOf returns how much of a name is the end of a control sequence in front of it.
func (t *text) colourOf(from int) int {
	n := 0
	for n < maxColour && t.before(from+n+1) >= '0' && t.before(from+n+1) <= '?' {
		n++
	}
	if t.colourBefore(from+n+1) == 0 {
		return 0
	}
	return n + 1
}

func isQueryName(name []byte) bool {
	last := name[bytes.LastIndexAny(name, "-_.")+1:]
	return bytes.EqualFold(last, []byte("key")) || bytes.EqualFold(last, []byte("sig")) || bytes.EqualFold(last, []byte("signature"))
}
