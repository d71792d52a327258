package recorder

import (
	"sync"

	"github.com/mcprec/mcprec/store"
)

// ownBytes is how much memory is kept for the payloads of one write, a short body's with
// its head, and ownParts for how many parts.
const (
	ownBytes = 72 << 10
	ownParts = 1 << 10
)

// own is memory for one write. A late write may still read it when the caller has gone on and
// reuses its own buffers. All recorders share a pool of these: of many sessions few write at
// once.
type own struct {
	parts []store.Part
	bytes []byte
}

var owns = sync.Pool{New: func() any { return new(own) }}

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
	o.bytes = b
}

// pass returns the memory to the pool, with the parts as they have grown.
func (o *own) pass(parts []store.Part) {
	if o.parts = parts; cap(parts) > ownParts {
		o.parts = nil
	}
	if cap(o.bytes) > ownBytes {
		o.bytes = nil
	}
	owns.Put(o)
}
