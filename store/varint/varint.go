// Package varint writes and reads fields of binary forms: numbers as varints, texts as a length
// and the bytes, in a row.
//
// Fields carry no names: a reader asks for the fields in the order of writing.
// A field that is missing, or longer than the rest of the bytes, makes the reader bad, and
// every later field reads as 0. The reader never allocates more than the bytes hold.
package varint

import "encoding/binary"

// Append appends numbers.
func Append(data []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		data = binary.AppendUvarint(data, n)
	}
	return data
}

// AppendText appends texts.
func AppendText(data []byte, texts ...string) []byte {
	for _, t := range texts {
		data = append(binary.AppendUvarint(data, uint64(len(t))), t...)
	}
	return data
}

// Reader reads numbers and texts.
type Reader struct {
	rest []byte
	bad  bool
}

// NewReader returns a reader of data; the returned slices share data's memory.
func NewReader(data []byte) Reader { return Reader{rest: data} }

// Bad reports whether a field was missing.
func (r *Reader) Bad() bool { return r.bad }

// Whole reports whether every field was there and no bytes are left.
func (r *Reader) Whole() bool { return !r.bad && len(r.rest) == 0 }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Int reads a signed number, in zigzag form.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Take reads n bytes; nil if fewer are left.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// Rest reads the remaining bytes.
func (r *Reader) Rest() []byte { return r.Take(uint64(len(r.rest))) }

// Text reads a text.
func (r *Reader) Text() string { return string(r.Take(r.Uint())) }

// Count reads how many elements follow, each at least a byte long.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *Reader) fail() {
	r.bad = true
	r.rest = nil
}
