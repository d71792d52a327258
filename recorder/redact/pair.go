package redact

import "bytes"

// nameMembers are members whose text names what valueMembers of the same object have,
// as in {"name":"DB_PASSWORD","value":"x"}. Case, '-' and '_' do not matter.
var (
	nameMembers = setOf(`name key id label variable header field param parameter parametername parameterkey option
		optionname property attribute envname keyname`)
	valueMembers = setOf("value val stringvalue parametervalue optionvalue currentvalue newvalue oldvalue")
)

// pairReach is how far behind a name its value is looked for.
const pairReach = 1 << 10

// isMember reports whether a name is of a set, whatever its case and separators.
func isMember(set map[string]bool, name []byte) bool {
	var buf [24]byte
	n := 0
	for _, c := range name {
		if !alnum[c] {
			continue
		}
		if n == len(buf) {
			return false
		}
		buf[n] = c | 0x20
		n++
	}
	return set[string(buf[:n])]
}

// memberAhead finds a member of a set in what comes behind a value, or behind what opens
// an object: as JSON has it, YAML, or the attributes of XML. It returns where its value
// begins.
func memberAhead(b []byte, i int, set map[string]bool) (value int, v verdict) {
	for last := i + pairReach; i < last; {
		for i < len(b) && (b[i] == ',' || b[i] <= ' ') {
			i++
		}
		q := quoteAt(b, i)
		from := i + q
		to := from + naming.near(b, from)
		if to == from && to < len(b) {
			return 0, no
		}
		i = to + q
		i += blanks(b, i, true)
		if i >= len(b) {
			return 0, more
		}
		if b[i] != ':' && b[i] != '=' {
			return 0, no
		}
		if i++; i < len(b) && b[i] == '>' {
			i++
		}
		i += blanks(b, i, q > 0)
		if isMember(set, b[from:to]) {
			return i, hit
		}
		if i = pastValue(b, i); i < 0 {
			return 0, more
		}
	}
	return 0, no
}

