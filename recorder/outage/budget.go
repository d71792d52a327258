package outage

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcprec/mcprec/store"
)

// Shared is the budget of the recorders of a process: 24 MiB.
var Shared = NewBudget(24 << 20)

// Budget is memory for parts that wait for a disk. Spools may share a Budget.
type Budget struct {
	limit int64
	held  atomic.Int64
}

// NewBudget returns a budget of the given number of bytes. With 0 no part waits: a part that
// cannot be written at once is refused.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Held returns how many bytes are held now.
func (b *Budget) Held() int64 { return b.held.Load() }

// take reports whether there is room for n bytes, which then are held.
func (b *Budget) take(n int64) bool {
	if b.held.Add(n) <= b.limit {
		return true
	}
	b.held.Add(-n)
	return false
}

func (b *Budget) free(n int64) { b.held.Add(-n) }

// halfFree reports whether half of the budget is free. After a refusal parts are queued again
// only then, to keep one gap from becoming many.
func (b *Budget) halfFree() bool { return b.held.Load() <= b.limit/2 }

// batch is a copy of the parts of one write.
type batch struct {
	parts []store.Part
	size  int64
}

const partSize = int64(unsafe.Sizeof(store.Part{}))

// sizeOf returns how much memory a batch of the parts takes.
func sizeOf(parts []store.Part) int64 {
	n := int64(len(parts)) * partSize
	for i := range parts {
		n += int64(len(parts[i].Payload))
	}
	return n
}

// newBatch copies parts, whose payloads are the caller's.
func newBatch(parts []store.Part, size int64) batch {
	c := writeCopy{bytes: make([]byte, 0, size-int64(len(parts))*partSize)}
	return batch{c.of(parts), size}
}

// writeCopy is a copy of the parts of one write. Recorders share a pool of copies: of many
// sessions few write at once.
type writeCopy struct {
	parts []store.Part
	bytes []byte // the payloads
}

var copies = sync.Pool{New: func() any { return new(writeCopy) }}

// The pool keeps this much memory of one write: the payloads of a short body with a head, and the
// parts.
const (
	maxPooledBytes = 72 << 10
	maxPooledParts = 1 << 10
)

// of copies parts and their payloads.
func (c *writeCopy) of(parts []store.Part) []store.Part {
	size := 0
	for i := range parts {
		size += len(parts[i].Payload)
	}
	if size > cap(c.bytes) {
		c.bytes = make([]byte, 0, size)
	}
	c.parts = append(c.parts[:0], parts...)
	c.bytes = c.bytes[:0]
	for i := range c.parts {
		p := &c.parts[i]
		from := len(c.bytes)
		c.bytes = append(c.bytes, p.Payload...)
		p.Payload = c.bytes[from:len(c.bytes):len(c.bytes)]
		p.Buffer = nil
	}
	return c.parts
}

// release returns the copy to the pool.
func (c *writeCopy) release() {
	if cap(c.parts) > maxPooledParts {
		c.parts = nil
	}
	if cap(c.bytes) > maxPooledBytes {
		c.bytes = nil
	}
	copies.Put(c)
}
