// Package varint writes and reads the bytes that checkpoints are made of: numbers as
// unsigned varints, texts as their length and their bytes, one after the other.
//
// Nothing says which field is which: who reads asks in the order in which it was written.
// What is not there, or longer than what is left, makes the reader bad, and from then on
// all is 0; nothing is reserved that the bytes do not have.
package varint

import "encoding/binary"

// Append appends numbers.
func Append(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// AppendText appends texts.
func AppendText(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

// Reader reads them again.
type Reader struct {
	b   []byte
	bad bool
}

// NewReader returns a reader of the bytes, of which what it takes is a part.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Bad reports whether something was not there.
func (r *Reader) Bad() bool { return r.bad }

// Whole reports whether all was there, and nothing else.
func (r *Reader) Whole() bool { return !r.bad && len(r.b) == 0 }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Take reads n bytes, or none.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// Text reads a text.
func (r *Reader) Text() string { return string(r.Take(r.Uint())) }

// Count reads how many of something follow, each a byte at least.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *Reader) fail() { r.bad, r.b = true, nil }
