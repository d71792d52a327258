package recorder

import "github.com/mcprec/mcprec/store"

// ownBytes is how much memory a recorder keeps for the payloads of one write: a short
// body's with its head.
const ownBytes = 72 << 10

// own is memory for the payloads of one write. A write that is late may read them yet
// when whoever gave them has gone on, and fills theirs anew.
type own struct{ bytes []byte }

// take copies the payloads of parts.
func (o *own) take(parts []store.Part) {
	size := 0
	for i := range parts {
		size += len(parts[i].Payload)
	}
	b := o.bytes[:0]
	if size > cap(b) {
		b = make([]byte, 0, size)
	}
	for i := range parts {
		from := len(b)
		b = append(b, parts[i].Payload...)
		parts[i].Payload = b[from:len(b):len(b)]
	}
	if o.bytes = b; cap(b) > ownBytes {
		o.bytes = nil
	}
}

// leave leaves the memory to the write that is late.
func (o *own) leave() { o.bytes = nil }
