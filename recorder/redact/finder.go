package redact

import (
	"encoding/binary"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// literal is how a secret, or the name of one, begins. Its text is folded: only what
// differs by more than bit 5 differs.
type literal struct {
	text  string
	match matcher
	uri   bool // it may be a URL's, wherever it stands
}

// finder finds the places at which a literal may stand, in one pass that looks at
// every second place: a literal of four bytes has its first three or its last three
// there.
type finder struct {
	bits    [2048]uint64 // of the grams
	heads   [1024]uint64 // of the literals' first four bytes
	table   []spot       // of the built-in, by bucket
	bucket  []uint16     // where each begins in the table
	spots   map[uint32][]spot
	begins  map[string]bool // proper prefixes of the literals
	longest int
	base    *finder // has the literals that are built in; nil: this does
}

// spot is a literal that has a gram at an offset of 0 or 1.
type spot struct {
	literal
	offset int
	gram   uint32
}

// builtin is what all finders have.
var builtin = sync.OnceValue(func() *finder {
	f := &finder{spots: map[uint32][]spot{}, begins: map[string]bool{}}
	for _, l := range builtinLiterals() {
		f.add(l)
	}
	f.index()
	return f
})

const buckets = 1 << 12

// index lays the spots out by bucket.
func (f *finder) index() {
	by := make([][]spot, buckets)
	for g, spots := range f.spots {
		h := g * gramFactor >> 20
		by[h] = append(by[h], spots...)
	}
	for _, spots := range by {
		f.bucket = append(f.bucket, uint16(len(f.table)))
		f.table = append(f.table, spots...)
	}
	f.bucket = append(f.bucket, uint16(len(f.table)))
}

// at returns spots among which are those of a gram.
func (f *finder) at(g uint32) []spot {
	h := g * gramFactor >> 20
	return f.table[f.bucket[h]:f.bucket[h+1]]
}

func newFinder() *finder {
	base := builtin()
	return &finder{bits: base.bits, heads: base.heads, spots: map[uint32][]spot{}, begins: map[string]bool{}, longest: base.longest, base: base}
}

// add adds a literal, of four bytes or more.
func (f *finder) add(l literal) {
	for _, offset := range []int{1, 0} { // what begins first comes first
		g := gram([]byte(l.text), offset)
		at := 0
		for at < len(f.spots[g]) && f.spots[g][at].offset >= offset {
			at++
		}
		f.spots[g] = slices.Insert(f.spots[g], at, spot{l, offset, g})
		h := g * gramFactor
		f.bits[h>>21] |= 1 << (h >> 15 & 63)
	}
	h := binary.LittleEndian.Uint32([]byte(l.text)) * gramFactor
	f.heads[h>>22] |= 1 << (h >> 16 & 63)
	for n := 1; n < len(l.text); n++ {
		f.begins[l.text[:n]] = true
	}
	f.longest = max(f.longest, len(l.text))
}

// addValue adds a secret itself, and how it stands in a URL.
func (f *finder) addValue(value string) {
	for i, v := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		if len(v) < 4 || i > 0 && v == value {
			continue
		}
		head := v[:min(len(v), 16)]
		f.add(literal{folded(head), exactly(value, v), false})
	}
}

// addName adds what a user's key looks like in text.
func (f *finder) addName(key string) {
	longest := ""
	for _, part := range strings.FieldsFunc(key, func(c rune) bool { return c > 127 || !alnum[c] }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) >= 4 {
		f.add(literal{folded(longest), assigned, true})
		return
	}
	for _, c := range []byte(followers) {
		if name := longest + string(c); len(name) >= 4 {
			f.add(literal{folded(name), assigned, true})
			continue
		}
		for _, d := range []byte(followers + ":[{0123456789") {
			f.add(literal{folded((longest + string(c) + string(d) + "    ")[:4]), assigned, true})
		}
	}
}

func folded(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = fold(b[i])
	}
	return string(b)
}

const foldMask = 0x202020

func gram(b []byte, i int) uint32 {
	return (uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16) | foldMask
}

// gramFactor spreads a gram over the bits: the upper eleven say which word, the next six
// which bit.
const gramFactor = 0x9e3779b1

