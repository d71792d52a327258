package boltstore

import "bytes"

// A large payload is cut into pieces at places that its content decides, so that what is
// the same in two payloads is the same pieces, whatever stands before and behind it. Such
// places are the ends of a long stretch without a quotation mark, which in what passes
// here is an image or a file in base64, and, within pieces that would be too long, where a
// rolling hash of the last 64 bytes has some bits zero.
const (
	minPiece = 32 << 10
	maxPiece = 512 << 10
	runLen   = 16 << 10 // bytes without a quotation mark that make a long stretch
	cutAhead = maxPiece + runLen
	cutBits  = 17 // of the hash, which are zero every 128 KiB
)

// cutter cuts one payload.
type cutter struct {
	run bool // what follows is within a long stretch
}

// cut returns the length of the piece that begins b, which is all that follows or at
// least cutAhead bytes of it.
func (c *cutter) cut(b []byte) int {
	end := rolled(b[:min(len(b), maxPiece)])
	if c.run {
		q := bytes.IndexByte(b[:end], '"')
		if q > 0 {
			c.run = false
			return q
		}
		if q < 0 {
			return end
		}
		c.run = false
	}
	for q := 0; ; {
		next := bytes.IndexByte(b[q:end], '"')
		if next < 0 {
			return end
		}
		q += next + 1
		if len(b)-q >= runLen && bytes.IndexByte(b[q:q+runLen], '"') < 0 {
			c.run = true
			return q
		}
	}
}

// rolled returns where the rolling hash ends a piece, or the length of b.
func rolled(b []byte) int {
	if len(b) <= minPiece {
		return len(b)
	}
	var h uint64
	for i, x := range b[minPiece-64:] {
		h = h<<1 + gear[x]
		if h>>(64-cutBits) == 0 && i >= 64 {
			return minPiece - 64 + i
		}
	}
	return len(b)
}

// gear has a random number for each byte. Others would cut elsewhere: what is stored
// stays readable, but is not shared with what comes.
var gear = func() (g [256]uint64) {
	x := uint64(1)
	for i := range g { // splitmix64
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		g[i] = z ^ z>>31
	}
	return g
}()
