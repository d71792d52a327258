package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// hasher hashes JSON values by meaning: the order of an object's members and the escapes in a
// text make no difference. A value is read once, and no tree is built.
//
// Values with one hash are the same. The same value may have two hashes in rare forms (a member
// twice, a number of many digits with a fraction); then the texts are compared.
type hasher struct {
	seed   maphash.Seed
	one    uint64 // secret, so that a peer cannot make values collide
	other  uint64
	strict bool // numbers are compared as they are written
}

func newHasher(seed maphash.Seed, strict bool) hasher {
	return hasher{seed, maphash.String(seed, "one"), maphash.String(seed, "other"), strict}
}

func (h *hasher) mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^h.one, b^h.other)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

// id hashes an id or a progress token by [mcp.Key]; 0 if missing.
func (h *hasher) id(raw json.RawMessage) uint64 {
	switch {
	case len(raw) == 0:
		return 0
	case !mcp.IsPlain(raw):
		return maphash.String(h.seed, string(mcp.KeyOf(raw)))
	}
	return maphash.Bytes(h.seed, raw)
}

// value hashes the value beginning at i of valid JSON, and returns the value's end.
func (h *hasher) value(b []byte, i int) (uint64, int) {
	switch b[i] {
	case '{':
		sum, end := h.members(b, i, func(_ []byte, key uint64, from int) (uint64, int) {
			value, end := h.value(b, from)
			return h.mix(key, value), end
		})
		return h.mix('{', sum), end
	case '[':
		sum := uint64('[')
		for i = skipBlank(b, i+1); b[i] != ']'; {
			value, end := h.value(b, i)
			sum = h.mix(sum, value)
			i = skipComma(b, end)
		}
		return sum, i + 1
	case '"':
		inner, end := cutText(b, i)
		return h.mix('"', h.text(inner)), end
	}
	end := i
	for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] != ']' && skipBlank(b, end) == end {
		end++
	}
	return h.mix('0', h.number(b[i:end])), end
}

// members calls each with the members of the object beginning at i: the name as written, the
// name's hash, and the value's beginning. each returns a hash of the member, 0 to leave the
// member out, and the value's end. members returns the sum of the hashes, which no order
// changes, and the object's end.
func (h *hasher) members(b []byte, i int, each func(name []byte, key uint64, from int) (uint64, int)) (sum uint64, end int) {
	for i = skipBlank(b, i+1); b[i] != '}'; {
		name, next := cutText(b, i)
		from := skipBlank(b, skipBlank(b, next)+1) // after the colon
		hash, end := each(name, h.text(name), from)
		sum += hash
		i = skipComma(b, end)
	}
	return sum, i + 1
}

// text hashes a string by characters. Escapes of surrogate halves are hashed as written: a
// decoder would make the same character of every half.
func (h *hasher) text(inner []byte) uint64 {
	if bytes.IndexByte(inner, '\\') < 0 {
		return maphash.Bytes(h.seed, inner)
	}
	var s string
	quoted := slices.Concat([]byte{'"'}, inner, []byte{'"'})
	if bytes.Contains(inner, []byte(`\ud`)) || bytes.Contains(inner, []byte(`\uD`)) || json.Unmarshal(quoted, &s) != nil {
		return maphash.Bytes(h.seed, quoted)
	}
	return maphash.String(h.seed, s)
}

