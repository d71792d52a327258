//go:build !purego

package redact

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The processor finds those places whose four bytes the buckets have, of whatever bytes
// and however many.
func TestLookPlaces(t *testing.T) {
	f := newRedactor(t, Rules{Values: []string{"open sesame", "gr\xc3\xbc\xc3\x9fe dich"}}).finder.first
	rnd := rand.New(rand.NewPCG(5, 6))
	b := make([]byte, 0, 300)
	for n := 1; n <= 200; n++ {
		b = b[:0]
		for len(b) < n+3 { // half of it is of the buckets
			c := &f.buckets[rnd.IntN(buckets)]
			for k := range 4 {
				v := byte(rnd.Uint32())
				for tries := 0; tries < 50 && c.set[k]>>bare(v)&1 == 0 && len(b)%8 < 4; tries++ {
					v = byte(rnd.Uint32())
				}
				b = append(b, v)
			}
		}
		b = b[: n+3 : n+3]
		var places [window + 2]uint16
		if width >= 64 {
			found := look64(&b[0], n, &f.wholes, &places[0])
			samePlaces(t, b, places[:found], func(c *bucket, k int, v byte) bool { return c.set[k]>>bare(v)&1 != 0 }, f)
		}
		if width >= 32 && n%32 == 0 {
			found := look32(&b[0], n/32, &f.halves, &places[0])
			samePlaces(t, b, places[:found], func(c *bucket, k int, v byte) bool { return c.lo[k]>>(v&15)&1 != 0 && c.hi[k]>>(v>>4)&1 != 0 }, f)
		}
	}
}

func samePlaces(t *testing.T, b []byte, got []uint16, in func(c *bucket, k int, v byte) bool, f *firstLook) {
	t.Helper()
	var want []uint16
	for i := range b[:len(b)-3] {
		if slices.ContainsFunc(f.buckets[:], func(c bucket) bool {
			return in(&c, 0, b[i]) && in(&c, 1, b[i+1]) && in(&c, 2, b[i+2]) && in(&c, 3, b[i+3])
		}) {
			want = append(want, uint16(i))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("at %v of %q, want %v", got, b, want)
	}
}
