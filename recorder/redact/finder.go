package redact

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// literal is how a secret, or the name of one, begins. Its text is folded: only what
// differs by more than bit 5 differs. It has four bytes, or three and a follow.
type literal struct {
	text   string
	match  matcher
	uri    bool   // it may be a URL's, wherever it stands
	follow *class // what must stand behind it; nil: anything
	exact  string // the text as it stands, if its case matters
	before *class // what may stand in front of a short one; nil: anything
}

// finder finds the places at which a literal may stand, in one pass that looks at
// every second place for the four bytes there. Of each literal the four bytes from two
// neighbouring places are known, but for one at an end, of a short one.
type finder struct {
	grams   *[tableSize]uint8 // what is not 0 is of a literal, nearly always
	table   []spot            // of the built-in, by bucket
	bucket  []uint16          // where each begins in the table
	spots   map[uint32][]spot
	first   *firstLook
	sieve   uint64          // a bit for each of their grams
	begins  map[string]bool // beginnings of the literals that are not enough
	firsts  class           // their first bytes, of the base's too
	pairs   [64]uint64      // and their first two, without case
	longest int
	base    *finder // has the literals that are built in; nil: this does
}

// spot is a literal that has a gram at an offset.
type spot struct {
	*literal
	offset int // -1: it begins behind the gram's first byte
	gram   uint32
}

// builtin is what all finders have.
var builtin = sync.OnceValue(func() *finder {
	f := &finder{grams: new([tableSize]uint8), first: new(firstLook), spots: make(map[uint32][]spot, 1<<12), begins: make(map[string]bool, 1<<11)}
	for _, l := range builtinLiterals() {
		f.add(l)
	}
	f.index()
	return f
})

// gramMask is what of four bytes counts: of those in the middle all but case, of those
// at the ends four bits, so that sixteen grams have whatever may stand there.
const gramMask = 0x5c5f5f5c

// anyByte are bytes of which one is like any byte at an end of a gram.
const anyByte = "\x00\x04\x08\x0c\x10\x14\x18\x1c\x40\x44\x48\x4c\x50\x54\x58\x5c"

// gramFactor spreads a gram: the upper bits are its place in the table.
const (
	gramFactor = 0x9e3779b1
	tableSize  = 1 << 16
	tableShift = 32 - 16
	bucketBits = 12
)

// tag tells grams at one place of the table apart, but where there are several.
func tag(g uint32) uint8 { return uint8(g*0x85ebca6b>>24) | 1 }

const manyTags = 2

func gramAt(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) & gramMask }

// index lays the spots out by bucket.
func (f *finder) index() {
	f.bucket = make([]uint16, 1<<bucketBits+1)
	for g, spots := range f.spots {
		f.bucket[g*gramFactor>>(32-bucketBits)+1] += uint16(len(spots))
	}
	for h := range len(f.bucket) - 1 {
		f.bucket[h+1] += f.bucket[h]
	}
	f.table = make([]spot, f.bucket[len(f.bucket)-1])
	free := slices.Clone(f.bucket)
	for g, spots := range f.spots {
		h := g * gramFactor >> (32 - bucketBits)
		free[h] += uint16(copy(f.table[free[h]:], spots))
	}
}

// at returns spots among which are those of a gram.
func (f *finder) at(g uint32) []spot {
	h := g * gramFactor >> (32 - bucketBits)
	return f.table[f.bucket[h]:f.bucket[h+1]]
}

// own returns the spots of a gram that the base has not.
func (f *finder) own(g uint32) []spot {
	if f.sieve>>(g*gramFactor>>26)&1 == 0 {
		return nil
	}
	return f.spots[g]
}

func newFinder() *finder {
	base := builtin()
	return &finder{grams: base.grams, first: base.first, spots: map[uint32][]spot{}, begins: map[string]bool{},
		firsts: base.firsts, pairs: base.pairs, longest: base.longest, base: base}
}

// add adds a literal.
func (f *finder) add(l literal) {
	if f.base != nil && f.grams == f.base.grams {
		grams, first := *f.base.grams, *f.base.first
		f.grams, f.first = &grams, &first
	}
	text, n := l.text, len(l.text)
	at := f.first.add(&l)
	if n >= 4 {
		f.spot(&l, at, text[at:])
	}
	if n > 4 { // of two neighbours one is at a second place
		if at+5 > n {
			at -= 2
		}
		f.spot(&l, at+1, text[at+1:])
	}
	for _, c := range []byte(anyByte) {
		if n <= 4 && (l.before == nil || l.before.like(c)) {
			f.spot(&l, -1, string(c)+text)
		}
		if n == 3 && l.follow.like(c) {
			f.spot(&l, 0, text+string(c))
		}
	}
	if l.follow != nil {
		f.beginning(text)
	}
	for i := 1; i < n; i++ {
		f.beginning(text[:i])
	}
	f.longest = max(f.longest, n+1)
}

