package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Key is the value of a JSON-RPC id or of a progress token. Two spellings of one value
// have one key, and two values have two.
type Key string

// KeyOf returns the key of a raw id or progress token. Peers write what they have read
// anew, so the spelling says nothing:
//   - Numbers are compared exactly: 2, 2.0 and 20e-1 are one id, and 9007199254740993 is
//     not 9007199254740992. A number whose exponent does not fit in an int64 is the one
//     exception: it equals only its own spelling.
//   - Strings are compared by what they say: "\u0061" is "a". Half a surrogate pair, and
//     a byte that is not UTF-8, equal only themselves.
//   - A number never equals a string.
//   - No revision allows other values. The key of null is "null" and that of an id that
//     is absent is "". A boolean, an object, an array, and bytes that are not JSON
//     equal only their own spelling.
//
// A key is itself a spelling of the id: KeyOf of a key returns that key.
func KeyOf(raw json.RawMessage) Key {
	switch {
	case IsPlain(raw):
	case raw[0] == '"' && raw[len(raw)-1] == '"' && json.Valid(raw):
		return Key(unescape(raw))
	case raw[0] != '"' && isDigit(raw[len(raw)-1]) && json.Valid(raw):
		return Key(Decimal(string(raw)))
	}
	return Key(raw)
}

// Retyped returns the key of the id that reads the same and has the other type: "7" for 7, and 7 for "7".
// Peers that turn ids into texts are many, and so are peers that turn them back. It is "" for an id that
// has no such brother.
func (k Key) Retyped() Key {
	switch {
	case k == "":
	case k[0] != '"' && isPlainInteger([]byte(k)):
		return `"` + k + `"`
	case len(k) > 2 && k[0] == '"' && isPlainInteger([]byte(k[1:len(k)-1])):
		return k[1 : len(k)-1]
	}
	return ""
}

// IsPlain reports whether a raw id is spelled as nearly all are, and so is its own key:
// with no escapes, if it is a string, and as a whole number of a few digits.
func IsPlain(raw json.RawMessage) bool {
	switch {
	case len(raw) == 0:
		return true
	case raw[0] == '"':
		return bytes.IndexByte(raw, '\\') < 0
	}
	return raw[0] != '-' && !isDigit(raw[0]) || isPlainInteger(raw)
}

// Same reports whether two raw ids, or two raw progress tokens, are one.
func Same(a, b json.RawMessage) bool { return bytes.Equal(a, b) || KeyOf(a) == KeyOf(b) }

// Decimal writes every whole number of up to plainDigits digits without an exponent.
const plainDigits = 20

// isPlainInteger reports whether a number is spelled as Decimal spells it, which most
// ids are.
func isPlainInteger(raw []byte) bool {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > plainDigits || digits[0] == '0' && len(raw) > 1 {
		return false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Decimal returns a JSON number in one spelling: 100, 1e2 and 100.0 are the same
// number, as they are to JSON, and 9007199254740993 is not 9007199254740992. Nothing is
// rounded. A number whose exponent does not fit in an int64 stays as it is written.
func Decimal(written string) string {
	digits, exp, hasExp := strings.Cut(strings.ReplaceAll(written, "E", "e"), "e")
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	power := int64(0)
	if hasExp {
		const most = 1 << 62 // so that the digits of a number still fit beside it
		var err error
		power, err = strconv.ParseInt(exp, 10, 64)
		if err != nil || power > most || power < -most {
			return written
		}
	}
	short := strings.TrimRight(digits, "0")
	power += int64(len(digits) - len(short) - len(fraction))
	switch {
	case power == 0:
		return sign + short
	case power > 0 && power <= plainDigits:
		return sign + short + strings.Repeat("0", int(power))
	case power < 0 && power >= -plainDigits:
		short = strings.Repeat("0", max(0, 1-int(power)-len(short))) + short
		point := len(short) + int(power)
		return sign + short[:point] + "." + short[point:]
	}
	return sign + short + "e" + strconv.FormatInt(power, 10)
}

// unescape returns a valid JSON string with no escapes but those that it needs, each in
// one spelling.
func unescape(quoted []byte) []byte {
	end := len(quoted) - 1
	b := append(make([]byte, 0, len(quoted)), '"')
	for i := 1; i < end; {
		if quoted[i] != '\\' {
			b = append(b, quoted[i])
			i++
			continue
		}
		c, next := escaped(quoted, i)
		if utf16.IsSurrogate(c) {
			low := rune(0)
			after := next
			if quoted[next] == '\\' {
				low, after = escaped(quoted, next)
			}
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				c, next = pair, after
			}
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || utf16.IsSurrogate(c):
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = utf8.AppendRune(b, c)
		}
		i = next
	}
	return append(b, '"')
}

// escaped returns the code unit that the escape at i stands for, and where it ends.
func escaped(quoted []byte, i int) (c rune, end int) {
	switch c := quoted[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		unit, _ := strconv.ParseUint(string(quoted[i+2:i+6]), 16, 16) // the string is valid
		return rune(unit), i + 6
	default:
		return rune(c), i + 2
	}
}
