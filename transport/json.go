package transport

import (
	"encoding/binary"
	"encoding/json"
	"iter"
	"math/bits"
	"strconv"

	"github.com/mcprec/mcprec/transport/mcp"
)

// spans yields where the values of a JSON object's members are, in order, duplicates
// included. data must be valid JSON; another value has no members.
func spans(data []byte) iter.Seq2[string, span] {
	return func(yield func(string, span) bool) {
		for quoted, at := range quotedSpans(data) {
			if !yield(keyText(quoted), at) {
				return
			}
		}
	}
}

// quotedSpans is spans with the keys as they are written.
func quotedSpans(data []byte) iter.Seq2[[]byte, span] {
	return func(yield func([]byte, span) bool) {
		i := skipBlank(data, 0)
		if i == len(data) || data[i] != '{' {
			return
		}
		for i = skipBlank(data, i+1); data[i] != '}'; {
			end := value(data, i)
			key := data[i:end]
			from := skipBlank(data, skipBlank(data, end)+1) // over the colon
			end = value(data, from)
			if !yield(key, span{uint32(from), uint32(end)}) {
				return
			}
			if i = skipBlank(data, end); data[i] == ',' {
				i = skipBlank(data, i+1)
			}
		}
	}
}

// elements yields the places of a JSON array's elements, as spans does of members.
func elements(data []byte) iter.Seq2[int, span] {
	return func(yield func(int, span) bool) {
		i := skipBlank(data, 0)
		if i == len(data) || data[i] != '[' {
			return
		}
		i = skipBlank(data, i+1)
		for n := 0; data[i] != ']'; n++ {
			end := value(data, i)
			if !yield(n, span{uint32(i), uint32(end)}) {
				return
			}
			if i = skipBlank(data, end); data[i] == ',' {
				i = skipBlank(data, i+1)
			}
		}
	}
}

// Locate returns where in raw the value at a path begins and ends. A path is object
// keys, of which the last counts if there are two, and in arrays decimal indices.
// raw must be valid JSON or empty.
func Locate(raw json.RawMessage, path ...string) (start, end int, ok bool) {
	end = len(raw)
	for _, step := range path {
		var found span
		for key, at := range spans(raw[start:end]) {
			if key == step {
				found = at
			}
		}
		for n, at := range elements(raw[start:end]) {
			if strconv.Itoa(n) == step {
				found = at
			}
		}
		if found.to == 0 {
			return 0, 0, false
		}
		start, end = start+int(found.from), start+int(found.to)
	}
	return start, end, true
}

// keyText returns the text of a JSON string. The keys of every frame cost no allocation.
func keyText(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' || c >= 0x80 {
			var s string
			_ = json.Unmarshal(quoted, &s) // valid, like b
			return s
		}
	}
	key := quoted[1 : len(quoted)-1]
	for _, k := range frequent {
		if string(key) == k {
			return k
		}
	}
	return string(key)
}

// isKey reports whether a written key is this one, and makes no text of it: nearly all are written as they read.
func isKey(quoted []byte, key string) bool {
	for _, c := range quoted {
		if c == '\\' || c >= 0x80 {
			return keyText(quoted) == key
		}
	}
	return string(quoted[1:len(quoted)-1]) == key
}

var frequent = [...]string{
	"jsonrpc", "id", "method", "params", "result", "error",
	mcp.MemberMeta, "name", "arguments", mcp.MemberProgressToken, "progress", mcp.MemberRequestID,
}

// methodText returns the text of a JSON string with a method. A long session
// holds one string for the messages of a method.
func methodText(quoted []byte) string {
	if method, ok := usual[string(quoted[1:len(quoted)-1])]; ok {
		return method
	}
	return keyText(quoted)
}

// usual maps the methods of MCP to themselves.
var usual = func() map[string]string {
	m := map[string]string{}
	for _, method := range mcp.Methods() {
		m[method] = method
	}
	return m
}()

