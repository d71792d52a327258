package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// hasher hashes JSON values by what they say: in whichever order an object has its
// members, and however a text is escaped. It reads a value once and builds nothing.
// Values with one hash are the same; the same may have two where that is rare (a member
// twice, a number of many digits with a fraction): then their texts are compared.
type hasher struct {
	seed   maphash.Seed
	one    uint64 // secret, as a peer must not know what collides
	other  uint64
	strict bool // numbers are as they are written
}

func newHasher(seed maphash.Seed, strict bool) hasher {
	return hasher{seed, maphash.String(seed, "one"), maphash.String(seed, "other"), strict}
}

func (h *hasher) mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^h.one, b^h.other)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

func (h *hasher) bytes(b []byte) uint64 { return maphash.Bytes(h.seed, b) }

// id hashes an id or a progress token by its [mcp.Key]; 0 is none.
func (h *hasher) id(raw json.RawMessage) uint64 {
	switch {
	case len(raw) == 0:
		return 0
	case !mcp.IsPlain(raw):
		return maphash.String(h.seed, string(mcp.KeyOf(raw)))
	}
	return h.bytes(raw)
}

// value hashes the value that begins at i of valid JSON, and returns where it ends.
func (h *hasher) value(b []byte, i int) (uint64, int) {
	switch b[i] {
	case '{':
		sum, end := h.members(b, i, func(_ []byte, key uint64, from int) (uint64, int, bool) {
			value, end := h.value(b, from)
			return h.mix(key, value), end, true
		})
		return h.mix('{', sum), end
	case '[':
		return h.list(b, i)
	case '"':
		inner, end := cutText(b, i)
		return h.mix('"', h.text(inner)), end
	}
	end := i
	for end < len(b) && !isBreak(b[end]) {
		end++
	}
	return h.mix('0', h.number(b[i:end])), end
}

// members adds up what each makes of the members of the object that begins at i: the
// name as it is written, its hash, and where the value begins.
func (h *hasher) members(b []byte, i int, each func(name []byte, key uint64, from int) (uint64, int, bool)) (sum uint64, end int) {
	for i = skipBlank(b, i+1); b[i] != '}'; {
		name, next := cutText(b, i)
		from := skipBlank(b, skipBlank(b, next)+1) // over the colon
		part, end, counts := each(name, h.text(name), from)
		if counts {
			sum += part
		}
		if i = skipBlank(b, end); b[i] == ',' {
			i = skipBlank(b, i+1)
		}
	}
	return sum, i + 1
}

func (h *hasher) list(b []byte, i int) (uint64, int) {
	sum := uint64('[')
	for i = skipBlank(b, i+1); b[i] != ']'; {
		value, end := h.value(b, i)
		sum = h.mix(sum, value)
		if i = skipBlank(b, end); b[i] == ',' {
			i = skipBlank(b, i+1)
		}
	}
	return sum, i + 1
}

// text hashes what a string says. Halves of surrogate pairs are not read: no two of them
// may become one.
func (h *hasher) text(inner []byte) uint64 {
	if bytes.IndexByte(inner, '\\') < 0 {
		return h.bytes(inner)
	}
	var s string
	quoted := append(append([]byte{'"'}, inner...), '"')
	if bytes.Contains(inner, []byte(`\ud`)) || bytes.Contains(inner, []byte(`\uD`)) || json.Unmarshal(quoted, &s) != nil {
		return h.bytes(quoted)
	}
	return maphash.String(h.seed, s)
}

// number hashes a number or a literal: 1.0 as 1.
func (h *hasher) number(word []byte) uint64 {
	const exact = 15 // digits, that a float64 keeps
	if h.strict || len(word) > exact || !bytes.ContainsAny(word, ".eE") || word[0] > '9' {
		return h.bytes(word)
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if whole := int64(f); err == nil && f > -1e15 && f < 1e15 {
		if float64(whole) == f {
			return h.bytes(strconv.AppendInt(nil, whole, 10))
		}
		return h.bytes(strconv.AppendFloat(nil, f, 'g', -1, 64))
	}
	return h.bytes(word)
}

// params hashes the params of a message without what each recording has its own.
func (h *hasher) params(m transport.Message, own func(name []byte) bool) uint64 {
	b := m.Params
	i := skipBlank(b, 0)
	if i == len(b) || b[i] != '{' {
		if len(b) == 0 || string(bytes.TrimSpace(b)) == "null" {
			return h.mix('{', 0)
		}
		value, _ := h.value(b, i)
		return value
	}
	sum, _ := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
		if string(name) == "_meta" && b[from] == '{' {
			kept, end := h.meta(b, from)
			return h.mix(key, h.mix('{', kept)), end, kept != 0
		}
		value, end := h.value(b, from)
		return h.mix(key, value), end, !own(name)
	})
	return h.mix('{', sum)
}

// meta adds up the members of _meta that say what is asked, and not who asks.
func (h *hasher) meta(b []byte, i int) (uint64, int) {
	return h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
		value, end := h.value(b, from)
		switch string(name) {
		case "progressToken", subscriptionID:
			return 0, end, false
		case "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities":
			return h.mix(key, value), end, h.strict
		}
		return h.mix(key, value), end, true
	})
}

// result hashes a result or an error; of a subscription's without its id.
func (h *hasher) result(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	if b[0] != '{' || !bytes.Contains(b, []byte(subscriptionID)) {
		value, _ := h.value(b, 0)
		return value
	}
	sum, _ := h.members(b, 0, func(name []byte, key uint64, from int) (uint64, int, bool) {
		value, end := h.value(b, from)
		return h.mix(key, value), end, string(name) != "_meta"
	})
	rest := uint64(0)
	if start, end, ok := transport.Locate(b, "_meta"); ok && b[start] == '{' {
		rest, _ = h.members(b[:end], start, func(name []byte, key uint64, from int) (uint64, int, bool) {
			value, end := h.value(b, from)
			return h.mix(key, value), end, string(name) != subscriptionID
		})
	}
	return h.mix('{', h.mix(sum, rest))
}

// cutText returns the inner of the string that begins at i, and where it ends.
func cutText(b []byte, i int) (inner []byte, end int) {
	for end = i + 1; b[end] != '"'; end++ {
		if b[end] == '\\' {
			end++
		}
	}
	return b[i+1 : end], end + 1
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func isBreak(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\n' || c == '\r'
}
