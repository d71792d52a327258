// Package outage wraps a store.Spool so that a write returns within a bound; what the disk does
// not take waits in memory.
//
// # What it promises
//
// [Spool] is a store.Spool around another one. A call returns within a bound, even if the inner
// spool's call does not: the parts to write then wait in memory, with the following ones, in
// order, until the disk takes them. Parts that the disk refuses wait, too. No part is written
// twice, and none overtakes another.
//
// # Data layout
//
// While the disk answers, a write goes to the inner spool, with one atomic operation before and
// one after. When a write is overdue, or fails, an outage begins: its parts and the following
// ones are copied into a queue of batches (queue.go), which one goroutine writes. One [Budget]
// limits the memory of the queues of a process.
//
// A write may run in two goroutines. [Spool.Write] copies the parts and lets a goroutine of the
// Spool write them, which can be left behind. [Spool.WriteInline] writes in the caller's
// goroutine, about a microsecond quicker; if the write is overdue, another goroutine goes on in
// the caller's place (handover.go).
//
// # What it refuses to do
//
// It does not number, time or make events. Its user asks for notes to write into the log:
// [Spool.Recovered], [Spool.Doubt], [Spool.Waiting].
package outage