// value returns the index after the JSON value that begins at i.
func value(data []byte, i int) int {
	switch data[i] {
	case '"':
		return text(data, i)
	case '{', '[':
		return nested(data, i)
	}
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// text returns the index after the string that begins at i.
func text(data []byte, i int) int {
	for i = plainEnd(data, i+1); data[i] != '"'; i = plainEnd(data, i) {
		if i++; data[i-1] == '\\' {
			i++
		}
	}
	return i + 1
}

// nested returns the index after the object or array that begins at i.
func nested(data []byte, i int) int {
	for depth := 0; ; i++ {
		switch data[i] {
		case '"':
			i = text(data, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// mostNested is how deep values may be nested, as in encoding/json.
const mostNested = 10_000

// Valid is [json.Valid], five times as fast: a session may have millions of frames.
func Valid(data []byte) bool {
	i := validValue(data, skipBlank(data, 0), 0)
	return i >= 0 && skipBlank(data, i) == len(data)
}

// validValue returns the index after the value that begins at i, or -1, like the functions
// below.
func validValue(data []byte, i, depth int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return validText(data, i)
	case '{':
		return validObject(data, i, depth+1, nil)
	case '[':
		return validArray(data, i, depth+1)
	case 't':
		return validWord(data, i, "true")
	case 'f':
		return validWord(data, i, "false")
	case 'n':
		return validWord(data, i, "null")
	}
	return validNumber(data, i)
}

// validObject calls member, unless it is nil, for the members as they come.
func validObject(data []byte, i, depth int, member func(key string, at span)) int {
	if depth > mostNested {
		return -1
	}
	i = skipBlank(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(data) || data[i] != '"' {
			return -1
		}
		key := i
		if i = validText(data, i); i < 0 {
			return -1
		}
		keyEnd := i
		if i = skipBlank(data, i); i >= len(data) || data[i] != ':' {
			return -1
		}
		from := skipBlank(data, i+1)
		if i = validValue(data, from, depth); i < 0 {
			return -1
		}
		if member != nil {
			member(keyText(data[key:keyEnd]), span{uint32(from), uint32(i)})
		}
		if i = skipBlank(data, i); i >= len(data) {
			return -1
		}
		switch data[i] {
		case '}':
			return i + 1
		case ',':
			i = skipBlank(data, i+1)
		default:
			return -1
		}
	}
}

func validArray(data []byte, i, depth int) int {
	if depth > mostNested {
		return -1
	}
	i = skipBlank(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1
	}
	for {
		if i = validValue(data, i, depth); i < 0 {
			return -1
		}
		if i = skipBlank(data, i); i >= len(data) {
			return -1
		}
		switch data[i] {
		case ']':
			return i + 1
		case ',':
			i = skipBlank(data, i+1)
		default:
			return -1
		}
	}
}

func validWord(data []byte, i int, word string) int {
	if len(data)-i < len(word) || string(data[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func validNumber(data []byte, i int) int {
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if i = validDigits(data, i); i < 0 {
		return -1
	}
	if i < len(data) && data[i] == '.' {
		if i = validDigits(data, i+1); i < 0 {
			return -1
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return validDigits(data, i)
	}
	return i
}

// validDigits wants one digit or more.
func validDigits(data []byte, i int) int {
	from := i
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func validText(data []byte, i int) int {
	for i++; ; {
		if i = plainEnd(data, i); i >= len(data) || data[i] < ' ' {
			return -1
		}
		if data[i] == '"' {
			return i + 1
		}
		if i++; i >= len(data) { // the letter of an escape
			return -1
		}
		switch data[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i++
		case 'u':
			if i += 5; i > len(data) {
				return -1
			}
			for _, c := range data[i-4 : i] {
				if c-'0' > 9 && c|0x20-'a' > 5 {
					return -1
				}
			}
		default:
			return -1
		}
	}
}

// plainEnd returns the index of the first byte from i that is a quotation mark, a
// backslash or a control character; the length of data if there is none. It looks at
// eight bytes at a time: in a word, a byte is less than n if subtracting n sets the
// byte's highest bit; a borrow can fake this only above such a byte.
func plainEnd(data []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(data)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// TrimBlanks returns JSON without the white space around it. JSON knows four such characters; [bytes.TrimSpace]
// takes away a form feed, U+0085 and U+00A0 too, at which every JSON parser stops.
func TrimBlanks(data []byte) []byte {
	from, to := skipBlank(data, 0), len(data)
	for to > from && isBlank(data[to-1]) {
		to--
	}
	return data[from:to]
}

// skipBlank returns the index of the first byte from i on that is not white space.
func skipBlank(data []byte, i int) int {
	for i < len(data) && isBlank(data[i]) {
		i++
	}
	return i
}

// isBlank reports whether a byte is white space to JSON.
func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
