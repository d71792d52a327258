package mask

import (
	"bytes"
	"slices"
	"strings"
)

// EnvValues returns the values of an environment ("NAME=value") that are secrets: of the
// variables that are named, and of those whose name says so.
func EnvValues(environ, names []string) []string {
	var values []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		_, _, secret := readRules().levelOf(name).hides(readRules(), []byte(value))
		_, _, digits := makeup([]byte(value))
		if slices.Contains(names, name) || secret && len(value) >= 8 && value[0] != '/' && (digits > 0 || len(value) >= 12) {
			values = append(values, value)
		}
	}
	return values
}

func makeup(b []byte) (lower, upper, digits int) {
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= '0' && c <= '9':
			digits++
		}
	}
	return lower, upper, digits
}

// template matches what only names a secret: ${TOKEN}, {{token}}, $TOKEN, <token>, ****, a file
// in one of the usual folders; and a token of mcprec's own, which is a schedule.
var template = lazily(`^(?:[*.x•]*|mcprec1.*|\$\{.*\}|\$\(.*\)|\$[A-Za-z_-]*|\[.*\]|\{.*\}|<.*>|%.+%|` +
	`(?:/(?:home|usr|var|etc|tmp|run|opt|root|Users)/|\.{1,2}/|~/|[A-Z]:\\).*)$`)

var uuid = lazily(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// isWord reports whether v is a word in small letters, or some with '-' between them.
func isWord(v []byte) bool {
	lower, _, _ := makeup(v)
	return lower > 0 && len(v) <= 24 && lower+bytes.Count(v, []byte("-")) == len(v) && !isTossed(v)
}

// looksGenerated reports whether v looks like a key that a program made: random letters and
// digits, in parts it may be; no words that are strung together, no address, no time.
func looksGenerated(v []byte, least int) bool {
	if len(v) < least || len(v) > 400 || v[0] == '/' || v[0] == '.' || run(v, 0, keyBytes) < len(v) {
		return false
	}
	if n := bytes.IndexByte(v, ':'); n >= 0 { // an id in front of the key, or two halves
		return n >= 6 && run(v, 0, hexDigits) >= n && (len(v) == 2*n+1 && run(v, n+1, hexDigits) == n || looksGenerated(v[n+1:], least))
	}
	for part := range bytes.FieldsFuncSeq(v, func(r rune) bool { return !isAlnum(r) }) {
		if lower, upper, digits := makeup(part); len(part) >= 8 && lower+upper >= 2 && digits >= 2 {
			return true
		}
	}
	return isTossed(v)
}

// isTossed reports whether the letters of v are of no word and of no name in a program: of
// both cases in no order, or hardly with a vowel. One random key in ten has hardly a digit.
func isTossed(v []byte) bool {
	lower, upper, digits := makeup(v)
	letters := lower + upper
	if len(v) < 10 || letters+digits < len(v)-len(v)/8 {
		return false
	}
	starts, vowels := 0, 0 // starts: capitals that begin a word
	for i, c := range v {
		if c >= 'A' && c <= 'Z' && i+1 < len(v) && v[i+1] >= 'a' && v[i+1] <= 'z' {
			starts++
		}
		if strings.IndexByte("aeiouyAEIOUY", c) >= 0 {
			vowels++
		}
	}
	return 5*min(lower, upper) > letters && 4*starts <= 3*upper || 5*vowels < letters && 2*digits < letters
}
