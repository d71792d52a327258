package redact

import (
	"bytes"
	"fmt"
	"testing"
)

// atEachWidth tests as every processor would look that can do less than this one.
func atEachWidth(t *testing.T, test func(t *testing.T)) {
	defer func(w int) { width = w }(width)
	for _, w := range []int{64, 32, 0} {
		if w > width {
			continue
		}
		width = w
		t.Run(fmt.Sprint(w, " places"), test)
	}
}

// At whatever place a literal stands, the first look sees it, whatever is around it.
func TestFinderPlaces(t *testing.T) { atEachWidth(t, finderPlaces) }

func finderPlaces(t *testing.T) {
	f := newRedactor(t, Rules{Values: []string{"q7", "zz9!", "open sesame"}}).finder
	literals := append(builtinLiterals(), literal{text: "zz9!"}, literal{text: folded("open sesame")})
	for _, l := range literals {
		for _, around := range []byte(" ~\"\xa9\xff") {
			for at := range 14 {
				b := bytes.Repeat([]byte{around}, at)
				if l.before != nil && at > 0 {
					b[at-1] = firstOf(l.before, around)
				}
				b = append(b, l.exact...)
				b = append(b, l.text[len(l.exact):]...)
				if l.follow != nil {
					b = append(b, firstOf(l.follow, around))
				}
				for behind := range 5 {
					if !seesAt(f, append(b[:len(b):len(b)], bytes.Repeat([]byte{around}, behind)...), at, l.text) {
						t.Fatalf("%q: not seen at %d of %q", l.text, at, b)
					}
				}
			}
		}
	}
}

// firstOf returns a byte of the class, rather the one that is wanted.
func firstOf(c *class, wanted byte) byte {
	for b := range 256 {
		if c[wanted] {
			break
		}
		wanted = byte(b)
	}
	return wanted
}

// seesAt reports whether the finder comes to a literal at a place.
func seesAt(f *finder, b []byte, at int, text string) bool {
	s := new(sights)
	for i := f.next(b, 0, s); i >= 0; i = f.next(b, i+1, s) {
		g := gramAt(b, i)
		for _, spots := range [][]spot{f.spots[g], f.base.at(g)} {
			for _, s := range spots {
				if s.gram == g && i-s.offset == at && s.text == text {
					return true
				}
			}
		}
	}
	return false
}