// next returns the next place from i on, every second one, that has a literal's gram;
// -1: none has.
func (f *finder) next(b []byte, i int) int {
	for ; i+8 <= len(b); i += 6 { // three places at once
		v := binary.LittleEndian.Uint64(b[i:]) | 0x2020202020202020
		h0 := uint32(v) & 0xffffff * gramFactor
		h1 := uint32(v>>16) & 0xffffff * gramFactor
		h2 := uint32(v>>32) & 0xffffff * gramFactor
		m0 := f.bits[h0>>21] >> (h0 >> 15 & 63)
		m1 := f.bits[h1>>21] >> (h1 >> 15 & 63)
		m2 := f.bits[h2>>21] >> (h2 >> 15 & 63)
		if (m0|m1|m2)&1 == 0 {
			continue
		}
		switch {
		case m0&1 != 0 && f.begins4(b, i):
			return i
		case m1&1 != 0 && f.begins4(b, i+2):
			return i + 2
		case m2&1 != 0 && f.begins4(b, i+4):
			return i + 4
		}
	}
	for ; i+3 <= len(b); i += 2 {
		if h := gram(b, i) * gramFactor; f.bits[h>>21]>>(h>>15&63)&1 != 0 && f.begins4(b, i) {
			return i
		}
	}
	return -1
}

// begins4 reports whether the four bytes at a place, or from the one before it, may
// begin a literal.
func (f *finder) begins4(b []byte, i int) bool {
	if i+4 <= len(b) {
		if h := (binary.LittleEndian.Uint32(b[i:]) | 0x20202020) * gramFactor; f.heads[h>>22]>>(h>>16&63)&1 != 0 {
			return true
		}
	}
	if i == 0 {
		return false
	}
	h := (binary.LittleEndian.Uint32(b[i-1:]) | 0x20202020) * gramFactor
	return f.heads[h>>22]>>(h>>16&63)&1 != 0
}

// partial returns how many bytes at the end of b may be the beginning of a literal. One
// alone is not worth holding: it is looked at again with what comes next.
func (f *finder) partial(b []byte) int {
	var buf [32]byte
	n := min(f.longest-1, len(b), len(buf))
	tail := buf[:n]
	for i, c := range b[len(b)-n:] {
		tail[i] = fold(c)
	}
	for ; n > 1; n-- {
		begun := tail[len(tail)-n:]
		if f.begins[string(begun)] || f.base != nil && f.base.begins[string(begun)] {
			return n
		}
	}
	return 0
}

// begin reports whether a literal begins with a byte.
func (f *finder) begin(c byte) bool {
	first := [1]byte{fold(c)}
	return f.begins[string(first[:])] || f.base.begins[string(first[:])]
}

func hasFolded(b []byte, text string) bool {
	if len(b) < len(text) {
		return false
	}
	for i := 0; i < len(text); i++ {
		if fold(b[i]) != text[i] {
			return false
		}
	}
	return true
}

// followers is what stands behind a short name.
const followers = "\"'`\\:= sS"

// builtinLiterals are those of the names, the shapes, and what has a syntax of its own.
func builtinLiterals() []literal {
	var list []literal
	add := func(text string, m matcher) { list = append(list, literal{folded(text), m, false}) }
	for _, name := range []string{"passw", "passphrase", "passcode", "secret", "token", "credential", "authoriz", "authoris",
		"cookie", "mnemonic"} {
		add(name, assigned)
	}
	for _, name := range []string{"pwd", "pass", "auth", "key", "jwt", "otp", "cvv", "cvc", "cred", "pat", "bearer"} {
		for _, f := range []byte(followers) {
			add(name+string(f), assigned)
		}
	}
	for c := byte('-'); c <= 'z'; c++ {
		if word[c] && (c < 'A' || c > 'Z') {
			add("eyj"+string(c), webToken)
		}
	}
	add("bearer ", bearer)
	add("basic ", basic)
	add("-----begin", block)
	add("sig=", assigned)
	add("signature=", assigned)
	for c := byte('0'); c <= 'z'; c++ {
		if alnum[c] && (c < 'A' || c > 'Z') {
			list = append(list, literal{folded(string(c) + "://"), address, true})
		}
	}
	add(`:\/\`, escaped) // of a URL in JSON
	for c := byte('2'); c <= '7'; c++ {
		add(`\u00`+string(c), escaped) // an escape that need not be: what it hides is seen decoded
	}
	for i := range shapes {
		list = append(list, shapes[i].literals()...)
	}
	return list
}