// pastValue returns where a value ends; -1: not in b.
func pastValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		if q := quoteAt(b, i); q > 0 {
			to := -1
			if i+q < len(b) {
				to = closing(b, i+q, q)
			}
			if i = to + q; to < 0 {
				return -1
			}
		} else {
			switch b[i] {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			case ',', '\n', '\r':
				if depth == 0 {
					return i
				}
			}
			if depth < 0 {
				return i
			}
			if i++; depth > 0 {
				continue
			}
			if c := b[i-1]; c != '}' && c != ']' {
				continue
			}
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// apart looks for the value of a name that is itself a value: name ends at end.
func (t *text) apart(at, end int) verdict {
	q := quoteAt(t.b, end)
	if end < len(t.b) && t.b[end] == '\\' && q == 0 && !t.raw {
		return no
	}
	from := t.wholeName(at, end, q)
	if q > 0 && t.before(from+1) == '-' {
		return t.argumentBehind(from, end, q)
	}
	sep := t.introduced(from)
	if sep == 0 {
		return no
	}
	if t.raw {
		return t.valueNear(at, end)
	}
	var room [96]byte
	name := t.between(room[:0], from, end)
	s := t.r.secrecyOf(name)
	if s == noSecret {
		return no
	}
	i, v := memberAhead(t.b, end+q, valueMembers)
	if v == more && len(t.b)-end > 4*pairReach {
		return no
	}
	return t.valueApart(s, name, end+q, i, v)
}

// argumentBehind is what a list of arguments has behind one that says so, as in
// ["--password","x"].
func (t *text) argumentBehind(from, end, q int) verdict {
	i := end + q
	i += blanks(t.b, i, true)
	if i >= len(t.b) && !t.final {
		return more
	}
	if i >= len(t.b) || t.b[i] != ',' {
		return no
	}
	next := i + 1 + blanks(t.b, i+1, true)
	if t.unclear(next) {
		return more
	}
	if n := quoteAt(t.b, next); n != q || next+n > len(t.b) || t.b[next+n-1] != t.b[end+q-1] {
		return no
	}
	if t.raw {
		t.resume = end
		return hit
	}
	var line commandLine
	var room [96]byte
	line.word(t.between(room[:0], from, end))
	return t.words(&line, next)
}

// between appends what stands from a place, which may be in front of the text, up to
// another, as far as there is room.
func (t *text) between(room []byte, from, end int) []byte {
	for i := from; i < end && len(room) < cap(room); i++ {
		room = append(room, t.before(i+1))
	}
	return room
}

// wholeName returns where a name begins that ends at a quote of length q, or stands
// without one: in quotes it may have a few words.
func (t *text) wholeName(at, end, q int) int {
	from := at
	for from > at-48 && (naming[t.before(from)] || q > 0 && t.before(from) == ' ' && t.before(from-1) != ':') {
		from--
	}
	return from + t.escapeBefore(from)
}

// introduced reports by which separator a name is the value of a member that says so;
// 0: it is not.
func (t *text) introduced(from int) (sep byte) {
	quotes := func(i int) int {
		for n := 0; n < 32 && (t.before(i) == '\\' || quoteMark[t.before(i)]); n++ {
			i--
		}
		return i
	}
	gap := func(i int) int {
		for n := 0; n < 8 && t.before(i) == ' '; n++ {
			i--
		}
		return i
	}
	i := gap(quotes(from))
	if sep = t.before(i); sep != ':' && sep != '=' {
		return 0
	}
	end := quotes(gap(i - 1))
	if i = end; !naming[t.before(i)] {
		return 0
	}
	for i > end-24 && naming[t.before(i)] {
		i--
	}
	var buf [24]byte
	n := 0
	for i += t.escapeBefore(i); i < end; i++ {
		buf[n] = t.before(i + 1)
		n++
	}
	if !isMember(nameMembers, buf[:n]) {
		return 0
	}
	return sep
}

var quoteMark = classOf("\"'`")

// valueNear reports, of JSON as it came, whether a value may be near a name.
func (t *text) valueNear(at, end int) verdict {
	near := t.b[end:min(len(t.b), end+pairReach)]
	if hasValue(near) || hasValue(t.b[max(0, at-pairReach):at]) {
		t.resume = at + 1
		return hit
	}
	if len(near) < pairReach && !t.final {
		return more
	}
	return no
}

func hasValue(b []byte) bool {
	for _, name := range valueForms {
		if bytes.Contains(b, name) {
			return true
		}
	}
	return false
}

// valueForms are in the names of valueMembers, however they are written.
var valueForms = [][]byte{[]byte("alue"), []byte("ALUE"), []byte(`val"`), []byte(`val\`), []byte("val:"), []byte("val=")}

// valueApart is the value that memberAhead has found for a name, from a place on.
func (t *text) valueApart(s secrecy, name []byte, begun, i int, v verdict) verdict {
	for v == hit && i < len(t.b) && t.b[i] == '{' {
		i, v = memberAhead(t.b, i+1, valueMembers)
	}
	if v != hit {
		if v == more && t.final {
			return no
		}
		return v
	}
	if t.unclear(i) {
		return more
	}
	from, to, quote := i, -1, ""
	if q := quoteAt(t.b, i); q > 0 {
		if from += q; from < len(t.b) {
			to = closing(t.b, from, q)
		}
	} else if to = from + plain.run(t.b, from); to == len(t.b) && !t.final {
		return more
	} else if to < len(t.b) && !endsBare[t.b[to]] { // a sentence's, it may be
		return no
	} else if number := numberLength(t.b[from:to]) == to-from; number && !numberIsSecret(s, t.b[from:to]) {
		return no
	} else if quote = t.quoteBefore(i); quote != "" && !number {
		return no
	}
	if to < 0 && !t.final {
		return more
	}
	if to < 0 {
		to = len(t.b)
	}
	return t.pair(s, name, begun, span{from: from, to: to, rule: "key", quote: quote})
}

// endsBare are the bytes behind a value without quotes.
var endsBare = classOf(",}]\r\n")

// valueWithin is the value in an object that a name has: {"password":{"value":"x"}}.
func (t *text) valueWithin(a assignment) verdict {
	s := objectSecrecy(a.secrecy, a.name)
	if s == noSecret {
		return no
	}
	if t.raw {
		return t.valueNear(a.value, a.value)
	}
	return t.valueApart(s, a.name, a.value, a.value, hit)
}

// listedObject adds the value in an object of a list that a name has, and returns where
// the object ends.
func (t *text) listedObject(a assignment, i int) (end int, v verdict) {
	if end = pastValue(t.b, i); end < 0 {
		return i, more
	}
	if s := objectSecrecy(a.secrecy, a.name); s != noSecret {
		t.valueApart(s, a.name, i, i, hit)
	}
	return end, hit
}

// objectSecrecy says what a name promises of the value in an object: that of a token may
// be a word of a language.
func objectSecrecy(s secrecy, name []byte) secrecy {
	switch {
	case s == textSecret && !isCookie(name):
		return looseSecret
	case s < textSecret:
		return noSecret
	}
	return s
}

func isCookie(name []byte) bool {
	name = bytes.TrimRight(name, "sS")
	return bytes.EqualFold(name[max(0, len(name)-6):], []byte("cookie"))
}

// pair adds the value of a name, if it is a secret, and what is between them.
func (t *text) pair(s secrecy, name []byte, begun int, sp span) verdict {
	v := t.b[sp.from:sp.to]
	first, last, ok := secretIn(s, v)
	if !ok || sameName(name, v) {
		return no
	}
	if sp.from-begun > len(`,"value":"`)+8 {
		t.within(begun, sp.from)
	}
	sp.from, sp.to = sp.from+first, sp.from+last
	return t.add(sp)
}

// quoteBefore returns the quote of the name in front of a value.
func (t *text) quoteBefore(i int) string {
	b := bytes.TrimRight(t.b[:i], " \t\r\n")
	if b = bytes.TrimRight(bytes.TrimSuffix(b, []byte(":")), " "); len(b) == 0 || b[len(b)-1] != '"' {
		return ""
	}
	from := len(b) - 1
	for from > 0 && b[from-1] == '\\' {
		from--
	}
	return string(b[from:])
}

// within adds the secrets of a part of the text.
func (t *text) within(from, to int) {
	part := &text{b: t.b[from:to], final: true, r: t.r, sights: new(sights)}
	part.scan()
	for _, sp := range part.spans {
		sp.from, sp.to = sp.from+from, sp.to+from
		t.spans = append(t.spans, sp)
	}
}

// sameName reports whether a value only says its name again, as a choice of a list.
func sameName(name, v []byte) bool {
	return len(v) <= len(name)+4 && plainName(string(name)) == plainName(string(v))
}
