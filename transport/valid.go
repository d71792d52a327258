package transport

import (
	"encoding/binary"
	"math/bits"
)

// mostNested is how deep values may be nested, as in encoding/json.
const mostNested = 10_000

// valid reports what [json.Valid] does, several times as fast: whoever reads a
// session of a million frames has each of them checked once.
func valid(b []byte) bool {
	i := validValue(b, skipBlank(b, 0), 0)
	return i >= 0 && skipBlank(b, i) == len(b)
}

// validValue returns the index after the value that begins at i, or -1. So do the
// functions below.
func validValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return validText(b, i)
	case '{':
		return validObject(b, i, depth+1)
	case '[':
		return validArray(b, i, depth+1)
	case 't':
		return validWord(b, i, "true")
	case 'f':
		return validWord(b, i, "false")
	case 'n':
		return validWord(b, i, "null")
	}
	return validNumber(b, i)
}

func validObject(b []byte, i, depth int) int {
	if depth > mostNested {
		return -1
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = validText(b, i); i < 0 {
			return -1
		}
		if i = skipBlank(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = validValue(b, skipBlank(b, i+1), depth); i < 0 {
			return -1
		}
		if i = skipBlank(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i = skipBlank(b, i+1)
		default:
			return -1
		}
	}
}

func validArray(b []byte, i, depth int) int {
	if depth > mostNested {
		return -1
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = validValue(b, i, depth); i < 0 {
			return -1
		}
		if i = skipBlank(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i = skipBlank(b, i+1)
		default:
			return -1
		}
	}
}

func validWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func validNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = validDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = validDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return validDigits(b, i)
	}
	return i
}

// validDigits wants one digit or more.
func validDigits(b []byte, i int) int {
	from := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func validText(b []byte, i int) int {
	for i++; ; {
		if i = plainEnd(b, i); i >= len(b) || b[i] < ' ' {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i++; i >= len(b) { // the letter of an escape
			return -1
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i++
		case 'u':
			if i = validHex(b, i+1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
}

func validHex(b []byte, i int) int {
	if len(b)-i < 4 {
		return -1
	}
	for _, c := range b[i : i+4] {
		if c-'0' > 9 && c|0x20-'a' > 5 {
			return -1
		}
	}
	return i + 4
}

// plainEnd returns the index of the first byte from i that is a quotation mark, a
// backslash or a control character; the length of b if there is none. It looks at
// eight bytes at a time: of a word, a byte is less than n where subtracting n from it
// sets its highest bit, which a higher byte may do only above one that does.
func plainEnd(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
