package redact

import "math/bits"

// buckets is how many kinds of four bytes the wide look tells apart, window how many
// places it looks at in one go.
const (
	buckets = 16
	window  = 1024
)

// bucket is four sets of bytes, one for each place: of those that are in set but for
// their case, and of those whose low half is in lo and whose high half is in hi. The
// second has more than was put into it.
type bucket struct {
	set    [4]uint64
	lo, hi [4]uint16
}

// halves are the buckets as a processor wants them that looks up 16 bytes: of eight
// buckets each, for each of four places, the bits of the buckets by a byte's low half,
// and by its high half; twice, as it has two lanes.
type halves [buckets / 8][4][2][32]byte

// wholes are those for one that looks up 64: the bits of the buckets by a byte but for
// its case.
type wholes [buckets / 8][4][64]byte

// firstLook is what a wide look knows of the literals: four bytes of each.
type firstLook struct {
	halves  halves
	wholes  wholes
	buckets [buckets]bucket
}

// sights are the places of a window of a text that may have a literal's gram.
type sights struct {
	from, to int
	places   [window + 2]uint16 // from there, in order
	n        int
	k        int // the first that was not asked for yet
}

// anew forgets the text.
func (s *sights) anew() *sights {
	s.to = 0
	return s
}

// bytesOf returns the sets of the four bytes at an offset of a literal.
func (l *literal) bytesOf(offset int) (b bucket) {
	for k := range 4 {
		switch i := offset + k; {
		case i >= len(l.text):
			for c, in := range l.follow {
				if in {
					b.put(k, byte(c))
				}
			}
		case i < len(l.exact):
			b.put(k, l.exact[i])
		default:
			b.put(k, l.text[i])
			b.put(k, l.text[i]&^0x20)
		}
	}
	return b
}

// bare is what is left of a byte without its case: bits 0 to 4, and bit 6.
func bare(c byte) byte { return c&0x1f | c&0x40>>1 }

func (b *bucket) put(k int, c byte) {
	b.set[k] |= 1 << bare(c)
	b.lo[k] |= 1 << (c & 15)
	b.hi[k] |= 1 << (c >> 4)
}

// with returns the bucket with what another has.
func (b bucket) with(other *bucket) bucket {
	for k := range b.lo {
		b.set[k] |= other.set[k]
		b.lo[k] |= other.lo[k]
		b.hi[k] |= other.hi[k]
	}
	return b
}

// often says how many bytes of texts are blanks and marks, digits, and letters up to o
// and from p on, about, in thousands.
var often = [4]int{200, 100, 400, 270}

// weight says how much of texts is in the bucket, about.
func (b *bucket) weight() int {
	w := 1
	for k := range b.set {
		n := 1
		for h, each := range often {
			n += each * bits.OnesCount16(uint16(b.set[k]>>(16*h))) / 16
		}
		w *= n
	}
	return w
}

// add adds a literal, and returns at which offset its four bytes are looked for: where
// the kinds have it, else anywhere, and there where it makes the least difference.
func (f *firstLook) add(l *literal) (offset int) {
	kind, least := -1, 0
	try := func(k, o int) {
		sets := l.bytesOf(o)
		more := f.buckets[k].with(&sets)
		if cost := more.weight() - f.buckets[k].weight(); kind < 0 || cost < least {
			kind, offset, least = k, o, cost
		}
	}
	for o := 0; o == 0 || o+4 <= len(l.text); o++ {
		for _, k := range kindsOf(l.text[o:min(len(l.text), o+4)]) {
			try(k, o)
		}
	}
	for o, known := 0, kind >= 0; !known && (o == 0 || o+4 <= len(l.text)); o++ {
		for k := range f.buckets {
			try(k, o)
		}
	}
	sets := l.bytesOf(offset)
	f.buckets[kind] = f.buckets[kind].with(&sets)
	f.put(kind, &sets)
	return offset
}

// put puts what a bucket has into the tables.
func (f *firstLook) put(kind int, b *bucket) {
	eight, bit := kind/8, byte(1)<<(kind%8)
	for k := range 4 {
		for set := b.set[k]; set != 0; set &= set - 1 {
			f.wholes[eight][k][bits.TrailingZeros64(set)] |= bit
		}
		for half, set := range [2]uint16{b.lo[k], b.hi[k]} {
			for ; set != 0; set &= set - 1 {
				c := bits.TrailingZeros16(set)
				f.halves[eight][k][half][c] |= bit
				f.halves[eight][k][half][16+c] |= bit
			}
		}
	}
}

// see looks at the next window of b from i on; false: it is too short for that.
func (s *sights) see(f *finder, b []byte, i int) bool {
	n := min(len(b)-3-i, window)
	switch {
	case width == 64 && n > 0:
		s.n = look64(&b[i], n, &f.first.wholes, &s.places[0])
	case width == 32 && len(b) >= 32+3:
		if n < 32 { // the last block once more, with what was seen before
			n, i = 32, len(b)-3-32
		}
		n -= n % 32
		s.n = look32(&b[i], n/32, &f.first.halves, &s.places[0])
	default:
		return false
	}
	s.from, s.to, s.k = i, i+n, 0
	return true
}

// next returns the next place from i on at which a literal may stand; -1: there is none
// in the window.
func (s *sights) next(f *finder, b []byte, i int) int {
	for s.k > 0 && int(s.places[s.k-1]) >= i-s.from {
		s.k--
	}
	for s.k < s.n {
		at := s.from + int(s.places[s.k])
		s.k++
		if at < i {
			continue
		}
		g := gramAt(b, at)
		if t := f.grams[g*gramFactor>>tableShift]; t == tag(g) || t == manyTags {
			return at
		}
	}
	return -1
}