// number hashes a number or a literal: 1.0 as 1.
func (h *hasher) number(word []byte) uint64 {
	const exact = 15 // digits that a float64 keeps
	if h.strict || len(word) > exact || !bytes.ContainsAny(word, ".eE") || word[0] > '9' {
		return maphash.Bytes(h.seed, word)
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if err != nil || f <= -1e15 || f >= 1e15 {
		return maphash.Bytes(h.seed, word)
	}
	if whole := int64(f); float64(whole) == f {
		return maphash.Bytes(h.seed, strconv.AppendInt(nil, whole, 10))
	}
	return maphash.Bytes(h.seed, strconv.AppendFloat(nil, f, 'g', -1, 64))
}

// params hashes the params of a message, without the member own, which differs between
// recordings; "" names no member.
func (h *hasher) params(b []byte, own string) uint64 {
	i := skipBlank(b, 0)
	if i == len(b) || b[i] != '{' {
		if len(b) == 0 || string(bytes.TrimSpace(b)) == "null" {
			return h.mix('{', 0)
		}
		value, _ := h.value(b, i)
		return value
	}
	isOfSender := func(name string) bool { // and says nothing about the request
		switch name {
		case mcp.MemberProgressToken, mcp.MetaSubscriptionID:
			return true
		}
		return !h.strict && (name == mcp.MetaClientInfo || name == mcp.MetaClientCapabilities)
	}
	sum, _ := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int) {
		if string(name) == mcp.MemberMeta && b[from] == '{' {
			sum, end := h.without(b, from, isOfSender)
			if sum == 0 {
				return 0, end
			}
			return h.mix(key, h.mix('{', sum)), end
		}
		value, end := h.value(b, from)
		if own != "" && string(name) == own {
			return 0, end
		}
		return h.mix(key, value), end
	})
	return h.mix('{', sum)
}

// result hashes a result or an error. It leaves out the id of a subscription.
func (h *hasher) result(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	if b[0] != '{' || !bytes.Contains(b, []byte(mcp.MetaSubscriptionID)) {
		value, _ := h.value(b, 0)
		return value
	}
	meta := uint64(0)
	if start, _, ok := transport.Locate(b, mcp.MemberMeta); ok && b[start] == '{' {
		meta, _ = h.without(b, start, func(name string) bool { return name == mcp.MetaSubscriptionID })
	}
	rest, _ := h.without(b, 0, func(name string) bool { return name == mcp.MemberMeta })
	return h.mix('{', h.mix(rest, meta))
}

// without adds up the hashes of the members of the object beginning at i, except the left out
// members, and returns the object's end.
func (h *hasher) without(b []byte, i int, leftOut func(name string) bool) (sum uint64, end int) {
	return h.members(b, i, func(name []byte, key uint64, from int) (uint64, int) {
		value, end := h.value(b, from)
		if leftOut(string(name)) {
			return 0, end
		}
		return h.mix(key, value), end
	})
}

// cutText returns the text between the quotes of the string beginning at i, and the string's
// end.
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

// skipComma skips the blanks after a member or an element, and a comma.
func skipComma(b []byte, i int) int {
	i = skipBlank(b, i)
	if b[i] == ',' {
		i = skipBlank(b, i+1)
	}
	return i
}

// sketch is a bottom-k sketch (MinHash) of a message: the least hashes of scalars with their
// paths, in rising order. Equal scalars have equal hashes in every message, and two sketches
// estimate how much two messages differ.
type sketch []uint64

// sketchSize is the k of a sketch.
const sketchSize = 48

// sketch returns the sketch of a message.
func (h *hasher) sketch(m transport.Message) sketch {
	var s sketch
	for part, raw := range [...][]byte{m.Params, m.Result, m.Error} {
		if len(raw) > 0 {
			h.scalars(raw, 0, uint64(part), func(hash uint64) { s = append(s, hash) })
		}
	}
	slices.Sort(s)
	return slices.Clip(s[:min(len(s), sketchSize)])
}

// scalars calls each with the hash of each scalar, and its path, of the value beginning at i,
// save _meta. It returns the value's end.
func (h *hasher) scalars(b []byte, i int, path uint64, each func(uint64)) int {
	switch b[i] {
	case '{':
		_, end := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int) {
			if string(name) == mcp.MemberMeta {
				return h.value(b, from)
			}
			return 0, h.scalars(b, from, h.mix(path, key), each)
		})
		return end
	case '[':
		n := uint64(0)
		for i = skipBlank(b, i+1); b[i] != ']'; n++ {
			i = skipComma(b, h.scalars(b, i, h.mix(path, n), each))
		}
		return i + 1
	}
	value, end := h.value(b, i)
	each(h.mix(path, value))
	return end
}

// distance counts the hashes in only one of two sketches.
func (s sketch) distance(o sketch) int {
	n, i, j := 0, 0, 0
	for i < len(s) && j < len(o) {
		switch {
		case s[i] == o[j]:
			i++
			j++
		case s[i] < o[j]:
			i++
			n++
		default:
			j++
			n++
		}
	}
	return n + len(s) - i + len(o) - j
}
