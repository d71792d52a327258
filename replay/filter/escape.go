package filter

import (
	"strconv"
	"unicode/utf16"
)

// escape reads one \u escape, or a pair of them that is one character.
func escape(b []byte) (r rune, rest []byte, ok bool) {
	r, ok = unit(b)
	if !ok {
		return 0, b, false
	}
	b = b[6:]
	if utf16.IsSurrogate(r) {
		if second, two := unit(b); two {
			if pair := utf16.DecodeRune(r, second); pair != '\uFFFD' {
				return pair, b[6:], true
			}
		}
	}
	return r, b, true
}

func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
