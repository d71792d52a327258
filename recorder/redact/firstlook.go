package redact

import "math/bits"

// buckets is how many kinds of four bytes the wide look tells apart, window how many
// blocks of 32 places it looks at in one go.
const (
	buckets   = 16
	window    = 32
	blockSize = 32
)

// bucket is four sets of bytes, one for each place: of those whose low half is in lo
// and whose high half is in hi. It has more than was put into it.
type bucket struct{ lo, hi [4]uint16 }

// tables are the buckets as the processor wants them: of eight buckets each, for each
// of four places, the bits of the buckets by a byte's low half, and by its high half;
// twice, as it has two lanes.
type tables [buckets / 8][4][2][blockSize]byte

// firstLook is what a wide look knows of the literals: four bytes of each.
type firstLook struct {
	tables  tables
	buckets [buckets]bucket
}

// sights are the places of a window of a text that may have a literal's gram.
type sights struct {
	from, to int
	places   [window*blockSize + 2]uint16 // from there, in order
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

func (b *bucket) put(k int, c byte) {
	b.lo[k] |= 1 << (c & 15)
	b.hi[k] |= 1 << (c >> 4)
}

// with returns the bucket with what another has.
func (b bucket) with(other *bucket) bucket {
	for k := range b.lo {
		b.lo[k] |= other.lo[k]
		b.hi[k] |= other.hi[k]
	}
	return b
}

// often says how many bytes of texts have a high half, about, in thousands: blanks
// and marks, digits, letters.
var often = [16]int{2: 200, 3: 100, 4: 70, 5: 60, 6: 300, 7: 200}

// weight says how much of texts is in the bucket, about.
func (b *bucket) weight() int {
	w := 1
	for k := range b.lo {
		n := 1
		for h, each := range often {
			n += each * int(b.hi[k]>>h&1)
		}
		w *= 1 + n*bits.OnesCount16(b.lo[k])/160
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
	for k := range 4 {
		t := &f.tables[kind/8][k]
		for half := range uint(16) {
			low, high := byte(sets.lo[k]>>half&1)<<(kind%8), byte(sets.hi[k]>>half&1)<<(kind%8)
			for lane := uint(0); lane < blockSize; lane += 16 {
				t[0][lane+half] |= low
				t[1][lane+half] |= high
			}
		}
	}
	return offset
}

// see looks at the next window of b from i on; false: too little is left.
func (s *sights) see(f *finder, b []byte, i int) bool {
	n := (len(b) - i - 3) / blockSize
	if n == 0 { // the last block once more, with what was seen before
		n, i = 1, len(b)-3-blockSize
	}
	if i < 0 || len(b) < blockSize+3 {
		return false
	}
	n = min(n, window)
	s.n = look(&b[i], n, &f.first.tables, &s.places[0])
	s.from, s.to, s.k = i, i+n*blockSize, 0
	s.sift(f.grams, b[i:s.to+3])
	return true
}

// sift keeps the places that have a gram of the table.
func (s *sights) sift(grams *[tableSize]uint8, b []byte) {
	n := 0
	for _, at := range s.places[:s.n] {
		s.places[n] = at
		if grams[gramAt(b, int(at))*gramFactor>>tableShift] != 0 {
			n++
		}
	}
	s.n = n
}

// next returns the next place from i on; -1: there is none in the window.
func (s *sights) next(i int) int {
	for s.k > 0 && int(s.places[s.k-1]) >= i-s.from {
		s.k--
	}
	for ; s.k < s.n; s.k++ {
		if at := s.from + int(s.places[s.k]); at >= i {
			s.k++
			return at
		}
	}
	return -1
}
