package redact

import "bytes"

// reach is how far in front of an option its command is looked for: less than what is
// kept of the text before a cut.
const reach = contextSize - 4

// userOption is the password of "-u name:password" and "--user name:password" of curl.
func userOption(t *text, at int) verdict {
	if t.raw && t.b[at] == '"' { // of a list of arguments, of which curl may be the first
		if !t.runs("curl", at) {
			return no
		}
		t.resume = at + 1
		return hit
	}
	if t.b[at] == '"' || !t.runs("curl ", at) {
		return no
	}
	i := at + 1
	for i < len(t.b) && t.b[i] != ' ' {
		i++
	}
	return t.operand(i+blanks(t.b, i, false), true)
}

// identified is what "IDENTIFIED BY" of SQL is given; in prose nobody shouts it.
func identified(t *text, at int) verdict {
	const phrase = "IDENTIFIED BY "
	if !bytes.HasPrefix(t.b[at:], []byte(phrase)) || t.goesOn(at, alnum) {
		return no
	}
	i := at + len(phrase)
	if t.unclear(i) || i == len(t.b) && !t.final {
		return more
	}
	if quoteAt(t.b, i) == 0 {
		return no
	}
	return t.operand(i, false)
}

// runs reports whether a command stands not far in front of a place, in the same line.
func (t *text) runs(command string, at int) bool {
	for i := at; i > at-reach; i-- {
		switch c := t.before(i); c {
		case '\n': // but for one that the shell does not see
			if t.before(i-1) != '\\' {
				return false
			}
		case '|', ';', 0:
			return false
		case command[0]:
			k := 1
			for k < len(command) && t.before(i+k) == command[k] && i+k <= at+1 {
				k++
			}
			if k == len(command) && !t.goesOn(i-1, alnum) {
				return true
			}
		}
	}
	return false
}

// operand takes an argument of a command that is a password, or has one behind its
// colon.
func (t *text) operand(from int, named bool) verdict {
	if t.unclear(from) || from == len(t.b) && !t.final {
		return more
	}
	to := 0
	if q := quoteAt(t.b, from); q > 0 {
		from += q
		if to = -1; from < len(t.b) {
			to = closing(t.b, from, q)
		}
	} else if n := plain.run(t.b, from); from+n < len(t.b) || t.final {
		to = from + n
	} else {
		to = -1
	}
	if to < 0 && !t.final {
		return more
	}
	if to < 0 {
		to = len(t.b)
	}
	if v := t.escapedOn(to, to); v != no {
		return v
	}
	if named {
		colon := bytes.IndexByte(t.b[from:to], ':')
		if colon < 0 || colon == 0 && t.before(from) == ' ' {
			return no
		}
		if from += colon + 1; from == to { // name:'password'
			return t.operand(from, false)
		}
	}
	if v := t.b[from:to]; len(v) < 3 || isTemplate(v) || holdsMask(v) || v[0] == '$' {
		return no
	}
	return t.found("command", from, to)
}
