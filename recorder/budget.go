package recorder

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/store"
)

// waitingMemory is how much all recorders of a process hold together of what waits for a
// disk.
const waitingMemory = 24 << 20

// budget is memory for what waits for a disk. Recorders may share one.
type budget struct {
	limit int64
	held  atomic.Int64
}

var sharedBudget = newBudget(waitingMemory)

// newBudget returns a budget of so many bytes. With 0 nothing waits: what cannot be
// written at once is lost.
func newBudget(bytes int64) *budget { return &budget{limit: bytes} }

// Strict has the recorder pass nothing on that is not written: when the store fails, or
// lets a write wait for several seconds, it ends the session.
func Strict() Option {
	return func(r *Recorder) { r.strict, r.budget = true, newBudget(0) }
}

// Trouble has f called, once and in a goroutine of its own, when the disk does not take
// what is written to it: what follows waits in memory, or is lost.
func Trouble(f func(error)) Option {
	return func(r *Recorder) { r.trouble = f }
}

// bound returns how long a write may take.
func (r *Recorder) bound() time.Duration {
	if r.strict {
		return strictBound
	}
	return Bound
}

// over reports whether nothing may be passed on any more. The caller has the turn.
func (r *Recorder) over() bool { return r.sealed || r.failed }

// inMemory reports whether a store never lets a write wait for a disk.
func inMemory(s store.Spooler) bool {
	informed, ok := s.(interface{ Info() store.Info })
	return ok && informed.Info().Durability == "process"
}

// take reports whether there is room for n bytes, which then are held.
func (b *budget) take(n int64) bool {
	if b.held.Add(n) <= b.limit {
		return true
	}
	b.held.Add(-n)
	return false
}

// exceed holds n bytes whether there is room or not.
func (b *budget) exceed(n int64) { b.held.Add(n) }

func (b *budget) free(n int64) { b.held.Add(-n) }

// roomy reports whether half of it is free: who had no room for something takes up
// again then, and one gap does not become many.
func (b *budget) roomy() bool { return b.held.Load() <= b.limit/2 }

// batch is what one write was to hand to the disk.
type batch struct {
	parts []store.Part
	size  int64
}

const partSize = int64(unsafe.Sizeof(store.Part{}))

func sizeOf(parts []store.Part) int64 {
	n := int64(len(parts)) * partSize
	for i := range parts {
		n += int64(len(parts[i].Payload))
	}
	return n
}

// keep copies parts, whose payloads are their giver's.
func keep(parts []store.Part, size int64) batch {
	kept := make([]store.Part, len(parts))
	bytes := make([]byte, 0, size-int64(len(parts))*partSize)
	for i := range parts {
		from := len(bytes)
		bytes = append(bytes, parts[i].Payload...)
		kept[i] = parts[i]
		kept[i].Payload, kept[i].Buffer = bytes[from:len(bytes):len(bytes)], nil
	}
	return batch{kept, size}
}
