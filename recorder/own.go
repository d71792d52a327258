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

// own is memory for one write. A write that is late may read it yet when whoever gave the
// payloads has gone on, and fills theirs anew. It is passed on by one recorder to another:
// of many sessions few write at once.
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

// pass passes it on, with the parts as they have grown.
func (o *own) pass(parts []store.Part) {
	if o.parts = parts; cap(parts) > ownParts {
		o.parts = nil
	}
	if cap(o.bytes) > ownBytes {
		o.bytes = nil
	}
	owns.Put(o)
}
