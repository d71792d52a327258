package diff

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// sketchSize is how many places of a message a sketch has: those with the least hashes,
// which are the same places in every message.
const sketchSize = 48

// sketch is what a message says at some of its places, as rising hashes.
type sketch []uint64

// sketchOf makes the sketch of a message.
func (h *hasher) sketchOf(m transport.Message) sketch {
	var s sketch
	for part, raw := range [...][]byte{m.Params, m.Result, m.Error} {
		if len(raw) > 0 {
			h.leaves(raw, 0, uint64(part), func(leaf uint64) { s = append(s, leaf) })
		}
	}
	slices.Sort(s)
	return slices.Clip(s[:min(len(s), sketchSize)])
}

// leaves calls each with the hash of each scalar of a value, and where it stands.
func (h *hasher) leaves(b []byte, i int, path uint64, each func(uint64)) int {
	switch b[i] {
	case '{':
		_, end := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
			if string(name) == "_meta" {
				_, end := h.value(b, from)
				return 0, end, false
			}
			return 0, h.leaves(b, from, h.mix(path, key), each), false
		})
		return end
	case '[':
		n := uint64(0)
		for i = skipBlank(b, i+1); b[i] != ']'; n++ {
			i = skipBlank(b, h.leaves(b, i, h.mix(path, n), each))
			if b[i] == ',' {
				i = skipBlank(b, i+1)
			}
		}
		return i + 1
	}
	value, end := h.value(b, i)
	each(h.mix(path, value))
	return end
}

// distance counts what only one of two sketches has.
func (s sketch) distance(o sketch) int {
	n, i, j := 0, 0, 0
	for i < len(s) && j < len(o) {
		switch {
		case s[i] == o[j]:
			i, j = i+1, j+1
		case s[i] < o[j]:
			i, n = i+1, n+1
		default:
			j, n = j+1, n+1
		}
	}
	return n + len(s) - i + len(o) - j
}
