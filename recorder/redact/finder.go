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
	bits    [512]uint64
	spots   map[uint32][]spot
	begins  map[string]bool // proper prefixes of the literals
	longest int
	base    *finder // has the literals that are built in; nil: this does
}

// spot is a literal that has a gram at an offset of 0 or 1.
type spot struct {
	literal
	offset int
}

// builtin is what all finders have.
var builtin = sync.OnceValue(func() *finder {
	f := &finder{spots: map[uint32][]spot{}, begins: map[string]bool{}}
	for _, l := range builtinLiterals() {
		f.add(l)
	}
	return f
})

func newFinder() *finder {
	base := builtin()
	return &finder{bits: base.bits, spots: map[uint32][]spot{}, begins: map[string]bool{}, longest: base.longest, base: base}
}

// add adds a literal, of four bytes or more.
func (f *finder) add(l literal) {
	for _, offset := range []int{1, 0} { // what begins first comes first
		g := gram([]byte(l.text), offset)
		at := 0
		for at < len(f.spots[g]) && f.spots[g][at].offset >= offset {
			at++
		}
		f.spots[g] = slices.Insert(f.spots[g], at, spot{l, offset})
		h := gramHash(g)
		f.bits[h>>6] |= 1 << (h & 63)
	}
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

func gramHash(g uint32) uint32 { return (g * 0x9e3779b1) >> 17 }

// next returns the next place from i on, every second one, that has a literal's gram;
// -1: none has.
func (f *finder) next(b []byte, i int) int {
	for ; i+8 <= len(b); i += 4 {
		v := binary.LittleEndian.Uint64(b[i:])
		h := gramHash(uint32(v)&0xffffff | foldMask)
		if f.bits[h>>6&511]>>(h&63)&1 != 0 {
			return i
		}
		h = gramHash(uint32(v>>16)&0xffffff | foldMask)
		if f.bits[h>>6&511]>>(h&63)&1 != 0 {
			return i + 2
		}
	}
	for ; i+3 <= len(b); i += 2 {
		h := gramHash(gram(b, i))
		if f.bits[h>>6]>>(h&63)&1 != 0 {
			return i
		}
	}
	return -1
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