// beginning adds one of a literal.
func (f *finder) beginning(text string) {
	f.begins[text] = true
	f.firsts[text[0]] = true
	if len(text) > 1 {
		f.pairs[bare(text[0])] |= 1 << bare(text[1])
	}
}

// like reports whether a byte of the class is like c at the end of a gram.
func (c *class) like(end byte) bool {
	for b, in := range c {
		if in && byte(b)&byte(gramMask>>24) == end {
			return true
		}
	}
	return false
}

// spot adds a spot; what begins first comes first.
func (f *finder) spot(l *literal, offset int, text string) {
	g := gramAt([]byte(text), 0)
	at := 0
	for at < len(f.spots[g]) && f.spots[g][at].offset >= offset {
		at++
	}
	f.sieve |= 1 << (g * gramFactor >> 26)
	f.spots[g] = slices.Insert(f.spots[g], at, spot{l, offset, g})
	if slot := &f.grams[g*gramFactor>>tableShift]; *slot == 0 || *slot == tag(g) {
		*slot = tag(g)
	} else {
		*slot = manyTags
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
		f.add(literal{text: folded(longest), match: assigned, uri: true})
		return
	}
	for _, c := range []byte(followers) {
		if name := longest + string(c); len(name) >= 4 {
			f.add(literal{text: folded(name), match: assigned, uri: true})
			continue
		}
		for _, d := range []byte(followers + ":[{0123456789") {
			f.add(literal{text: folded((longest + string(c) + string(d) + "    ")[:4]), match: assigned, uri: true})
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

// next returns the next place from i on that has a literal's gram, of each literal one;
// -1: there is none. s is kept from call to call, for one b.
func (f *finder) next(b []byte, i int, s *sights) int {
	for width > 0 && i+4 <= len(b) {
		if (i < s.from || i >= s.to) && !s.see(f, b, i) {
			break
		}
		if at := s.next(f, b, i); at >= 0 {
			return at
		}
		i = s.to
	}
	if i+4 > len(b) {
		return -1
	}
	return f.walk(b, i)
}

// walk is next without the wide look: it looks at every second place.
func (f *finder) walk(b []byte, i int) int {
	grams, rest := f.grams, b[i:]
	for ; len(rest) >= 16; rest = rest[12:] { // six places at once
		v, w := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[6:])
		g0, g1, g2 := grams[uint32(v)&gramMask*gramFactor>>tableShift], grams[uint32(v>>16)&gramMask*gramFactor>>tableShift], grams[uint32(v>>32)&gramMask*gramFactor>>tableShift]
		g3, g4, g5 := grams[uint32(w)&gramMask*gramFactor>>tableShift], grams[uint32(w>>16)&gramMask*gramFactor>>tableShift], grams[uint32(w>>32)&gramMask*gramFactor>>tableShift]
		if g0|g1|g2|g3|g4|g5 == 0 {
			continue
		}
		at := len(b) - len(rest)
		switch {
		case g0 != 0 && f.has(b, at, g0):
			return at
		case g1 != 0 && f.has(b, at+2, g1):
			return at + 2
		case g2 != 0 && f.has(b, at+4, g2):
			return at + 4
		case g3 != 0 && f.has(b, at+6, g3):
			return at + 6
		case g4 != 0 && f.has(b, at+8, g4):
			return at + 8
		case g5 != 0 && f.has(b, at+10, g5):
			return at + 10
		}
	}
	for at := len(b) - len(rest); at+4 <= len(b); at += 2 {
		if t := grams[gramAt(b, at)*gramFactor>>tableShift]; t != 0 && f.has(b, at, t) {
			return at
		}
	}
	return -1
}

// has reports whether a literal may stand where the table has a tag: what of it is in
// b does.
func (f *finder) has(b []byte, i int, t uint8) bool {
	g := gramAt(b, i)
	return (t == tag(g) || t == manyTags) && f.stands(b, i, g)
}

func (f *finder) stands(b []byte, i int, g uint32) bool {
	if len(f.own(g)) > 0 {
		return true
	}
	if f.base == nil {
		return false
	}
	spots := f.base.at(g)
	for k := range spots {
		if s := &spots[k]; s.gram == g {
			from := max(0, s.offset-i)
			if at := i - s.offset + from; hasFolded(b[at:], s.text[from:min(len(s.text), from+len(b)-at)]) {
				return true
			}
		}
	}
	return false
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
		if f.pairs[bare(begun[0])]>>bare(begun[1])&1 == 0 {
			continue
		}
		if f.begins[string(begun)] || f.base != nil && f.base.begins[string(begun)] {
			return n
		}
	}
	return 0
}

// begin reports whether a literal begins with a byte.
func (f *finder) begin(c byte) bool { return f.firsts[fold(c)] }

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

var follower = classOf(followers + "\n\r")

// quoting is what a string ends with, in JSON that may be in a string.
var quoting = classOf("\"\\")

// noWord is what may stand in front of a key of a vendor.
var noWord = func() *class {
	c := *alnum
	for i := range c {
		c[i] = !c[i]
	}
	return &c
}()

// builtinLiterals are those of the names, the shapes, and what has a syntax of its own.
func builtinLiterals() []literal {
	var list []literal
	for _, name := range []string{"passwo", "passwd", "passphrase", "passcode", "secret", "token", "credential", "authoriz",
		"authoris", "cookie", "mnemonic", "signature=", "sig=", "jsessionid", "phpsessid", "connection_str",
		"seed_phrase", "seedphrase", "recovery_phrase", "recoveryphrase", "webhook_url", "webhookurl"} {
		list = append(list, literal{text: folded(name), match: assigned})
	}
	for _, name := range []string{"pwd", "pass", "auth", "key", "jwt", "otp", "cvv", "cvc", "cred", "pat", "bearer"} {
		list = append(list, literal{text: name, match: assigned, follow: follower})
	}
	for _, name := range vendorNames {
		list = append(list, literal{text: folded(name), match: vendor})
	}
	for _, name := range []string{"connectionStr"} {
		list = append(list, literal{text: folded(name), match: assigned, exact: name})
	}
	for _, name := range []string{`"pin`, `"ssn`, `"pw`, `"dsn`, "_dsn"} {
		list = append(list, literal{text: folded(name), match: assignedWithin, follow: follower})
	}
	list = append(list, literal{text: "eyj", match: webToken, follow: word, before: noWord, uri: true}, literal{text: "bearer ", match: bearer},
		literal{text: "basic ", match: basic}, literal{text: folded("-----begin"), match: block},
		literal{text: folded("://"), match: address, uri: true, follow: host, before: alnum},
		literal{text: folded(`:\/\`), match: escaped},                         // of a URL in JSON
		literal{text: folded(`\u00`), match: escaped, follow: classOf("2-7")}) // an escape that need not be: what it hides is seen decoded
	list = append(list, literal{text: "identified by ", match: identified}, literal{text: folded(`"-u`), match: userOption, follow: quoting}, literal{text: folded(" -u "), match: userOption},
		literal{text: folded(" --user "), match: userOption})
	list = append(list, literal{text: folded("@tcp("), match: dataSource}, literal{text: folded("@unix("), match: dataSource},
		literal{text: "-us", match: mailchimp, follow: classOf("0-9")}, literal{text: "jqqj99", match: microsoft, exact: "JQQJ99"},
		literal{text: folded("_mmk"), match: maxmind},
		literal{text: "private-lines:", match: closedBlock("Private-Lines:", "Private-MAC", true), exact: "Private-Lines:"},
		literal{text: "---- begin ssh2 e", match: closedBlock("---- BEGIN SSH2 ENC", "---- END SSH2", false)},
		literal{text: folded("?code="), match: assignedWithin, uri: true}, literal{text: folded("&code="), match: assignedWithin, uri: true})
	list = append(list, literal{text: "pat.", match: harness, exact: "pat.", before: noWord}, literal{text: "sat.", match: harness, exact: "sat.", before: noWord},
		literal{text: ".ey", match: laterPart, exact: ".ey", follow: word, before: word},
		literal{text: folded("webhookb2/"), match: teams, uri: true}, literal{text: folded("response="), match: digest},
		literal{text: folded("@//"), match: oracle, follow: alnum, before: plain}, literal{text: folded("apiversion"), match: manifest})
	for _, name := range commandNames {
		list = append(list, literal{text: folded(name), match: command, exact: name})
	}
	for i := range shapes {
		list = append(list, shapes[i].literals()...)
	}
	return list
}
