package redact

import "bytes"

// noValues are what stands where a secret would.
var noValues = setOf("true false null none nil undefined")

// secretIn returns what of a value is secret, given what its name says: without the
// scheme in front of a credential.
func secretIn(s secrecy, v []byte) (from, to int, ok bool) {
	to = len(v)
	if s < wholeSecret {
		if i := bytes.IndexByte(v, ' '); i > 0 && i < 12 && schemes[string(bytes.ToLower(v[:i]))] {
			from = i + 1
		}
	}
	rest := v[from:]
	switch {
	case len(rest) == 0 || isMask(rest):
		return 0, 0, false
	case s == wholeSecret:
		return from, to, true
	case s == noSecret, isTemplate(rest), noValues[string(bytes.ToLower(rest))], holdsMask(rest):
		return 0, 0, false
	case s == digitSecret:
		lower, upper, digits := makeup(rest)
		return from, to, digits >= 4 && lower+upper == 0
	case s == randomSecret:
		return from, to, isKey(rest)
	case s == looseSecret:
		return from, to, from > 0 && len(rest) >= 8 || looksRandom(rest, 16) && !isUUID(rest)
	}
	return from, to, true
}

// holdsMask reports whether a value was redacted by other rules before.
func holdsMask(v []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(v[i:], '[')
		if n < 0 {
			return false
		}
		if i += n; maskAt(v[i:]) > 0 {
			return true
		}
	}
}

// numberLength returns how much of v is a JSON number.
func numberLength(v []byte) int {
	n := 0
	for n < len(v) && (v[n] >= '0' && v[n] <= '9' || n > 0 && (v[n] == '.' || fold(v[n]) == 'e' || v[n] == '+' || v[n] == '-') || n == 0 && v[n] == '-') {
		n++
	}
	if n == 1 && v[0] == '-' {
		return 0
	}
	return n
}

// numberIsSecret says of a number what its name says of it.
func numberIsSecret(s secrecy, v []byte) bool {
	switch s {
	case hardSecret, treeSecret, wholeSecret:
		return true
	case digitSecret:
		return len(v) >= 4 && bytes.IndexByte(v, '.') < 0
	case textSecret:
		return len(v) >= 6 && bytes.IndexByte(v, '.') < 0
	}
	return false
}

func isUUID(v []byte) bool {
	if len(v) != 36 {
		return false
	}
	for i, c := range v {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !hexa[c] {
			return false
		}
	}
	return true
}

// accepts reports whether a value without quotes is a secret and not a word of a
// sentence or of a program.
func (a *assignment) accepts(v []byte) bool {
	lower, upper, digits := makeup(v)
	letters := lower + upper
	code := bytes.IndexByte(v, '.') > 0 && digits == 0
	switch {
	case a.secrecy == wholeSecret:
		return a.sep != 0
	case noValues[string(bytes.ToLower(v))] || code || holdsMask(v):
		return false
	case a.told && a.secrecy >= stringSecret:
		return len(v) >= 2 && !isProse(v)
	case a.sep == 0:
		return digits >= 4 && bytes.Count(v, []byte(".")) < 2 && looksRandom(v, 20) && !isUUID(v)
	case a.query && string(a.name) != "code":
		return true
	case a.secrecy == digitSecret:
		return digits >= 4 && digits == len(v)
	case a.secrecy == randomSecret:
		return isKey(v)
	case a.secrecy == looseSecret:
		return looksRandom(v, 16) && !isUUID(v)
	case a.sep == '=' && a.tight && a.secrecy == hardSecret:
		return len(v) >= 3
	case a.sep == '=' && a.tight && a.secrecy == textSecret:
		return len(v) >= 6 && digits > 0 || len(v) >= 20 || isScrambled(v)
	case a.secrecy == hardSecret:
		return len(v) >= 5 && letters < len(v) && (letters > 0 || digits >= 6) || isTossed(v) || a.isWord(v)
	}
	return looksRandom(v, 10) || len(v) >= 16 && isScrambled(v)
}

// isWord reports whether letters alone are a password: what stands to the end of a line,
// or is no word.
func (a *assignment) isWord(v []byte) bool {
	return len(v) >= 5 && !isProse(v) && (isScrambled(v) || a.ends && a.sep != ' ' && opens(a.name))
}
